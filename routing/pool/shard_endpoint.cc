// SPDX-License-Identifier: Apache-2.0
#include "routing/pool/shard_endpoint.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/uri_part.h"

namespace locus::internal {
namespace {

absl::Status Refuse(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the endpoint ", what, "; it must be mysql://HOST:PORT/DATABASE"));
}

absl::StatusOr<std::string> Decode(std::string_view part) {
  absl::StatusOr<std::string> decoded = DecodePercents(part);
  return decoded.ok() ? decoded : Refuse(decoded.status().message());
}

absl::Status ReadHost(std::string_view part, MysqlOptions::Host& host) {
  bool bracketed = !part.empty() && part[0] == '[';
  if (bracketed) part.remove_prefix(1);
  size_t end = part.find(bracketed ? ']' : ':');
  if (bracketed && end == std::string_view::npos) return Refuse("has a '[' without its ']'");
  host.name = part.substr(0, end);
  std::string_view after =
      end == std::string_view::npos ? std::string_view() : part.substr(end + bracketed);
  if (host.name.empty()) return Refuse("has no host");
  for (char c : host.name) {
    bool fits = absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ||
                c == '_' || (bracketed && (c == ':' || c == '%'));
    if (!fits) return Refuse("has a host with a character that host names do not have");
  }
  if (after.empty()) return absl::OkStatus();
  std::optional<uint64_t> number;
  if (after[0] == ':') number = ParseDecimal(after.substr(1), 65535);
  if (!number || *number == 0) return Refuse("has a port that is not 1..65535");
  host.port = static_cast<uint16_t>(*number);
  return absl::OkStatus();
}

absl::Status ReadSettings(std::string_view rest, ShardEndpoint& endpoint) {
  while (!rest.empty()) {
    std::string_view setting = rest;
    rest = TakeAfter(setting, '&');
    std::string_view name = setting;
    std::string_view value = TakeAfter(name, '=');
    if (name == "tls" && value == "on") {
      endpoint.tls = true;
    } else if (name == "tls_ca" && !value.empty() && endpoint.tls_ca_file.empty()) {
      LOCUS_ASSIGN_OR_RETURN(endpoint.tls_ca_file, Decode(value));
      endpoint.tls = true;
    } else {
      return Refuse("has a setting after '?' that is neither tls=on nor one tls_ca=FILE");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShardEndpoint> ShardEndpoint::Parse(std::string_view text) {
  constexpr std::string_view kScheme = "mysql://";
  if (text.substr(0, kScheme.size()) != kScheme) return Refuse("does not begin with mysql://");
  text.remove_prefix(kScheme.size());
  ShardEndpoint endpoint;
  LOCUS_RETURN_IF_ERROR(ReadSettings(TakeAfter(text, '?'), endpoint));
  std::string_view path = TakeAfter(text, '/');
  LOCUS_RETURN_IF_ERROR(ReadHost(text, endpoint.host));
  LOCUS_ASSIGN_OR_RETURN(endpoint.database, Decode(path));
  if (endpoint.database.empty()) return Refuse("names no database");
  return endpoint;
}

}  // namespace locus::internal
