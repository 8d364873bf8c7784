// SPDX-License-Identifier: Apache-2.0
#include "migration/fence/guard_sql.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "migration/fence/numbers_sql.h"
#include "routing/fence/fence_row.h"
#include "src/base/text/text.h"

namespace locus {

using internal::CohortExpression;
using internal::GeneExpression;
using internal::HexOf;
using internal::SqlName;
using internal::SqlText;
using internal::ToAbsl;

namespace internal {

const char kCreateFence[] = R"sql(CREATE TABLE IF NOT EXISTS locus_fence (
  lo SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  hi SMALLINT UNSIGNED NOT NULL,
  own_lo SMALLINT UNSIGNED NOT NULL,
  own_hi SMALLINT UNSIGNED NOT NULL,
  step BIGINT UNSIGNED NOT NULL,
  server_id INT UNSIGNED NOT NULL,
  other VARCHAR(64) NULL,
  token JSON NULL,
  CHECK (lo <= hi AND own_lo <= own_hi AND own_hi <= 10000)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin)sql";

const char kCreateVnodes[] = R"sql(CREATE TABLE IF NOT EXISTS locus_vnode (
  vnode SMALLINT UNSIGNED NOT NULL PRIMARY KEY,
  fence SMALLINT UNSIGNED NULL
) ENGINE = InnoDB)sql";

const char kProtectFence[] =
    "CREATE TRIGGER IF NOT EXISTS locus_fence_row BEFORE INSERT ON locus_fence FOR EACH ROW"
    " IF @locus_keeps_map IS NULL THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
    " 'LOCUS_REFUSED locus_vnode names the rows of locus_fence; use a version of locus that keeps"
    " it'; END IF";

const char kKeepsMap[] = "SET @locus_keeps_map = 1";

const char kMapVnodes[] =
    "INSERT INTO locus_vnode (vnode, fence) " LOCUS_WITH_NUMBERS
    " SELECT s.i, (SELECT IF(f.hi >= s.i, f.lo, NULL) FROM locus_fence f WHERE f.lo <= s.i"
    " ORDER BY f.lo DESC LIMIT 1) FROM numbers s ON DUPLICATE KEY UPDATE fence = VALUES(fence)";

std::string SqlName(std::string_view name) {
  return absl::StrCat("`", absl::StrReplaceAll(ToAbsl(name), {{"`", "``"}}), "`");
}

std::string SqlText(std::string_view text) {
  return absl::StrCat("CONVERT(X'", HexOf(text), "' USING utf8mb4)");
}

std::string GeneExpression(const GuardedTable& table, std::string_view row) {
  const std::string id = absl::StrCat(ToAbsl(row), SqlName(table.order_id));
  switch (table.key) {
    case GuardedTable::Key::kOrderIdNumber:
      return absl::StrCat("(", id, " >> 47 & 65535)");
    case GuardedTable::Key::kOrderIdBytes:
      // The first three bytes >> 7; ASCII() knows no character set.
      return absl::StrCat("((ASCII(", id, ") << 9 | ASCII(SUBSTR(", id, ", 2, 1)) << 1 |",
                          " ASCII(SUBSTR(", id, ", 3, 1)) >> 7) & 65535)");
    case GuardedTable::Key::kGeneAndCohort:
      break;
  }
  return absl::StrCat(ToAbsl(row), SqlName(table.gene));
}

std::string CohortExpression(const GuardedTable& table, std::string_view row) {
  const std::string id = absl::StrCat(ToAbsl(row), SqlName(table.order_id));
  std::string sequence;
  switch (table.key) {
    case GuardedTable::Key::kOrderIdNumber:
      sequence = absl::StrCat("(", id, " & 140737488355327)");
      break;
    case GuardedTable::Key::kOrderIdBytes:
      // Of 8 bytes the last 47 bits, of 16 the last 56.
      sequence = absl::StrCat("IF(OCTET_LENGTH(", id, ") = 8, CAST(CONV(HEX(", id,
                              "), 16, 10) AS UNSIGNED) & 140737488355327, CAST(CONV(HEX(SUBSTR(",
                              id, ", 10)), 16, 10) AS UNSIGNED))");
      break;
    case GuardedTable::Key::kGeneAndCohort:
      return absl::StrCat(ToAbsl(row), SqlName(table.cohort));
  }
  return absl::StrCat("((", sequence, " % 10000 * 6181 + ", GeneExpression(table, row),
                      " * 2531) % 10000)");
}

}  // namespace internal

namespace {

constexpr size_t kMostNameBytes = 64;

// Refuses a change of the columns that say where the row belongs. Otherwise the row would be of one
// order on one shard, and of another order on the other.
std::string KeepsItsKey(const GuardedTable& table) {
  auto same = [](const std::string& column) {
    return absl::StrCat("NEW.", SqlName(column), " <=> OLD.", SqlName(column));
  };
  const std::string kept = table.key == GuardedTable::Key::kGeneAndCohort
                               ? absl::StrCat(same(table.gene), " AND ", same(table.cohort))
                               : same(table.order_id);
  return absl::StrCat("    IF NOT (", kept,
                      ") THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT ="
                      " 'LOCUS_REFUSED the order of a row cannot change'; END IF;\n");
}

// Written inline: a CALL costs half as much again. The row of the map and the fence row are read by
// exact key, which locks only these two. A search for the row's range would also lock the gap
// behind it under REPEATABLE READ, where a move makes its row. That was tried: making the row
// starved behind writers for over a minute. Every variable and every column costs time for each
// row, also for the movers' rows, so only a refusal reads the rest.
std::string BodyOf(const GuardedTable& table, const std::string& event,
                   const std::vector<std::string>& movers) {
  const char* row = event == "INSERT" ? "NEW." : "OLD.";
  std::vector<std::string> names;
  for (const std::string& mover : movers) names.push_back(absl::StrCat("X'", HexOf(mover), "'"));
  const std::string from_fence =
      "FROM locus_vnode v JOIN locus_fence f ON f.lo = v.fence WHERE v.vnode = locus_gene"
      " LOCK IN SHARE MODE";
  const std::string nowhere = absl::StrCat("'", ToAbsl(internal::kFencedWord), "0 '");
  return absl::StrCat(
      "BEGIN\n"
      "  DECLARE locus_gene, locus_cohort BIGINT UNSIGNED;\n"
      "  DECLARE locus_own_lo, locus_own_hi, locus_server BIGINT UNSIGNED;\n"
      "  DECLARE locus_why VARCHAR(128) CHARACTER SET utf8mb4;\n"
      "  IF BINARY USER() NOT IN (",
      absl::StrJoin(names, ", "), ") THEN\n", event == "UPDATE" ? KeepsItsKey(table) : "",
      "    SET locus_gene = ", GeneExpression(table, row),
      ", locus_cohort = ", CohortExpression(table, row),
      ";\n"
      "    SELECT f.own_lo, f.own_hi, f.server_id\n"
      "      INTO locus_own_lo, locus_own_hi, locus_server\n      ",
      from_fence,
      ";\n"
      // IS NOT TRUE also covers a missing row, where the variables are NULL.
      "    IF (locus_server = @@server_id\n"
      "        AND locus_cohort >= locus_own_lo AND locus_cohort < locus_own_hi AND @@sql_log_bin\n"
      "        AND @@binlog_format = 'ROW' AND @@binlog_row_image = 'FULL') IS NOT TRUE THEN\n"
      "      SET locus_why = (SELECT CASE\n"
      "          WHEN server_id <> @@server_id THEN CONCAT('",
      ToAbsl(internal::kUnboundWord),
      "', server_id, ' ', @@server_id)\n"
      "          WHEN locus_cohort < own_lo OR locus_cohort >= own_hi THEN CONCAT('",
      ToAbsl(internal::kFencedWord),
      "', step, ' ', COALESCE(other, ''))\n"
      "          WHEN NOT (@@sql_log_bin AND @@binlog_format = 'ROW' AND @@binlog_row_image ="
      " 'FULL')\n"
      "            THEN 'LOCUS_REFUSED moves cannot see this write: sql_log_bin,"
      " binlog_format or binlog_row_image of the session; connect anew'\n"
      // The row that was read now accepts the order, and stays locked.
      "          ELSE '' END\n        ",
      from_fence,
      ");\n"
      "      SET locus_why = COALESCE(locus_why, ",
      nowhere,
      ");\n"
      "      IF locus_why <> '' THEN\n"
      "        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = locus_why;\n"
      "      END IF;\n"
      "    END IF;\n"
      "  END IF;\n"
      "END");
}

absl::Status CheckName(const char* what, const std::string& name, size_t most) {
  if (!name.empty() && name.size() <= most && name.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("fence option ", what, " is ",
                                                 internal::Quoted(name), "; it must have 1 to ",
                                                 most, " bytes"));
}

}  // namespace

absl::Status FenceOptions::Check() const {
  // locus_guard_ and _insert leave this much of a trigger's name.
  constexpr size_t kMostTableBytes = kMostNameBytes - 19;
  if (tables.empty()) return absl::InvalidArgumentError("fence option tables is empty");
  if (movers.empty()) {
    return absl::InvalidArgumentError(
        "fence option movers is empty; name the account that moves orders, as USER() shows it");
  }
  for (const GuardedTable& table : tables) {
    if (auto status = CheckName("tables.name", table.name, kMostTableBytes); !status.ok()) {
      return status;
    }
    for (const auto& [what, column] :
         {std::pair("tables.order_id", &table.order_id), std::pair("tables.gene", &table.gene),
          std::pair("tables.cohort", &table.cohort)}) {
      if (auto status = CheckName(what, *column, kMostNameBytes); !status.ok()) return status;
    }
    for (const GuardedTable& other : tables) {
      if (&other != &table && other.name == table.name) {
        return absl::InvalidArgumentError(
            absl::StrCat("fence option tables has ", internal::Quoted(table.name), " twice"));
      }
    }
  }
  for (const std::string& mover : movers) {
    const size_t at = mover.rfind('@');
    const bool exact = at != std::string::npos && at > 0 && at + 1 < mover.size() &&
                       mover.find('%', at) == std::string::npos;
    if (!exact || mover.size() > 384) {
      return absl::InvalidArgumentError(
          absl::StrCat("fence option movers has ", internal::Quoted(mover),
                       "; write NAME@HOST with an exact host, as USER() shows it"));
    }
  }
  return absl::OkStatus();
}

std::vector<GuardTrigger> GuardTriggersOf(const FenceOptions& options) {
  std::vector<GuardTrigger> triggers;
  for (const GuardedTable& table : options.tables) {
    for (const char* event : {"INSERT", "UPDATE", "DELETE"}) {
      std::string end = event;
      for (char& c : end) c = static_cast<char>(c | 0x20);
      triggers.push_back({absl::StrCat("locus_guard_", table.name, "_", end), table.name, event,
                          BodyOf(table, event, options.movers)});
    }
  }
  return triggers;
}

std::vector<FencedRange> FencedRangesOf(const RoutingTable& table, uint32_t shard) {
  std::vector<FencedRange> ranges;
  for (uint32_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    if (table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id != shard) continue;
    if (ranges.empty() || ranges.back().hi + 1 != vnode) ranges.push_back({vnode, vnode});
    ranges.back().hi = vnode;
  }
  return ranges;
}

}  // namespace locus
