// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/cluster/machine/segment/spaces.h"
#include "src/segment/rules.h"

// Times are milliseconds since 1970, except the floor's epoch, which has nanoseconds. Durations are
// nanoseconds; the least and the greatest number mean infinite ones.

namespace locus::segment_machine {
namespace {

using internal::ByteReader;
using internal::ByteWriter;

constexpr int64_t kLastMilli = 253402300799999;  // of 9999

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

void PutDuration(ByteWriter& writer, absl::Duration duration) {
  writer.Number(static_cast<uint64_t>(absl::ToInt64Nanoseconds(duration)));
}
absl::Duration GetDuration(ByteReader& reader) {
  const auto nanoseconds = static_cast<int64_t>(reader.Number());
  if (nanoseconds == INT64_MAX) return absl::InfiniteDuration();
  if (nanoseconds == INT64_MIN) return -absl::InfiniteDuration();
  return absl::Nanoseconds(nanoseconds);
}

void PutOptions(ByteWriter& writer, const SpaceOptions& options) {
  writer.Number(options.section_size);
  writer.Number(static_cast<uint64_t>(absl::ToUnixNanos(options.floor_epoch)));
  writer.Number(options.floor_rate);
  writer.Number(options.max_lead);
}
// As a caller says them: only a space's own ones must be possible.
SpaceOptions GetOptions(ByteReader& reader) {
  const size_t place = reader.at();
  SpaceOptions options;
  const uint64_t section_size = reader.Number();
  options.section_size = static_cast<uint32_t>(section_size);
  options.floor_epoch = absl::FromUnixNanos(static_cast<int64_t>(reader.Number()));
  options.floor_rate = reader.Number();
  options.max_lead = reader.Number();
  if (!reader.ok()) return options;
  if (section_size > UINT32_MAX) {
    reader.Fail(place, absl::StrCat("a section_size of ", section_size));
  }
  return options;
}

struct PutOne {
  ByteWriter& writer;

  void operator()(const Create& one) const {
    PutOptions(writer, one.options);
    PutTime(writer, one.caller_now);
  }
  void operator()(const Allocation& one) const {
    PutOptions(writer, one.options);
    writer.Size(one.requests.size());
    for (const SegmentRequest& request : one.requests) {
      writer.Number(request.section);
      writer.Number(request.length);
      writer.Number(request.seen);
    }
    PutTime(writer, one.caller_now);
  }
  void operator()(const DeclareRestored& one) const { PutTime(writer, one.caller_now); }
  void operator()(const Raise& one) const {
    writer.Number(one.to);
    writer.Byte(static_cast<uint8_t>(one.reach));
    PutTime(writer, one.caller_now);
  }
};

uint16_t GetSection(ByteReader& reader) {
  const size_t place = reader.at();
  const uint64_t section = reader.Number();
  if (section > UINT16_MAX) reader.Fail(place, absl::StrCat("section ", section));
  return static_cast<uint16_t>(section);
}

Allocation GetAllocation(ByteReader& reader) {
  Allocation allocation;
  allocation.options = GetOptions(reader);
  const size_t count = reader.Size(kMostRequests, "sections of an allocation");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    SegmentRequest& request = allocation.requests.emplace_back();
    request.section = GetSection(reader);
    request.length = reader.Number();
    request.seen = reader.Number();
  }
  allocation.caller_now = GetTime(reader);
  return allocation;
}

}  // namespace

void ForgetClock(Call& call) {
  std::visit([](auto& one) { one.caller_now = absl::UnixEpoch(); }, call);
}

void Put(ByteWriter& writer, const Call& call) {
  writer.Byte(static_cast<uint8_t>(call.index()));
  std::visit(PutOne{writer}, call);
}

Call GetCall(ByteReader& reader) {
  const size_t place = reader.at();
  Call call;
  switch (reader.Byte(std::variant_size_v<Call> - 1)) {
    case 0: {
      Create& create = call.emplace<Create>();
      create.options = GetOptions(reader);
      create.caller_now = GetTime(reader);
      break;
    }
    case 1:
      call = GetAllocation(reader);
      break;
    case 2:
      call.emplace<DeclareRestored>().caller_now = GetTime(reader);
      break;
    case 3: {
      Raise& raise = call.emplace<Raise>();
      raise.to = reader.Number();
      raise.reach = reader.Flag() ? RaiseReach::kAnywhere : RaiseReach::kNearFloor;
      raise.caller_now = GetTime(reader);
      break;
    }
  }
  if (!reader.ok()) return call;
  const absl::Status status = Check(call);
  if (!status.ok()) reader.Fail(place, absl::StrCat("a call that cannot be: ", status.message()));
  return call;
}

void Put(ByteWriter& writer, const Reply& reply) {
  writer.Byte(static_cast<uint8_t>(reply.index()));
  if (const auto* raised = std::get_if<BaseRaise>(&reply)) {
    writer.Number(raised->before);
    writer.Number(raised->after);
  }
  const auto* allocation = std::get_if<SegmentReply>(&reply);
  if (allocation == nullptr) return;
  PutTime(writer, allocation->granted_at);
  writer.Byte(allocation->loss_noticed);
  writer.Size(allocation->grants.size());
  for (const SegmentGrant& grant : allocation->grants) {
    writer.Number(grant.segment.first);
    writer.Number(grant.segment.length);
    PutDuration(writer, grant.wait);
    PutDuration(writer, grant.lead);
    PutDuration(writer, grant.room);
  }
}

Reply GetReply(ByteReader& reader) {
  const uint8_t kind = reader.Byte(std::variant_size_v<Reply> - 1);
  if (kind == 0) return Reply();
  if (kind == 2) {
    BaseRaise raised;
    raised.before = reader.Number();
    raised.after = reader.Number();
    return raised;
  }
  SegmentReply reply;
  reply.granted_at = GetTime(reader);
  reply.loss_noticed = reader.Flag();
  const size_t count = reader.Size(kMostRequests, "grants");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    SegmentGrant& grant = reply.grants.emplace_back();
    grant.segment.first = reader.Number();
    grant.segment.length = reader.Number();
    grant.wait = GetDuration(reader);
    grant.lead = GetDuration(reader);
    grant.room = GetDuration(reader);
  }
  return reply;
}

void Spaces::Put(ByteWriter& writer) const {
  writer.Size(spaces_.size());
  for (const auto& [name, space] : spaces_) {
    writer.Text(name.str());
    PutOptions(writer, space.options);
    writer.Number(space.base);
    writer.Number(space.losses);
    writer.Size(space.sections.size());
    for (const auto& [number, section] : space.sections) {
      writer.Number(number);
      writer.Number(section.head);
      PutTime(writer, section.granted_at);
    }
  }
}

void Spaces::Get(ByteReader& reader) {
  const size_t spaces = reader.Size(kMostSpaces, "spaces of order IDs");
  for (size_t i = 0; i < spaces && reader.ok(); ++i) {
    const size_t place = reader.at();
    const auto name = SpaceName::Parse(reader.Text(64, "a space"));
    if (!reader.ok()) return;
    if (!name.ok() || (!spaces_.empty() && !(spaces_.rbegin()->first < *name))) {
      return reader.Fail(place, "a space of order IDs that is not after the one before");
    }
    KeptSpace& space = spaces_[*name];
    space.options = GetOptions(reader);
    space.base = reader.Number();
    space.losses = reader.Number();
    if (!reader.ok()) return;
    if (!segment_rules::CheckOptions(space.options).ok() ||
        space.base > segment_rules::kEndOfSequences || space.losses == 0) {
      return reader.Fail(place, "a space of order IDs that cannot be");
    }
    const size_t sections = reader.Size(kMostSections, "sections");
    for (size_t k = 0; k < sections && reader.ok(); ++k) {
      const size_t at = reader.at();
      const uint16_t number = GetSection(reader);
      Section section;
      section.head = reader.Number();
      section.granted_at = GetTime(reader);
      if (!reader.ok()) return;
      if (number >= segment_rules::SectionsOf(space.options) || section.head == 0 ||
          section.head > segment_rules::kEndOfSequences ||
          section.head % segment_rules::kUnit != 0 ||
          (!space.sections.empty() && space.sections.rbegin()->first >= number)) {
        return reader.Fail(at, "a section that cannot be, or is not after the one before");
      }
      if (++sections_ > kMostSections) {
        return reader.Fail(at, "one section more than a machine has");
      }
      space.sections.emplace_hint(space.sections.end(), number, section);
    }
  }
}

}  // namespace locus::segment_machine
