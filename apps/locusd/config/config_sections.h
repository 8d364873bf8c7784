// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_keys.h"

// The sections of the configuration: each function reads one, and refuses what is wrong in it, or
// lists its keys (config_keys.h).
namespace locus::locusd {

void RootKeys(KeySection& section, Config& config);
void RaftKeys(KeySection& section, Config::Raft& raft);
void ApiKeys(KeySection& section, const Config& config, Config::Api& api);
void IdsKeys(KeySection& section, IdSettings& ids);
void OrdersKeys(KeySection& section, OrderSettings& orders);
void SequencesKeys(KeySection& section, SequenceSettings& sequences);
void SnowflakeKeys(KeySection& section, SnowflakeSettings& snowflake);
void TableKeys(KeySection& section, TableSettings& table);
// `listen`: the API's address, where others reach the node unless `advertise` names another.
void StrictKeys(KeySection& section, const std::string& listen, StrictSettings& strict);
void TokenKeys(KeySection& section, TokenSettings& token);
void ConsoleKeys(KeySection& section, Config::Console& console);
void LogKeys(KeySection& section, Config& config);
void HealthKeys(KeySection& section, HealthSettings& health);
void AuditKeys(KeySection& section, AuditSettings& audit);

// A URI may hold a password by mistake, and the message of an error must not repeat it: so the text
// is not judged as others are, but by `judge`.
void PlaceKeys(KeySection& section, const char* key, const char* password_key, PlaceSettings& place,
               const KeySection::About& about,
               const std::function<absl::Status(const std::string&)>& judge);
absl::StatusOr<SpaceName> ReadSpace(const std::string& text);
// Reads a [[token]] and adds it to config.tokens.
void ReadToken(apps::TomlSection section, Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_SECTIONS_H_
