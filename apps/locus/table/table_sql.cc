// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_file.h"
#include "locus/routing/routing_table.h"
#include "locus/shard_gene.h"
#include "src/base/text/text.h"

namespace locus::cli {
namespace {

// docs/functions.sql and docs/views.sql read these tables. A row for each vnode, not for each
// range: a join by equality takes an index, one by a range compares every row. `refused` is what
// the row's constraint is about.
constexpr absl::string_view kTables = R"(CREATE TABLE IF NOT EXISTS locus_routing_table (
  one      TINYINT UNSIGNED NOT NULL PRIMARY KEY,
  epoch    BIGINT UNSIGNED  NOT NULL,
  table_id VARBINARY(16)    NOT NULL,
  refused  TINYINT UNSIGNED NOT NULL DEFAULT 0,
  CONSTRAINT locus_loaded_table_is_newer_or_another CHECK (refused = 0)
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS locus_shards (
  id       INT UNSIGNED     NOT NULL PRIMARY KEY,
  name     VARCHAR(64)      CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL UNIQUE,
  endpoint VARCHAR(2048)    CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  weight   INT UNSIGNED     NOT NULL
) ENGINE = InnoDB;
CREATE TABLE IF NOT EXISTS locus_vnodes (
  vnode     SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  owner     INT UNSIGNED      NOT NULL,
  target    INT UNSIGNED      NULL,
  permyriad SMALLINT UNSIGNED NOT NULL
) ENGINE = InnoDB;
)";

// A literal that means `text` whatever the session's sql_mode and character set are.
std::string TextLiteral(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(" -_.:/,@[]+=?&").find(c) != std::string_view::npos;
  });
  if (plain) return absl::StrCat("'", text, "'");
  return absl::StrCat("CONVERT(X'", internal::HexOf(text), "' USING utf8mb4)");
}

std::string ShardRow(const Shard& shard) {
  return absl::StrCat("(", shard.id, ", ", TextLiteral(shard.name), ", ",
                      TextLiteral(shard.endpoint), ", ", shard.weight, ")");
}

std::vector<std::string> VnodeRows(const RoutingTable& table) {
  std::vector<std::string> rows;
  for (size_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    const ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
    const VnodeMove* move = table.MoveOf(gene);
    rows.push_back(absl::StrCat("(", vnode, ",", table.OwnerOf(gene).id, ",",
                                move == nullptr ? "NULL" : absl::StrCat(move->to), ",",
                                move == nullptr ? 0 : move->permyriad, ")"));
  }
  return rows;
}

void AppendInserts(const std::vector<std::string>& rows, absl::string_view into, std::string& sql) {
  constexpr size_t kRowsOfOne = 4096;
  for (size_t begin = 0; begin < rows.size(); begin += kRowsOfOne) {
    const auto first = rows.begin() + static_cast<ptrdiff_t>(begin);
    const auto end =
        rows.begin() + static_cast<ptrdiff_t>(std::min(begin + kRowsOfOne, rows.size()));
    absl::StrAppend(&sql, "INSERT INTO ", into, " VALUES\n", absl::StrJoin(first, end, ",\n"),
                    ";\n");
  }
}

// Tables of SQL that say what the routing table says. A later one replaces them in one transaction.
std::string TableAsSql(const RoutingTable& table) {
  std::string sql = absl::StrCat(
      "-- Routing table", table.table_id().empty() ? "" : absl::StrCat(" ", table.table_id()),
      ", epoch ", table.epoch(),
      ", by `locus table sql`: for functions.sql and views.sql.\n"
      "-- A table of a lower epoch, or with another table_id, than the one loaded before is "
      "refused\n"
      "-- by the constraint locus_loaded_table_is_newer_or_another.\n",
      kTables);
  const std::string id = absl::StrCat("'", table.table_id(), "'");
  absl::StrAppend(
      &sql, "START TRANSACTION;\n",
      "INSERT INTO locus_routing_table (one, epoch, table_id) VALUES (1, ", table.epoch(), ", ", id,
      ")\n  ON DUPLICATE KEY UPDATE\n"
      "  refused = epoch > VALUES(epoch) OR\n"
      "    (table_id <> '' AND VALUES(table_id) <> '' AND table_id <> VALUES(table_id)),\n"
      "  epoch = VALUES(epoch), table_id = IF(VALUES(table_id) = '', table_id, VALUES(table_id));\n"
      "DELETE FROM locus_vnodes;\nDELETE FROM locus_shards;\n");
  std::vector<std::string> shards;
  for (const Shard& shard : table.shards()) shards.push_back(ShardRow(shard));
  AppendInserts(shards, "locus_shards (id, name, endpoint, weight)", sql);
  AppendInserts(VnodeRows(table), "locus_vnodes (vnode, owner, target, permyriad)", sql);
  return sql + "COMMIT;\n";
}

}  // namespace

int RunTableSql(std::span<const std::string> words) {
  std::string path;
  VerbLine line("table sql",
                "Prints a routing table as SQL for MariaDB, which docs/functions.sql and "
                "docs/views.sql read.",
                "locus table sql table.json | mariadb shop");
  TableOption(line, "FILE", &path, "The routing table, a file or the URI of a place; - is stdin")
      .Else("LOCUS_TABLE");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<RoutingTable> table = LoadTable(path);
  if (!table.ok()) return Fail("table sql", table.status());
  return PrintAll("table sql", TableAsSql(*table));
}

}  // namespace locus::cli
