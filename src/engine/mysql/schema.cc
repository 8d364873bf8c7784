// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/schema.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::Printable;

namespace {

// The statements that upgrade version i to i + 1. Each can run again after an interruption. Times
// are UTC. docs/run/engines-mysql.md explains the columns.
constexpr std::array kSteps = {
    R"sql(
  CREATE TABLE IF NOT EXISTS sequence_type (
    type_id VARBINARY(80) NOT NULL, start BIGINT NOT NULL, step BIGINT NOT NULL,
    buffer_size BIGINT NOT NULL, expired_sec BIGINT NOT NULL,
    create_time DATETIME(6) NOT NULL, update_time DATETIME(6) NOT NULL,
    PRIMARY KEY (type_id)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  CREATE TABLE IF NOT EXISTS `sequence` (
    type_id VARBINARY(80) NOT NULL, group_key VARBINARY(768) NOT NULL,
    sequence_no BIGINT NOT NULL CHECK (sequence_no >= 0),
    version_number BIGINT UNSIGNED NOT NULL, expire_time DATETIME(6) NULL,
    create_time DATETIME(6) NOT NULL, update_time DATETIME(6) NOT NULL,
    PRIMARY KEY (type_id, group_key), KEY locus_expiry (type_id, expire_time)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  CREATE TABLE IF NOT EXISTS locus_space (
    type_id VARBINARY(80) NOT NULL, section_size INT UNSIGNED NOT NULL,
    floor_epoch_ns BIGINT NOT NULL, floor_rate BIGINT NOT NULL, max_lead BIGINT NOT NULL,
    base BIGINT NOT NULL, losses BIGINT NOT NULL, identity VARBINARY(255) NOT NULL,
    revision BIGINT UNSIGNED NOT NULL, PRIMARY KEY (type_id)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  INSERT IGNORE INTO sequence_type VALUES
    ('sequencer', 0, 1, 1, 60, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6));)sql",
    // Its one row is never updated, so ROW_START is when these tables were made. A dump does not
    // contain that time: tables made from a dump have a new one. The other tables must not look
    // older (HalfRestoredExpression); a new comment writes their files anew.
    R"sql(
  CREATE TABLE IF NOT EXISTS locus_birth (one TINYINT NOT NULL CHECK (one = 1), PRIMARY KEY (one))
    ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary WITH SYSTEM VERSIONING;
  INSERT IGNORE INTO locus_birth VALUES (1);
  ALTER TABLE locus_space COMMENT = 'not before locus_birth';
  ALTER TABLE `sequence` COMMENT = 'not before locus_birth';
  ALTER TABLE sequence_type COMMENT = 'not before locus_birth';)sql",
};
constexpr int64_t kSchemaVersion = kSteps.size();

absl::Status AnotherVersion(std::string_view place, int64_t found) {
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", absl::string_view(place.data(), place.size()), ": the locus tables have version ",
      found, "; this program supports ", kSchemaVersion,
      found < kSchemaVersion ? ": run `locus store init`" : ": use a newer locus"));
}

absl::StatusOr<int64_t> ReadVersion(Connection& connection) {
  auto results =
      connection.Run("SELECT version FROM locus_schema WHERE one = 1", {AtMostOneRow(1)});
  if (!results.ok() && connection.error() == kNoSuchTable) {
    return absl::NotFoundError(absl::StrCat("mariadb ", connection.place(),
                                            ": there are no locus tables: run `locus store init`"));
  }
  LOCUS_RETURN_IF_ERROR(results.status());
  if ((*results)[0].rows.empty()) return 0;  // creation was cut off
  LOCUS_ASSIGN_OR_RETURN(int64_t version, NumberIn((*results)[0].rows[0], 0, connection.place()));
  if (version >= 0) return version;
  return absl::DataLossError(absl::StrCat("mariadb ", connection.place(),
                                          ": the locus tables have the invalid version ", version));
}

absl::Status RefuseTablesOfOthers(Connection& connection) {
  LOCUS_ASSIGN_OR_RETURN(auto results,
                         connection.Run("SELECT TABLE_NAME FROM information_schema.TABLES WHERE"
                                        " TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN"
                                        " ('sequence', 'sequence_type', 'locus_space')",
                                        {Rows(1, 3)}));
  std::vector<std::string> names;
  for (const Result::Row& row : results[0].rows) names.push_back(Printable(row[0].value_or("")));
  if (names.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("mariadb ", connection.place(), " contains tables that are not locus's: ",
                   absl::StrJoin(names, ", "), ": use a separate database for locus"));
}

}  // namespace

absl::Status CheckSchema(Connection& connection) {
  LOCUS_ASSIGN_OR_RETURN(int64_t found, ReadVersion(connection));
  return found == kSchemaVersion ? absl::OkStatus() : AnotherVersion(connection.place(), found);
}

absl::Status CreateOrUpgradeSchema(Connection& connection) {
  absl::StatusOr<int64_t> found = ReadVersion(connection);
  if (absl::IsNotFound(found.status())) {
    LOCUS_RETURN_IF_ERROR(RefuseTablesOfOthers(connection));
    // First, so that after an interruption the other tables are recognized as ours.
    LOCUS_RETURN_IF_ERROR(
        connection
            .Run("CREATE TABLE IF NOT EXISTS locus_schema (one TINYINT NOT NULL PRIMARY KEY,"
                 " version INT NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary")
            .status());
    found = 0;
  }
  LOCUS_RETURN_IF_ERROR(found.status());
  if (*found > kSchemaVersion) return AnotherVersion(connection.place(), *found);
  for (int64_t version = *found; version < kSchemaVersion; ++version) {
    LOCUS_RETURN_IF_ERROR(
        connection
            .Run(absl::StrCat(kSteps[version], "INSERT INTO locus_schema VALUES (1, ", version + 1,
                              ") ON DUPLICATE KEY UPDATE version = GREATEST(version, ", version + 1,
                              ")"))
            .status());
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
