// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/strict_rows.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/space_rows.h"

namespace locus::mysql {
namespace {

constexpr int64_t kStrictVersion = 1;

// Times are ms since 1970. An owner's instance is a uint64 as a signed number of the same bits. The
// row of locus_strict_birth is never updated, so ROW_START is when the tables were made; a dump
// does not contain that time. Its name comes before the others', so that a dump that is put back
// makes it anew before it touches them.
constexpr char kStrictTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS locus_strict_birth (
    one TINYINT NOT NULL CHECK (one = 1), version INT NOT NULL, PRIMARY KEY (one)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary WITH SYSTEM VERSIONING;
  CREATE TABLE IF NOT EXISTS locus_strict_sections (
    name VARBINARY(64) NOT NULL, section INT UNSIGNED NOT NULL, max_seq BIGINT NOT NULL,
    start BIGINT NOT NULL, token BIGINT NOT NULL, ends_at BIGINT NOT NULL,
    instance BIGINT NOT NULL, owner VARBINARY(64) NOT NULL, address VARBINARY(256) NOT NULL,
    successor VARBINARY(64) NOT NULL, PRIMARY KEY (name, section)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  CREATE TABLE IF NOT EXISTS locus_strict_sets (
    name VARBINARY(64) NOT NULL, first_uid BIGINT UNSIGNED NOT NULL, uids BIGINT NOT NULL,
    section_size BIGINT NOT NULL, step BIGINT NOT NULL, ttl BIGINT NOT NULL,
    table_version BIGINT NOT NULL, rest_until BIGINT NOT NULL, losses BIGINT NOT NULL,
    base BIGINT NOT NULL, identity VARBINARY(255) NOT NULL, PRIMARY KEY (name)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary;
  INSERT IGNORE INTO locus_strict_birth VALUES (1, )sql";

constexpr char kSectionColumns[] =
    "SELECT section, max_seq, start, token, ends_at, instance, owner, address, successor"
    " FROM locus_strict_sections WHERE name = ";

std::string StrictIdentity(const ServerFacts& facts) {
  if (facts.galera) return IdentityExpression(facts);
  return absl::StrCat("(SELECT CONCAT_WS('/', 'server', ",
                      facts.has_uid ? "@@server_uid" : "@@hostname, @@port", ", @@server_id, ",
                      MicrosecondsOf("ROW_START"), ") FROM locus_strict_birth WHERE one = 1)");
}

absl::Status Contradiction(const std::string& place, const std::string& set,
                           const absl::Status& why) {
  if (why.ok()) return why;
  return absl::DataLossError(
      absl::StrCat("mariadb ", place, ", set ", set, " of strict sequences: ", why.message()));
}

template <size_t N>
absl::StatusOr<std::array<int64_t, N>> NumbersIn(const Result::Row& row, const std::string& place) {
  std::array<int64_t, N> numbers;
  for (size_t i = 0; i < N; ++i) {
    LOCUS_ASSIGN_OR_RETURN(numbers[i], NumberIn(row, i, place));
  }
  return numbers;
}

}  // namespace

absl::Status CreateStrictSchema(Connection& connection) {
  LOCUS_RETURN_IF_ERROR(connection.Run(absl::StrCat(kStrictTables, kStrictVersion, ")")).status());
  return CheckStrictSchema(connection);
}

absl::Status CheckStrictSchema(Connection& connection) {
  auto results =
      connection.Run("SELECT version FROM locus_strict_birth WHERE one = 1", {AtMostOneRow(1)});
  if (!results.ok() && connection.error() == kNoSuchTable) {
    return absl::NotFoundError(
        absl::StrCat("mariadb ", connection.place(),
                     ": there are no tables of strict sequences; CreateSchema makes them"));
  }
  LOCUS_RETURN_IF_ERROR(results.status());
  int64_t version = 0;
  if (!(*results)[0].rows.empty()) {
    LOCUS_ASSIGN_OR_RETURN(version, NumberIn((*results)[0].rows[0], 0, connection.place()));
  }
  if (version == kStrictVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", connection.place(), ": the tables of strict sequences have version ", version,
      "; this program supports ", kStrictVersion,
      version < kStrictVersion ? ": run CreateSchema once more" : ": use a newer locus"));
}

std::string ReadStrictState(const SpaceName& set, bool lock, const std::string& now,
                            const ServerFacts& facts) {
  return absl::StrCat(
      "SELECT first_uid, uids, section_size, step, ttl, table_version, rest_until, losses, base,"
      " identity FROM locus_strict_sets WHERE name = ",
      Literal(set.str()), lock ? " FOR UPDATE" : "", ";SELECT ", now, ", ", StrictIdentity(facts));
}

absl::StatusOr<StrictState> ParseStrictState(std::span<const Result> results,
                                             const std::string& place) {
  StrictState state;
  if (!results[0].rows.empty()) {
    const Result::Row& row = results[0].rows[0];
    LOCUS_ASSIGN_OR_RETURN(auto numbers, NumbersIn<9>(row, place));
    strict::Set set;
    set.options.first_uid = static_cast<uint64_t>(numbers[0]);
    set.options.uids = static_cast<uint64_t>(numbers[1]);
    set.options.section_size = static_cast<uint32_t>(numbers[2]);
    set.options.step = static_cast<uint64_t>(numbers[3]);
    set.options.ttl = absl::Milliseconds(numbers[4]);
    set.table_version = static_cast<uint64_t>(numbers[5]);
    set.rest_until = absl::FromUnixMillis(numbers[6]);
    set.losses = static_cast<uint64_t>(numbers[7]);
    set.base = static_cast<uint64_t>(numbers[8]);
    LOCUS_RETURN_IF_ERROR(Contradiction(place, "", set.options.Check()));
    state.set = set;
    state.recorded = row[9].value_or("");
  }
  LOCUS_ASSIGN_OR_RETURN(int64_t now_us, NumberIn(results[1].rows[0], 0, place));
  state.now = absl::FromUnixMicros(now_us);
  state.identity = results[1].rows[0][1].value_or("");
  return state;
}

std::string ReadStrictSections(const SpaceName& set, std::span<const uint32_t> sections) {
  return absl::StrCat(kSectionColumns, Literal(set.str()), " AND section IN (",
                      absl::StrJoin(sections, ","), ")");
}

std::string ReadStrictSectionsFrom(const SpaceName& set, uint64_t first) {
  return absl::StrCat(kSectionColumns, Literal(set.str()), " AND section >= ", first,
                      " ORDER BY section LIMIT ", kMostSectionsAtOnce);
}

absl::Status ParseStrictSections(const Result& result, const SpaceName& set,
                                 const std::string& place,
                                 std::map<uint32_t, strict::Record>& records) {
  for (const Result::Row& row : result.rows) {
    LOCUS_ASSIGN_OR_RETURN(auto numbers, NumbersIn<6>(row, place));
    strict::Record record;
    record.max_seq = static_cast<uint64_t>(numbers[1]);
    record.start = static_cast<uint64_t>(numbers[2]);
    record.token = static_cast<uint64_t>(numbers[3]);
    record.ends_at = absl::FromUnixMillis(numbers[4]);
    record.owner.instance = static_cast<uint64_t>(numbers[5]);
    record.owner.name = row[6].value_or("");
    record.owner.address = row[7].value_or("");
    record.successor = row[8].value_or("");
    LOCUS_RETURN_IF_ERROR(Contradiction(place, set.str(), strict::CheckRecord(record)));
    records[static_cast<uint32_t>(numbers[0])] = std::move(record);
  }
  return absl::OkStatus();
}

std::string WriteStrictSet(const SpaceName& name, const strict::Set& set,
                           const std::string& identity) {
  return absl::StrCat("INSERT INTO locus_strict_sets VALUES (", Literal(name.str()), ", ",
                      set.options.first_uid, ", ", set.options.uids, ", ", set.options.section_size,
                      ", ", set.options.step, ", ", absl::ToInt64Milliseconds(set.options.ttl),
                      ", ", set.table_version, ", ", absl::ToUnixMillis(set.rest_until), ", ",
                      set.losses, ", ", set.base, ", ", Literal(identity),
                      ") ON DUPLICATE KEY UPDATE table_version = VALUES(table_version),"
                      " rest_until = VALUES(rest_until), losses = VALUES(losses),"
                      " base = VALUES(base), identity = VALUES(identity)");
}

std::string WriteStrictSections(const SpaceName& set, const strict::Batch& batch) {
  std::string statement = "INSERT INTO locus_strict_sections VALUES ";
  const std::string name = Literal(set.str());
  const char* separator = "";
  for (uint32_t section : batch.changed) {
    const strict::Record& record = batch.records.at(section);
    absl::StrAppend(&statement, separator, "(", name, ", ", section, ", ", record.max_seq, ", ",
                    record.start, ", ", record.token, ", ", absl::ToUnixMillis(record.ends_at),
                    ", ");
    absl::StrAppend(&statement, static_cast<int64_t>(record.owner.instance), ", ",
                    Literal(record.owner.name), ", ", Literal(record.owner.address), ", ",
                    Literal(record.successor), ")");
    separator = ", ";
  }
  return absl::StrCat(statement,
                      " ON DUPLICATE KEY UPDATE max_seq = VALUES(max_seq), start = VALUES(start),"
                      " token = VALUES(token), ends_at = VALUES(ends_at),"
                      " instance = VALUES(instance), owner = VALUES(owner),"
                      " address = VALUES(address), successor = VALUES(successor)");
}

}  // namespace locus::mysql
