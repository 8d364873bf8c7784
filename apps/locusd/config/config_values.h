// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_VALUES_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/shared/toml/toml_section.h"

// What values of the configuration are read by. The message of an error says what the text must be.
namespace locus::locusd {

absl::StatusOr<std::string> ReadPath(const std::string& text);
// Empty: the default.
absl::StatusOr<std::string> ReadMaybe(const std::string& text);
// A port of 0 would be another one after each start, and others hold it.
absl::StatusOr<std::string> ReadAddress(const std::string& text);

apps::TomlSection::Check Within(const absl::Duration& value, absl::Duration least,
                                absl::Duration most);

template <typename Whole>
apps::TomlSection::Check Within(const Whole& value, uint64_t least, uint64_t most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(value, " is not in ", least, " .. ", most));
  };
}

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_VALUES_H_
