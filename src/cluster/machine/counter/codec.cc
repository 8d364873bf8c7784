// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "src/cluster/machine/counter/counters.h"

namespace locus::counter_machine {
namespace {

// The last that a counter may be forgotten at: its longest ttl after the last time of a command.
constexpr int64_t kLastMilli = 253402300799999 + 36500LL * 24 * 3600 * 1000;

int64_t GetNumber(internal::ByteReader& reader) { return static_cast<int64_t>(reader.Number()); }
void PutNumber(internal::ByteWriter& writer, int64_t number) {
  writer.Number(static_cast<uint64_t>(number));
}

}  // namespace

void Put(internal::ByteWriter& writer, const Call& call) {
  writer.Byte(static_cast<uint8_t>(call.kind));
  writer.Text(call.name);
  PutNumber(writer, absl::ToInt64Milliseconds(call.ttl));
  if (call.kind != Call::Kind::kLoad) PutNumber(writer, call.number);
  if (call.kind == Call::Kind::kTake) {
    PutNumber(writer, call.last_of_first);
    PutNumber(writer, call.max_value);
    writer.Byte(call.wraps);
  }
  if (call.kind == Call::Kind::kPutBack) {
    PutNumber(writer, call.last);
    writer.Number(call.version);
  }
}

Call GetCall(internal::ByteReader& reader) {
  const size_t place = reader.at();
  Call call;
  call.kind = static_cast<Call::Kind>(reader.Byte(static_cast<uint8_t>(Call::Kind::kPutBack)));
  call.name = reader.Text(kLongestName, "a counter's name");
  const size_t at_ttl = reader.at();
  const uint64_t ttl = reader.Number();
  if (ttl > static_cast<uint64_t>(absl::ToInt64Milliseconds(kLongestTtl))) {
    reader.Fail(at_ttl, absl::StrCat("a ttl of ", ttl, " ms; the most are 36500 days"));
  }
  if (reader.ok()) call.ttl = absl::Milliseconds(ttl);
  if (call.kind != Call::Kind::kLoad) call.number = GetNumber(reader);
  if (call.kind == Call::Kind::kTake) {
    call.last_of_first = GetNumber(reader);
    call.max_value = GetNumber(reader);
    call.wraps = reader.Flag();
  }
  if (call.kind == Call::Kind::kPutBack) {
    call.last = GetNumber(reader);
    call.version = reader.Number();
  }
  if (!reader.ok()) return call;
  const absl::Status status = Check(call);
  if (!status.ok()) reader.Fail(place, absl::StrCat("a call that cannot be: ", status.message()));
  return call;
}

void Put(internal::ByteWriter& writer, const Reply& reply) {
  writer.Byte(reply.done);
  writer.Byte(reply.value.has_value());
  if (reply.value) PutNumber(writer, *reply.value);
  writer.Number(reply.version);
}

Reply GetReply(internal::ByteReader& reader) {
  Reply reply;
  reply.done = reader.Flag();
  if (reader.Flag()) {
    const size_t place = reader.at();
    reply.value = GetNumber(reader);
    if (*reply.value < 0) reader.Fail(place, absl::StrCat("a number of ", *reply.value));
  }
  reply.version = reader.Number();
  return reply;
}

void Counters::Put(internal::ByteWriter& writer) const {
  writer.Number(writes_);
  writer.Size(counters_.size());
  for (const auto& [name, counter] : counters_) {
    writer.Text(name);
    PutNumber(writer, counter.value);
    writer.Number(counter.version);
    PutNumber(writer, counter.forgotten_at == absl::InfiniteFuture()
                          ? INT64_MAX
                          : absl::ToUnixMillis(counter.forgotten_at));
  }
}

void Counters::Get(internal::ByteReader& reader) {
  writes_ = reader.Number();
  const size_t count = reader.Size(kMostCounters, "counters");
  for (size_t i = 0; i < count && reader.ok(); ++i) {
    const size_t place = reader.at();
    std::string name = reader.Text(kLongestName, "a counter's name");
    const int64_t value = GetNumber(reader);
    const uint64_t version = reader.Number();
    const int64_t forgotten_at = GetNumber(reader);
    if (!reader.ok()) return;
    if (name.empty() || (!counters_.empty() && !(counters_.rbegin()->first < name))) {
      return reader.Fail(place, "a counter that is not after the one before");
    }
    if (value < 0 || version == 0 || version > writes_ || forgotten_at < 0 ||
        (forgotten_at > kLastMilli && forgotten_at != INT64_MAX)) {
      return reader.Fail(
          place, absl::StrCat("a counter that cannot be: value ", value, ", version ", version,
                              ", forgotten at ", forgotten_at, " ms"));
    }
    name_bytes_ += name.size();
    if (name_bytes_ > kMostNameBytes) {
      return reader.Fail(place, "a counter whose name is more than a machine keeps");
    }
    const auto counter = counters_.try_emplace(std::move(name)).first;
    counter->second.value = value;
    counter->second.version = version;
    if (forgotten_at != INT64_MAX) SetForgotten(counter, absl::FromUnixMillis(forgotten_at));
  }
}

}  // namespace locus::counter_machine
