// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/errors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text.h"
#include "src/engine/redis/connection.h"

namespace locus::redis {
namespace {

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
  // Errors of scripts go on for lines; those of keys may show one.
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

std::optional<Redirect> ParseRedirect(const Reply& reply, const Address& from) {
  Redirect redirect;
  redirect.ask = reply.IsError("ASK");
  if (!redirect.ask && !reply.IsError("MOVED")) return std::nullopt;
  std::string_view rest = reply.text;
  rest.remove_prefix(rest.find(' ') + 1);
  size_t space = rest.find(' '), colon = rest.rfind(':');
  if (space == rest.npos || colon == rest.npos || colon < space) return std::nullopt;
  auto slot = ParseDecimal(rest.substr(0, space), 16383);
  std::string_view port_text = rest.substr(colon + 1);
  auto port = ParseDecimal(port_text.substr(0, port_text.find('@')), 65535);
  if (!slot || !port) return std::nullopt;
  redirect.slot = static_cast<uint16_t>(*slot);
  redirect.to.host = std::string(rest.substr(space + 1, colon - space - 1));
  if (redirect.to.host.empty() || redirect.to.host == "?") redirect.to.host = from.host;
  redirect.to.port = static_cast<uint16_t>(*port);
  return redirect;
}

}  // namespace locus::redis
