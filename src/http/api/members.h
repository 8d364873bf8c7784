// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_MEMBERS_H_
#define LOCUS_SRC_HTTP_API_MEMBERS_H_

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/space.h"

namespace locus::cluster_api {

// Whether an object in the JSON text, at any depth, names a member twice. `value`: as it was
// parsed; the parser keeps the last one only.
bool NamesAMemberTwice(std::string_view text, const boost::json::value& value);

// Reads the members of a JSON object that a peer sent. After the first error, every read gives
// nothing, and Finish returns that error: INVALID_ARGUMENT, naming the member.
// Thread safety: none.
class Members {
 public:
  explicit Members(std::string_view body);
  // `value` outlives it. `what`: for messages.
  Members(const boost::json::value& value, std::string_view what);
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  uint64_t Number(const char* name, uint64_t most = INT64_MAX);
  std::optional<uint64_t> NumberOrNull(const char* name, uint64_t most = INT64_MAX);
  std::string Text(const char* name, size_t most);
  std::string TextOrNothing(const char* name, size_t most);  // empty: it is missing
  // Bytes as hex digits, lower case; at most `most` bytes.
  std::string Bytes(const char* name, size_t most);
  // A number of 64 bits, as a text: 1 to `most`.
  uint64_t Token(const char* name, uint64_t most = uint64_t{1} << 62);
  std::optional<uint64_t> TokenOrNull(const char* name, uint64_t most);
  bool Bool(const char* name);
  bool BoolOrFalse(const char* name);  // false: also where it is missing
  // Times and durations are milliseconds.
  absl::Time Time(const char* name);
  absl::Time TimeOr(const char* name, absl::Time infinite);
  absl::Duration Duration(const char* name);
  std::optional<absl::Duration> DurationOrNull(const char* name);
  absl::Duration SignedDuration(const char* name);
  SpaceName Space(const char* name);
  const boost::json::array* Array(const char* name, size_t most);
  // nullptr: it is null, or missing, which is an error.
  const boost::json::value* ObjectOrNull(const char* name);

  // For answers that newer servers may extend: members that were not read are no error.
  void AllowOthers() { others_ = true; }
  void Fail(std::string_view why);
  absl::Status Finish();

 private:
  const boost::json::value* Take(const char* name);
  bool TakeNull(const char* name);

  boost::json::value value_;
  const boost::json::object* object_ = nullptr;
  std::set<std::string> taken_;
  bool others_ = false;
  absl::Status error_;
};

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_HTTP_API_MEMBERS_H_
