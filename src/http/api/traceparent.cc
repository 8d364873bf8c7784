// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/traceparent.h"

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "src/base/text/text.h"

namespace locus::http_api {

using internal::TraceId;

namespace {

// "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
constexpr size_t kTraceAt = 3, kTraceDigits = 32;
constexpr size_t kParentAt = 36, kParentDigits = 16;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(std::string_view text) { return text.find_first_not_of('0') == text.npos; }

}  // namespace

TraceId ParseTraceparent(std::string_view value) {
  if (value.size() < kLength) return {};
  const std::string_view version = value.substr(0, 2);
  const std::string_view trace = value.substr(kTraceAt, kTraceDigits);
  const std::string_view parent = value.substr(kParentAt, kParentDigits);
  const bool well_formed = IsHex(version) && value[kTraceAt - 1] == '-' && IsHex(trace) &&
                           value[kParentAt - 1] == '-' && IsHex(parent) &&
                           value[kFlagsAt - 1] == '-' && IsHex(value.substr(kFlagsAt, 2));
  if (!well_formed || version == "ff" || IsZero(trace) || IsZero(parent)) return {};
  // Later versions may have more, behind a dash.
  if (value.size() > kLength && (version == "00" || value[kLength] != '-')) return {};
  const std::optional<absl::uint128> number = internal::ParseHex(trace);
  if (!number) return {};
  return {absl::Uint128High64(*number), absl::Uint128Low64(*number)};
}

TraceId TraceOf(const http::ServerRequest& request) {
  constexpr std::string_view kName = "traceparent";
  const auto found = std::ranges::count_if(request.headers, [&](const auto& header) {
    return absl::EqualsIgnoreCase(header.first, internal::ToAbsl(kName));
  });
  return found == 1 ? ParseTraceparent(request.Header(kName)) : TraceId();
}

}  // namespace locus::http_api
