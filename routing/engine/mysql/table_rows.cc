// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/mysql/table_rows.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/routing/table_source.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/space_rows.h"

namespace locus::mysql {

using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::ToAbsl;

namespace {

// The table comment by which tables of locus are recognized.
constexpr char kComment[] = "locus routing tables, version 1";

// The server computes length and checksum, so that a document replaced by hand is noticed as well.
// On Galera a row lock of one node does not count on another, so the update of the head makes two
// publications exclude each other.
constexpr char kCreateTables[] = R"sql(
  CREATE TABLE IF NOT EXISTS routing_table (
    epoch BIGINT UNSIGNED NOT NULL CHECK (epoch BETWEEN 1 AND 9223372036854775807),
    document LONGTEXT NOT NULL,
    published_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    author VARCHAR(512), reason VARCHAR(512),
    bytes INT UNSIGNED AS (OCTET_LENGTH(document)) STORED,
    checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin AS (SHA2(document, 256)) STORED,
    PRIMARY KEY (epoch)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='%s';
  CREATE TABLE IF NOT EXISTS routing_table_head (
    one TINYINT NOT NULL CHECK (one = 1), epoch BIGINT UNSIGNED NOT NULL,
    publications BIGINT UNSIGNED NOT NULL, PRIMARY KEY (one)
  ) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=binary COMMENT='%s';
  INSERT IGNORE INTO routing_table_head VALUES (1, 0, 0))sql";

constexpr char kColumns[] = "epoch, bytes, checksum";
constexpr char kNewest[] = " FROM routing_table ORDER BY epoch DESC LIMIT 1";

}  // namespace

std::string TablePlace(const MysqlOptions& options) {
  auto host = [](std::string* out, const MysqlOptions::Host& one) {
    absl::StrAppend(out, one.name, ":", one.port);
  };
  return absl::StrCat("mariadb at ", absl::StrJoin(options.hosts, ",", host), " database ",
                      options.database);
}

std::string TableRow::version() const {
  return absl::StrCat(epoch, "-", absl::string_view(checksum).substr(0, 16));
}

std::string SelectNewest() { return absl::StrCat("SELECT ", kColumns, kNewest); }

std::string SelectDocument(const TableRow& row) {
  return absl::StrCat("SELECT document FROM routing_table WHERE epoch = ", row.epoch,
                      " AND checksum = ", Literal(row.checksum));
}

std::string SelectWhole(std::optional<uint64_t> epoch) {
  std::string where =
      epoch ? absl::StrCat(" FROM routing_table WHERE epoch = ", *epoch) : std::string(kNewest);
  return absl::StrCat("SELECT ", kColumns, ", IF(bytes <= ", TableSource::kMaxDocumentBytes,
                      ", document, NULL)", where);
}

std::string SelectNoteColumns() {
  return "SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"
         " AND TABLE_NAME = 'routing_table' AND COLUMN_NAME IN ('author', 'reason')";
}

absl::StatusOr<std::optional<TableRow>> ParseRow(const Result& result, std::string_view place) {
  if (result.rows.empty()) return std::nullopt;
  const Result::Row& row = result.rows[0];
  std::optional<uint64_t> epoch = ParseDecimal(row[0].value_or(""), UINT64_MAX);
  std::optional<uint64_t> bytes = ParseDecimal(row[1].value_or(""), UINT64_MAX);
  if (!epoch || !bytes || row[2].value_or("").empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", ToAbsl(place), ": routing_table holds epoch ", Quoted(row[0].value_or("NULL")),
        ", bytes ", Quoted(row[1].value_or("NULL")), " and checksum ",
        Quoted(row[2].value_or("NULL")), ": it was not created by locus"));
  }
  return TableRow{*epoch, *bytes, *row[2]};
}

absl::Status Explain(const Connection& connection, const absl::Status& status,
                     absl::StatusCode no_table) {
  if (connection.error() == kNoSuchTable) {
    return absl::Status(no_table,
                        absl::StrCat(status.message(),
                                     ": the place has not been prepared for routing tables: "
                                     "run `locus table init` (CreateSchema)"));
  }
  if (connection.error() == kNoSuchColumn) {
    return absl::FailedPreconditionError(
        absl::StrCat(status.message(), ": it was not created by locus"));
  }
  return status;
}

absl::Status CreateTables(Connection& connection) {
  LOCUS_ASSIGN_OR_RETURN(
      auto results, connection.Run("SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES"
                                   " WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN"
                                   " ('routing_table', 'routing_table_head')",
                                   {Rows(2, 2)}));
  for (const Result::Row& row : results[0].rows) {
    std::string comment = row[1].value_or("");
    if (comment == kComment) continue;
    bool ours = absl::StartsWith(comment, "locus routing tables, version ");
    return absl::FailedPreconditionError(absl::StrCat(
        "mariadb ", connection.place(), " holds a table ", Printable(row[0].value_or("")),
        ours ? " of another version of locus: its comment is "
             : " that is not of locus: use another database; its comment is ",
        Quoted(comment), ", not ", Quoted(kComment)));
  }
  std::string statements = kCreateTables;
  for (size_t at; (at = statements.find("%s")) != std::string::npos;) {
    statements.replace(at, 2, kComment);
  }
  LOCUS_RETURN_IF_ERROR(connection.Run(statements).status());
  // For a place that an earlier version made. Accounts without ALTER may still run this again.
  LOCUS_ASSIGN_OR_RETURN(auto columns, connection.Run(SelectNoteColumns(), {OneRow(1)}));
  if (columns[0].rows[0][0] == "2") return absl::OkStatus();
  const absl::Status added =
      connection
          .Run(
              "ALTER TABLE routing_table ADD COLUMN IF NOT EXISTS author VARCHAR(512),"
              " ADD COLUMN IF NOT EXISTS reason VARCHAR(512)")
          .status();
  if (connection.error() != kTableDenied) return added;
  return absl::Status(
      added.code(),
      absl::StrCat(added.message(),
                   ": the tables are of an earlier version, and publications go on without authors "
                   "and reasons; adding their columns needs ALTER on routing_table"));
}

}  // namespace locus::mysql
