// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/cluster/machine/strict/sets.h"

// Sections and places of holders are sizes; times are milliseconds since 1970, and durations are
// milliseconds.

namespace locus::strict_machine {
namespace {

using internal::ByteReader;
using internal::ByteWriter;

constexpr int64_t kLastMilli = 253402300799999;  // of 9999
constexpr size_t kMostSection = (size_t{1} << 20) - 1;
// Stands for Create of a set that is not the first ever.
constexpr uint8_t kCreateAnew = std::variant_size_v<Call>;
constexpr uint64_t kMostWaitMs = 10 * 60 * 1000;  // the longest ttl

void PutTime(ByteWriter& writer, absl::Time time) {
  writer.Number(static_cast<uint64_t>(absl::ToUnixMillis(time)));
}
absl::Time GetTime(ByteReader& reader) {
  const size_t place = reader.at();
  const auto millis = static_cast<int64_t>(reader.Number());
  if (millis >= 0 && millis <= kLastMilli) return absl::FromUnixMillis(millis);
  reader.Fail(place, absl::StrCat("a time of ", millis, " ms; it must be between 1970 and 9999"));
  return absl::UnixEpoch();
}

void PutOptions(ByteWriter& writer, const StrictSetOptions& options) {
  writer.Number(options.first_uid);
  writer.Number(options.uids);
  writer.Number(options.section_size);
  writer.Number(options.step);
  writer.Number(static_cast<uint64_t>(absl::ToInt64Milliseconds(options.ttl)));
}
StrictSetOptions GetOptions(ByteReader& reader) {
  StrictSetOptions options;
  options.first_uid = reader.Number();
  options.uids = reader.Number();
  const size_t place = reader.at();
  const uint64_t section_size = reader.Number();
  options.section_size = static_cast<uint32_t>(section_size);
  options.step = reader.Number();
  const uint64_t ttl_ms = reader.Number();
  options.ttl = absl::Milliseconds(static_cast<int64_t>(std::min(ttl_ms, kMostWaitMs + 1)));
  if (!reader.ok()) return options;
  if (section_size > UINT32_MAX) {
    reader.Fail(place, absl::StrCat("a section_size of ", section_size));
    return options;
  }
  const absl::Status status = CheckLogged(options);
  if (!status.ok()) {
    reader.Fail(place, absl::StrCat("a set that cannot be: ", status.message()));
  }
  return options;
}

struct PutOne {
  ByteWriter& writer;

  void operator()(const Create& one) const { PutOptions(writer, one.options); }
  void operator()(const DeclareRestored&) const {}
  void operator()(const Take& one) const {
    PutOptions(writer, one.options);
    Put(writer, one.request.owner);
    writer.Size(one.request.wishes.size());
    for (const StrictTake::Wish& wish : one.request.wishes) {
      writer.Size(wish.section);
      writer.Number(wish.seen);
    }
  }
  void operator()(const Extend& one) const {
    PutOptions(writer, one.options);
    Put(writer, one.request.owner);
    writer.Size(one.request.sections.size());
    for (const StrictExtend::Section& section : one.request.sections) {
      writer.Size(section.section);
      writer.Number(section.token);
      writer.Number(section.max_seq);
      writer.Number(section.raise_to);
    }
  }
  void operator()(const Release& one) const {
    PutOptions(writer, one.options);
    Put(writer, one.request.owner);
    writer.Text(one.request.successor);
    writer.Size(one.request.sections.size());
    for (const StrictRelease::Section& section : one.request.sections) {
      writer.Size(section.section);
      writer.Number(section.token);
      writer.Number(section.max_seq);
    }
  }
};

uint32_t GetSectionNumber(ByteReader& reader) {
  return static_cast<uint32_t>(reader.Size(kMostSection, "the number of a section"));
}
size_t GetCount(ByteReader& reader) {
  return reader.Size(kMostSectionsAtOnce, "sections of a call");
}

Take GetTake(ByteReader& reader) {
  Take take;
  take.options = GetOptions(reader);
  take.request.owner = GetOwner(reader);
  for (size_t left = GetCount(reader); left > 0 && reader.ok(); --left) {
    StrictTake::Wish& wish = take.request.wishes.emplace_back();
    wish.section = GetSectionNumber(reader);
    wish.seen = reader.Number();
  }
  return take;
}

Extend GetExtend(ByteReader& reader) {
  Extend extend;
  extend.options = GetOptions(reader);
  extend.request.owner = GetOwner(reader);
  for (size_t left = GetCount(reader); left > 0 && reader.ok(); --left) {
    StrictExtend::Section& section = extend.request.sections.emplace_back();
    section.section = GetSectionNumber(reader);
    section.token = reader.Number();
    section.max_seq = reader.Number();
    section.raise_to = reader.Number();
  }
  return extend;
}

Release GetRelease(ByteReader& reader) {
  Release release;
  release.options = GetOptions(reader);
  release.request.owner = GetOwner(reader);
  release.request.successor = reader.Text(64, "a successor");
  for (size_t left = GetCount(reader); left > 0 && reader.ok(); --left) {
    StrictRelease::Section& section = release.request.sections.emplace_back();
    section.section = GetSectionNumber(reader);
    section.token = reader.Number();
    section.max_seq = reader.Number();
  }
  return release;
}

void PutReply(ByteWriter& writer, const StrictReply<StrictExtended>& reply) {
  writer.Number(reply.table_version);
  writer.Byte(reply.loss_noticed);
  writer.Size(reply.items.size());
  for (const StrictExtended& item : reply.items) {
    writer.Size(item.section);
    writer.Byte(item.held);
    writer.Number(item.max_seq);
  }
}

void PutReply(ByteWriter& writer, const StrictReply<StrictGrant>& reply) {
  writer.Number(reply.table_version);
  writer.Byte(reply.loss_noticed);
  std::map<StrictOwner, size_t, OwnerOrder> holders;
  for (const StrictGrant& grant : reply.items) {
    if (!grant.holder.name.empty()) holders.emplace(grant.holder, 0);
  }
  writer.Size(holders.size());
  size_t place = 0;
  for (auto& [holder, at] : holders) {
    Put(writer, holder);
    at = ++place;
  }
  writer.Size(reply.items.size());
  for (const StrictGrant& grant : reply.items) {
    writer.Size(grant.section);
    writer.Byte(static_cast<uint8_t>(grant.verdict));
    writer.Size(grant.holder.name.empty() ? 0 : holders.at(grant.holder));
    if (grant.verdict == StrictGrant::Verdict::kGranted) {
      writer.Number(grant.token);
      writer.Number(grant.start);
      writer.Number(grant.max_seq);
    } else {
      writer.Number(static_cast<uint64_t>(absl::ToInt64Milliseconds(grant.wait)));
    }
  }
}

// Ascending, and each of them possible.
std::vector<StrictOwner> GetHolders(ByteReader& reader, size_t most) {
  std::vector<StrictOwner> holders;
  for (size_t left = reader.Size(most, "owners of sections"); left > 0 && reader.ok(); --left) {
    const size_t place = reader.at();
    StrictOwner holder = GetOwner(reader);
    if (!reader.ok()) break;
    if (!CheckHolder(holder).ok() || (!holders.empty() && !OwnerOrder()(holders.back(), holder))) {
      reader.Fail(place, "an owner that cannot be, or is not after the one before");
    }
    holders.push_back(std::move(holder));
  }
  return holders;
}

StrictReply<StrictGrant> GetGrants(ByteReader& reader) {
  StrictReply<StrictGrant> reply;
  reply.table_version = reader.Number();
  reply.loss_noticed = reader.Flag();
  const std::vector<StrictOwner> holders = GetHolders(reader, kMostSectionsAtOnce);
  std::set<size_t> named;
  for (size_t left = GetCount(reader); left > 0 && reader.ok(); --left) {
    StrictGrant& grant = reply.items.emplace_back();
    grant.section = GetSectionNumber(reader);
    grant.verdict = static_cast<StrictGrant::Verdict>(
        reader.Byte(static_cast<uint8_t>(StrictGrant::Verdict::kResting)));
    const size_t holder = reader.Size(holders.size(), "the place of an owner");
    if (holder > 0) {
      grant.holder = holders[holder - 1];
      named.insert(holder);
    }
    if (grant.verdict == StrictGrant::Verdict::kGranted) {
      grant.token = reader.Number();
      grant.start = reader.Number();
      grant.max_seq = reader.Number();
      continue;
    }
    const size_t place = reader.at();
    const uint64_t wait_ms = reader.Number();
    if (wait_ms > kMostWaitMs) reader.Fail(place, absl::StrCat("a wait of ", wait_ms, " ms"));
    grant.wait = absl::Milliseconds(static_cast<int64_t>(std::min(wait_ms, kMostWaitMs)));
  }
  if (reader.ok() && named.size() != holders.size()) {
    reader.Fail(reader.at(), "the end of a reply that names an owner without a section");
  }
  return reply;
}

StrictReply<StrictExtended> GetExtended(ByteReader& reader) {
  StrictReply<StrictExtended> reply;
  reply.table_version = reader.Number();
  reply.loss_noticed = reader.Flag();
  for (size_t left = GetCount(reader); left > 0 && reader.ok(); --left) {
    StrictExtended& item = reply.items.emplace_back();
    item.section = GetSectionNumber(reader);
    item.held = reader.Flag();
    item.max_seq = reader.Number();
  }
  return reply;
}

}  // namespace

bool IsCreateAnew(const Call& call) {
  const auto* create = std::get_if<Create>(&call);
  return create != nullptr && !create->past.first_ever;
}

void Put(ByteWriter& writer, const Call& call) {
  writer.Byte(IsCreateAnew(call) ? kCreateAnew : static_cast<uint8_t>(call.index()));
  std::visit(PutOne{writer}, call);
}

Call GetCall(ByteReader& reader) {
  const size_t place = reader.at();
  Call call;
  switch (const uint8_t kind = reader.Byte(kCreateAnew)) {
    case 0:
    case kCreateAnew: {
      auto& create = call.emplace<Create>();
      create.options = GetOptions(reader);
      create.past.first_ever = kind == 0;
      break;
    }
    case 1:
      call.emplace<DeclareRestored>();
      break;
    case 2:
      call = GetTake(reader);
      break;
    case 3:
      call = GetExtend(reader);
      break;
    case 4:
      call = GetRelease(reader);
      break;
  }
  if (!reader.ok()) return call;
  const absl::Status status = CheckLogged(call);
  if (!status.ok()) reader.Fail(place, absl::StrCat("a call that cannot be: ", status.message()));
  return call;
}

void Put(ByteWriter& writer, const Reply& reply) {
  writer.Byte(static_cast<uint8_t>(reply.index()));
  if (const auto* grants = std::get_if<1>(&reply)) PutReply(writer, *grants);
  if (const auto* extended = std::get_if<2>(&reply)) PutReply(writer, *extended);
}

Reply GetReply(ByteReader& reader) {
  switch (reader.Byte(std::variant_size_v<Reply> - 1)) {
    case 1:
      return GetGrants(reader);
    case 2:
      return GetExtended(reader);
    default:
      return Reply();
  }
}

void Sets::Put(ByteWriter& writer) const {
  std::vector<uint32_t> places;  // by Holders::Id
  writer.Size(holders_.size());
  uint32_t place = 0;
  for (const auto& [holder, id] : holders_.all()) {
    strict_machine::Put(writer, holder);
    if (places.size() <= id) places.resize(id + 1);
    places[id] = ++place;
  }
  writer.Size(sets_.size());
  for (const auto& [name, set] : sets_) {
    writer.Text(name.str());
    PutOptions(writer, set.set.options);
    writer.Number(set.set.table_version);
    PutTime(writer, set.set.rest_until);
    writer.Number(set.set.losses);
    writer.Number(set.set.base);
    writer.Size(set.sections.size());
    for (const auto& [number, section] : set.sections) {
      writer.Size(number);
      writer.Number(section.max_seq);
      writer.Number(section.start);
      writer.Number(section.token);
      PutTime(writer, section.ends_at);
      writer.Size(section.holder == Holders::kNobody ? 0 : places[section.holder]);
    }
  }
}

void Sets::Get(ByteReader& reader) {
  const std::vector<StrictOwner> holders = GetHolders(reader, kMostHolders);
  const size_t sets = reader.Size(kMostSets, "sets of strict sequences");
  for (size_t i = 0; i < sets && reader.ok(); ++i) {
    const size_t place = reader.at();
    const auto name = SpaceName::Parse(reader.Text(64, "a set"));
    if (!reader.ok()) return;
    if (!name.ok() || (!sets_.empty() && !(sets_.rbegin()->first < *name))) {
      return reader.Fail(place, "a set of strict sequences that is not after the one before");
    }
    Set& set = sets_[*name];
    set.set.options = GetOptions(reader);
    set.set.table_version = reader.Number();
    set.set.rest_until = GetTime(reader);
    set.set.losses = reader.Number();
    set.set.base = reader.Number();
    if (reader.ok() && set.set.base > strict::kMostNumber) {
      return reader.Fail(place, "a set of strict sequences that cannot be");
    }
    const size_t sections = reader.Size(kMostSections, "sections of a set");
    for (size_t k = 0; k < sections && reader.ok(); ++k) GetSection(reader, holders, set);
  }
  if (reader.ok() && holders_.size() != holders.size()) {
    reader.Fail(reader.at(), "the end of sets of which an owner has no section");
  }
}

void Sets::GetSection(ByteReader& reader, const std::vector<StrictOwner>& holders, Set& set) {
  const size_t place = reader.at();
  const uint32_t number = GetSectionNumber(reader);
  Section section;
  section.max_seq = reader.Number();
  section.start = reader.Number();
  section.token = reader.Number();
  section.ends_at = GetTime(reader);
  const size_t holder = reader.Size(holders.size(), "the place of an owner");
  if (!reader.ok()) return;
  if (number >= set.set.options.sections() || !strict::CheckRecord(RecordOf(section)).ok() ||
      (!set.sections.empty() && set.sections.rbegin()->first >= number)) {
    return reader.Fail(place, "a section that cannot be, or is not after the one before");
  }
  if (++sections_ > kMostSections) {
    return reader.Fail(place, "one section more than a machine has");
  }
  if (holder > 0) section.holder = holders_.Add(holders[holder - 1]);
  set.sections.emplace_hint(set.sections.end(), number, section);
}

}  // namespace locus::strict_machine
