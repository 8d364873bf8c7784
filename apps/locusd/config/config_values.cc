// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_values.h"

#include "src/http/endpoint.h"

namespace locus::locusd {

absl::StatusOr<std::string> ReadPath(const std::string& text) {
  if (!text.empty() && text.find('\0') == std::string::npos) return text;
  return absl::InvalidArgumentError("a path");
}

absl::StatusOr<std::string> ReadMaybe(const std::string& text) {
  if (text.find('\0') == std::string::npos) return text;
  return absl::InvalidArgumentError("a text without NUL");
}

absl::StatusOr<std::string> ReadAddress(const std::string& text) {
  if (http::Endpoint::Parse(text).ok()) return text;
  return absl::InvalidArgumentError(
      "HOST:PORT with a port of 1 to 65535; an IPv6 address stands in brackets");
}

apps::TomlSection::Check Within(const absl::Duration& value, absl::Duration least,
                                absl::Duration most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(absl::FormatDuration(value), " is not in ",
                                                   absl::FormatDuration(least), " .. ",
                                                   absl::FormatDuration(most)));
  };
}

}  // namespace locus::locusd
