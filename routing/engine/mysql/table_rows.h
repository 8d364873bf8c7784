// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MYSQL_TABLE_ROWS_H_
#define LOCUS_ROUTING_ENGINE_MYSQL_TABLE_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/routing/table_source.h"
#include "src/engine/mysql/connection.h"

// The rows that routing tables are kept in: statements, and what their answers mean.

namespace locus::mysql {

// "mariadb at h1:3306,h2:3306 database orders".
std::string TablePlace(const MysqlOptions& options);

// A row of routing_table without its document.
struct TableRow {
  uint64_t epoch = 0;
  uint64_t bytes = 0;    // of the document
  std::string checksum;  // of the document, by the server

  // Another one for every other document.
  std::string version() const;
};

// The row of the highest epoch; reads no document.
std::string SelectNewest();
// The document of just this row.
std::string SelectDocument(const TableRow& row);
// Row and document (NULL where it is longer than TableSource::kMaxDocumentBytes) of the highest
// epoch, or of `epoch`.
std::string SelectWhole(std::optional<uint64_t> epoch);

// The shapes of these statements' answers; a document needs room for kDocumentBytes.
constexpr Shape kNewestShape = AtMostOneRow(3);
constexpr Shape kDocumentShape = AtMostOneRow(1);
constexpr Shape kWholeShape = AtMostOneRow(4);
constexpr size_t kDocumentBytes = TableSource::kMaxDocumentBytes + (64 << 10);

// Of SelectNewest or SelectWhole. nullopt: there is no row. FAILED_PRECONDITION: the row is not one
// of locus.
absl::StatusOr<std::optional<TableRow>> ParseRow(const Result& result, std::string_view place);

// The error of a failed statement about these tables: UNAVAILABLE and the like as they are;
// FAILED_PRECONDITION where a table has other columns, `no_table` where it is not there.
absl::Status Explain(const Connection& connection, const absl::Status& status,
                     absl::StatusCode no_table);

// Answers 2 where routing_table has the columns of PublicationNote, which tables of earlier
// versions have not.
std::string SelectNoteColumns();

// Creates the missing tables and columns. FAILED_PRECONDITION: they were not created by locus.
absl::Status CreateTables(Connection& connection);

}  // namespace locus::mysql

#endif  // LOCUS_ROUTING_ENGINE_MYSQL_TABLE_ROWS_H_
