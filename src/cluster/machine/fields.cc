// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/fields.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/cluster/machine/codec.h"

namespace locus::cluster_machine {
namespace {

constexpr int64_t kLastMilli = 253402300799999;  // of 9999
constexpr int64_t kPast = INT64_MIN;
constexpr int64_t kFuture = INT64_MAX;
constexpr int64_t kMostMillis = 25 * 3600 * 1000;  // of a duration
constexpr size_t kMostSpaceBytes = 64;

// The kind of reply in an answer whose status is OK.
constexpr uint8_t kHasNothing = 0;
constexpr uint8_t kHasGrant = 1;
constexpr uint8_t kHasCounterReply = 2;
constexpr uint8_t kHasSegmentReply = 3;
constexpr uint8_t kHasTypeReply = 4;
constexpr uint8_t kHasStrictReply = 5;

uint8_t LastThatAnAnswerHas(uint8_t version) {
  if (version >= kStrictCodecVersion) return kHasStrictReply;
  return version >= kStoreCodecVersion ? kHasTypeReply : kHasGrant;
}

}  // namespace

void Writer::Put(absl::Time time, const char* what) {
  int64_t millis = absl::ToUnixMillis(time);
  if (time == absl::InfinitePast()) {
    millis = kPast;
  } else if (time == absl::InfiniteFuture()) {
    millis = kFuture;
  } else if (millis < 0 || millis > kLastMilli) {
    Fail(absl::StrCat(what, " is ", absl::FormatTime(time), "; it must be between 1970 and 9999"));
  }
  Number(static_cast<uint64_t>(millis));
}

void Writer::Put(absl::Duration duration, const char* what) {
  const int64_t millis = absl::ToInt64Milliseconds(duration);
  if (duration < absl::ZeroDuration() || millis > kMostMillis) {
    Fail(absl::StrCat(what, " is ", absl::FormatDuration(duration),
                      "; it must be between 0 and 25 h"));
  }
  Number(static_cast<uint64_t>(millis));
}

void Writer::Put(std::string_view text, size_t most, const char* what) {
  if (text.size() > most) {
    Fail(absl::StrCat(what, " has ", text.size(), " bytes; the most are ", most));
    return;
  }
  Text(text);
}

void Writer::Put(const RequestId& id) {
  Put(id.made, "the time of a request's ID");
  Number(id.high);
  Number(id.low);
}

void Writer::Put(const Answer& answer) {
  Byte(static_cast<uint8_t>(answer.status.raw_code()));
  if (!answer.status.ok()) {
    const absl::string_view message = answer.status.message();
    Put(std::string_view(message.data(), message.size()), kMostMessageBytes, "a message");
    return;
  }
  if (const auto* counter = std::get_if<counter_machine::Reply>(&answer.reply)) {
    Byte(kHasCounterReply);
    return counter_machine::Put(*this, *counter);
  }
  if (const auto* segment = std::get_if<segment_machine::Reply>(&answer.reply)) {
    Byte(kHasSegmentReply);
    return segment_machine::Put(*this, *segment);
  }
  if (const auto* type = std::get_if<type_machine::Reply>(&answer.reply)) {
    Byte(kHasTypeReply);
    return type_machine::Put(*this, *type);
  }
  if (const auto* strict = std::get_if<strict_machine::Reply>(&answer.reply)) {
    Byte(kHasStrictReply);
    return strict_machine::Put(*this, *strict);
  }
  Byte(answer.grant ? kHasGrant : kHasNothing);
  if (!answer.grant) return;
  Number(answer.grant->worker);
  Number(answer.grant->token);
  Put(answer.grant->floor, "a floor");
  Put(answer.grant->ceiling, "a ceiling");
  Put(answer.grant->granted_at, "the time of a grant");
  Byte(answer.grant->loss_noticed);
}

void Writer::Fail(std::string_view what) {
  if (status_.ok()) status_ = absl::InvalidArgumentError(internal::ToAbsl(what));
}

absl::StatusOr<std::string> Writer::Finish() {
  if (!status_.ok()) return status_;
  return Take();
}

Reader::Reader(std::string_view bytes, const char* name) : ByteReader(bytes, name) {
  version_ = Byte(UINT8_MAX);
  if (ok() && (version_ < kCodecVersion || version_ > kLeapCodecVersion)) {
    Fail(0, absl::StrCat("version ", version_, "; this program knows versions ", kCodecVersion,
                         " to ", kLeapCodecVersion));
  }
}

absl::Time Reader::GetTime() {
  const size_t place = at();
  const auto millis = static_cast<int64_t>(Number());
  if (millis == kPast) return absl::InfinitePast();
  if (millis == kFuture) return absl::InfiniteFuture();
  if (millis < 0 || millis > kLastMilli) {
    Fail(place, absl::StrCat("a time of ", millis, " ms; it must be between 1970 and 9999"));
    return absl::UnixEpoch();
  }
  return absl::FromUnixMillis(millis);
}

absl::Duration Reader::GetDuration() {
  const size_t place = at();
  const uint64_t millis = Number();
  if (millis > kMostMillis) {
    Fail(place, absl::StrCat("a duration of ", millis, " ms; the most are ", kMostMillis));
    return absl::ZeroDuration();
  }
  return absl::Milliseconds(millis);
}

SpaceName Reader::GetSpace() {
  const size_t place = at();
  const std::string text = Text(kMostSpaceBytes, "a space");
  if (!ok()) return SpaceName();
  absl::StatusOr<SpaceName> space = SpaceName::Parse(text);
  if (!space.ok()) {
    Fail(place, absl::StrCat("space ", internal::Quoted(text), ", which is not a name"));
    return SpaceName();
  }
  return *std::move(space);
}

RequestId Reader::GetId() {
  RequestId id;
  id.made = GetTime();
  id.high = Number();
  id.low = Number();
  return id;
}

Answer Reader::GetAnswer() {
  Answer answer;
  const auto code = static_cast<absl::StatusCode>(Byte(16));
  if (code != absl::StatusCode::kOk) {
    answer.status = absl::Status(code, Text(kMostMessageBytes, "a message"));
    return answer;
  }
  const uint8_t has = Byte(LastThatAnAnswerHas(version_));
  if (has == kHasCounterReply) {
    answer.reply = counter_machine::GetReply(*this);
  } else if (has == kHasSegmentReply) {
    answer.reply = segment_machine::GetReply(*this);
  } else if (has == kHasTypeReply) {
    answer.reply = type_machine::GetReply(*this);
  } else if (has == kHasStrictReply) {
    answer.reply = strict_machine::GetReply(*this);
  }
  if (has != kHasGrant) return answer;
  WorkerGrant grant;
  grant.worker = Number();
  grant.token = Number();
  grant.floor = GetTime();
  grant.ceiling = GetTime();
  grant.granted_at = GetTime();
  grant.loss_noticed = Flag();
  answer.grant = grant;
  return answer;
}

}  // namespace locus::cluster_machine
