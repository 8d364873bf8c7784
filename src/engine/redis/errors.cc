// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/errors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/engine/redis/connection.h"

namespace locus::redis {

using internal::Quoted;

namespace {

// Errors that may be gone at the next attempt.
constexpr std::string_view kPassing[] = {"LOADING",    "BUSY",     "MASTERDOWN", "CLUSTERDOWN",
                                         "TRYAGAIN",   "OOM",      "MISCONF",    "NOREPLICAS",
                                         "UNKILLABLE", "READONLY", "NOGOODSLAVE"};

bool IsAny(const Reply& reply, std::span<const std::string_view> codes) {
  return std::any_of(codes.begin(), codes.end(),
                     [&](std::string_view code) { return reply.IsError(code); });
}

}  // namespace

absl::Status StatusOf(const Reply& reply, const Address& from) {
  if (reply.kind != Reply::Kind::kError) return absl::OkStatus();
  // Errors of scripts have several lines, of which the first says what happened.
  std::string_view text = reply.text;
  std::string message =
      absl::StrCat("redis ", ToString(from), " answers ", Quoted(text.substr(0, text.find('\n'))));
  if (IsAny(reply, kPassing)) return absl::UnavailableError(message);
  if (reply.IsError("WRONGTYPE")) return absl::DataLossError(message);
  return absl::FailedPreconditionError(message);
}

bool ShowsNoMaster(const Reply& reply) {
  return reply.IsError("READONLY") || reply.IsError("MASTERDOWN");
}

}  // namespace locus::redis
