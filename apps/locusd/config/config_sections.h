// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/config/config.h"
#include "apps/shared/toml/toml_section.h"

// The sections of the configuration; each refuses what is wrong in it.
namespace locus::locusd {

void ReadHealth(apps::TomlSection section, Config& config);
void ReadAudit(apps::TomlSection section, Config& config);
void ReadIds(apps::TomlSection section, IdSettings& ids);
// `listen`: the API's address, which is where others reach the node if nothing else is said.
void ReadStrict(apps::TomlSection section, const std::string& listen, StrictSettings& strict);
// A URI may hold a password by mistake, which the message must not repeat: so it is not judged as
// other texts are, but by `judge`.
void ReadPlace(apps::TomlSection& section, const std::string& key, const std::string& password_key,
               PlaceSettings& place, apps::TomlSection::Need need,
               const std::function<absl::Status(const std::string&)>& judge);
absl::StatusOr<SpaceName> ReadSpace(const std::string& text);
// Of a [[token]].
void ReadToken(apps::TomlSection section, Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
