// SPDX-License-Identifier: Apache-2.0
#include "src/worker/record_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::worker {

using internal::ParseDecimal;

namespace {

// Takes the first word of `text`, and the space after it. False: no space follows.
bool TakeWord(std::string_view& text, std::string_view& word) {
  const size_t size = text.find(' ');
  if (size == std::string_view::npos) return false;
  word = text.substr(0, size);
  text.remove_prefix(size + 1);
  return true;
}

bool TakeTime(std::string_view& text, absl::Time& time) {
  std::string_view word;
  if (!TakeWord(text, word)) return false;
  std::optional<absl::Time> read = TimeOf(word);
  if (read.has_value()) time = *read;
  return read.has_value();
}

}  // namespace

std::string TextOf(absl::Time time) {
  if (time < absl::UnixEpoch()) return "-";
  const auto most = static_cast<int64_t>(kMostMillis);
  return absl::StrCat(std::min(absl::ToUnixMillis(time), most));
}

std::optional<absl::Time> TimeOf(std::string_view text) {
  if (text == "-") return absl::InfinitePast();
  std::optional<uint64_t> millis = ParseDecimal(text, kMostMillis);
  if (!millis.has_value()) return std::nullopt;
  return absl::FromUnixMillis(static_cast<int64_t>(*millis));
}

std::string TextOf(const WorkerRecord& record) {
  return absl::StrCat(record.token, " ", TextOf(record.floor), " ", TextOf(record.ceiling), " ",
                      TextOf(record.granted_at), " ", TextOf(record.renewed_at), " ", record.nonce,
                      " ", record.holder);
}

std::optional<WorkerRecord> RecordOf(uint64_t worker, std::string_view text) {
  WorkerRecord record;
  record.worker = worker;
  std::string_view word;
  if (!TakeWord(text, word)) return std::nullopt;
  std::optional<uint64_t> token = ParseDecimal(word, kMostTokenOfRecord);
  if (!token.has_value() || *token == 0) return std::nullopt;
  record.token = *token;
  if (!TakeTime(text, record.floor) || !TakeTime(text, record.ceiling) ||
      !TakeTime(text, record.granted_at) || !TakeTime(text, record.renewed_at) ||
      !TakeWord(text, word) || text.size() > kMostHolderBytes) {
    return std::nullopt;
  }
  record.nonce = std::string(word);
  record.holder = std::string(text);
  return record;
}

std::string TextOf(const Space& space) {
  return absl::StrCat(TextOf(space.rest_until), " ", absl::ToInt64Milliseconds(space.longest), " ",
                      space.losses);
}

std::optional<Space> SpaceOf(std::string_view text) {
  Space space;
  std::string_view word;
  if (!TakeTime(text, space.rest_until) || !TakeWord(text, word)) return std::nullopt;
  std::optional<uint64_t> longest = ParseDecimal(word, kMostMillis);
  std::optional<uint64_t> losses = ParseDecimal(text, INT64_MAX);
  if (!longest.has_value() || !losses.has_value()) return std::nullopt;
  space.longest = absl::Milliseconds(static_cast<int64_t>(*longest));
  space.losses = *losses;
  return space;
}

}  // namespace locus::worker
