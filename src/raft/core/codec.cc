// SPDX-License-Identifier: Apache-2.0
#include "src/raft/core/codec.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/byte_codec.h"

namespace locus::raft {
namespace {

class Writer : public internal::ByteWriter {
 public:
  void Put(const Members& members) {
    Size(members.size());
    for (const Member& member : members) {
      Number(member.id);
      Byte(member.voter);
      Text(member.address);
    }
  }
  void Put(const Entry& entry) {
    Number(entry.term);
    Byte(static_cast<uint8_t>(entry.kind));
    if (entry.kind == Entry::Kind::kCommand) Text(entry.data);
    if (entry.kind == Entry::Kind::kMembers) Put(entry.members);
  }
  void Put(const SnapshotMark& mark) {
    Number(mark.index);
    Number(mark.term);
    Put(mark.members);
  }
  void Put(const VoteRequest& one) {
    Number(one.term);
    Number(one.last_index);
    Number(one.last_term);
    Byte(one.pre);
    Byte(one.transfer);
    Number(one.members_index);
  }
  void Put(const VoteReply& one) {
    Number(one.term);
    Byte(one.pre);
    Byte(one.granted);
  }
  void Put(const Append& one) {
    Number(one.term);
    Number(one.prev_index);
    Number(one.prev_term);
    Number(one.commit);
    Number(one.round);
    Number(one.acked);
    Size(one.entries.size());
    for (const Entry& entry : one.entries) Put(entry);
  }
  void Put(const AppendReply& one) {
    Number(one.term);
    Byte(one.matches);
    Number(one.index);
    Number(one.continue_at);
    Number(one.round);
    Byte(one.forgot);
  }
  void Put(const InstallSnapshot& one) {
    Number(one.term);
    Put(one.mark);
    Number(one.round);
    Text(one.state);
  }
  void Put(const StandNow& one) { Number(one.term); }
  void Put(const Removed& one) {
    Number(one.term);
    Number(one.members_index);
  }
  void Put(const Note& one) {
    Number(one.term);
    Text(one.data);
  }
};

class Reader : public internal::ByteReader {
 public:
  explicit Reader(std::string_view bytes) : ByteReader(bytes, "raft bytes") {}

  void Get(Members& members) {
    const size_t count = Size(kMostMembers, "members");
    for (size_t i = 0; i < count && ok(); ++i) {
      const size_t place = at();
      Member member;
      member.id = Number();
      member.voter = Flag();
      member.address = Text(kMostAddressBytes, "an address");
      if (member.id <= (members.empty() ? 0 : members.back().id)) {
        Fail(place, "a member that is 0, or not above the one before");
      }
      members.push_back(std::move(member));
    }
  }
  void Get(Entry& entry) {
    entry.term = Number();
    entry.kind = static_cast<Entry::Kind>(Byte(2));
    if (entry.kind == Entry::Kind::kCommand) entry.data = Text(kMostEntryBytes, "a command");
    if (entry.kind == Entry::Kind::kMembers) Get(entry.members);
  }
  void Get(SnapshotMark& mark) {
    mark.index = Number();
    mark.term = Number();
    Get(mark.members);
  }
  void Get(VoteRequest& one) {
    one.term = Number();
    one.last_index = Number();
    one.last_term = Number();
    one.pre = Flag();
    one.transfer = Flag();
    one.members_index = Number();
  }
  void Get(VoteReply& one) {
    one.term = Number();
    one.pre = Flag();
    one.granted = Flag();
  }
  void Get(Append& one) {
    one.term = Number();
    one.prev_index = Number();
    one.prev_term = Number();
    one.commit = Number();
    one.round = Number();
    one.acked = Number();
    const size_t count = Size(kMostEntries, "entries");
    for (size_t i = 0; i < count && ok(); ++i) Get(one.entries.emplace_back());
  }
  void Get(AppendReply& one) {
    one.term = Number();
    one.matches = Flag();
    one.index = Number();
    one.continue_at = Number();
    one.round = Number();
    one.forgot = Flag();
  }
  void Get(InstallSnapshot& one) {
    one.term = Number();
    Get(one.mark);
    one.round = Number();
    one.state = Text(kMostStateBytes, "a state");
  }
  void Get(StandNow& one) { one.term = Number(); }
  void Get(Removed& one) {
    one.term = Number();
    one.members_index = Number();
  }
  void Get(Note& one) {
    one.term = Number();
    one.data = Text(kMostNoteBytes, "a note");
  }
};

template <typename T>
std::string Encoded(const T& one) {
  Writer writer;
  writer.Put(one);
  return writer.Take();
}

template <typename T>
absl::StatusOr<T> Decoded(std::string_view bytes) {
  Reader reader(bytes);
  T one;
  reader.Get(one);
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  return one;
}

// The alternative of this number, read from the bytes.
template <size_t kNumber = 0>
absl::StatusOr<Message> MessageOf(size_t number, std::string_view bytes) {
  if constexpr (kNumber == std::variant_size_v<Message>) {
    return absl::InvalidArgumentError(absl::StrCat("raft bytes: at byte 0 is message kind ", number,
                                                   "; the most is ",
                                                   std::variant_size_v<Message> - 1));
  } else {
    if (number != kNumber) return MessageOf<kNumber + 1>(number, bytes);
    auto one = Decoded<std::variant_alternative_t<kNumber, Message>>(bytes);
    if (!one.ok()) return one.status();
    return Message(*std::move(one));
  }
}

}  // namespace

std::string Encode(const Entry& entry) { return Encoded(entry); }
std::string Encode(const SnapshotMark& mark) { return Encoded(mark); }
std::string Encode(const Message& message) {
  Writer writer;
  writer.Byte(static_cast<uint8_t>(message.index()));
  std::visit([&](const auto& one) { writer.Put(one); }, message);
  return writer.Take();
}

absl::StatusOr<Entry> DecodeEntry(std::string_view bytes) { return Decoded<Entry>(bytes); }
absl::StatusOr<SnapshotMark> DecodeMark(std::string_view bytes) {
  return Decoded<SnapshotMark>(bytes);
}
absl::StatusOr<Message> DecodeMessage(std::string_view bytes) {
  if (bytes.empty()) return absl::InvalidArgumentError("raft bytes: an empty message");
  return MessageOf(static_cast<uint8_t>(bytes[0]), bytes.substr(1));
}

}  // namespace locus::raft
