// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/clock_note.h"

#include "src/base/text/byte_codec.h"
#include "src/cluster/machine/codec.h"

namespace locus::cluster_machine {
namespace {

constexpr uint8_t kLeads = 1;
constexpr uint8_t kKnows = 2;

uint64_t Bits(absl::Time time) { return static_cast<uint64_t>(absl::ToUnixMillis(time)); }
absl::Time TimeFrom(internal::ByteReader& reader, size_t place) {
  const absl::Time time = absl::FromUnixMillis(static_cast<int64_t>(reader.Number()));
  if (!MayBeTimeOfCommand(time)) reader.Fail(place, "a time before 1970 or after 9998");
  return time;
}

}  // namespace

std::string Encode(const ClockNote& note) {
  internal::ByteWriter writer;
  writer.Byte(static_cast<uint8_t>(note.index()));
  const auto* told = std::get_if<ClockTold>(&note);
  const absl::Duration asked = told == nullptr ? std::get<ClockAsk>(note).asked : told->asked;
  writer.Number(static_cast<uint64_t>(absl::ToInt64Microseconds(asked)));
  if (told == nullptr) return writer.Take();
  writer.Number(told->term);
  writer.Byte(static_cast<uint8_t>((told->leads ? kLeads : 0) | (told->time ? kKnows : 0)));
  writer.Number(Bits(told->wall));
  if (told->time) writer.Number(Bits(*told->time));
  return writer.Take();
}

absl::StatusOr<ClockNote> DecodeClockNote(std::string_view bytes) {
  internal::ByteReader reader(bytes, "a note of clocks");
  const uint8_t kind = reader.Byte(1);
  const absl::Duration asked = absl::Microseconds(static_cast<int64_t>(reader.Number()));
  ClockNote note = ClockAsk{asked};
  if (kind == 1) {
    ClockTold told;
    told.asked = asked;
    told.term = reader.Number();
    const uint8_t flags = reader.Byte(kLeads | kKnows);
    told.leads = (flags & kLeads) != 0;
    told.wall = TimeFrom(reader, reader.at());
    if ((flags & kKnows) != 0) told.time = TimeFrom(reader, reader.at());
    note = told;
  }
  const absl::Status status = reader.Finish();
  if (!status.ok()) return status;
  return note;
}

}  // namespace locus::cluster_machine
