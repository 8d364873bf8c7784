// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/verified_shard.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/primary.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::CheckedTable;
using internal::CopyKey;
using internal::ParseDecimal;
using internal::Quoted;
using internal::SeenValue;
using internal::Slice;
using internal::SqlText;
using internal::WalkColumn;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr size_t kMostColumns = 4096;
constexpr size_t kMostIndexColumns = 65 * 32;
// Of hashes: a slice's rows by the longest keys.
constexpr size_t kMostBytes = 512u << 20;
// Keys of one statement that reads whole rows.
constexpr size_t kKeysAtOnce = 50;

const char* NameOf(size_t side) { return side == 0 ? "source" : "target"; }

}  // namespace

absl::StatusOr<std::unique_ptr<VerifiedShard>> VerifiedShard::Open(
    const MysqlOptions& options, size_t side, std::vector<FencedRange> ranges) {
  std::string place;
  // With several hosts, the primary is compared. A single host is compared even if it is a replica.
  LOCUS_ASSIGN_OR_RETURN(Handle handle, options.hosts.size() > 1
                                            ? LogInToPrimary(options, place)
                                            : LogInToAny(options, options.password.c_str(), place));
  std::unique_ptr<VerifiedShard> shard(new VerifiedShard(std::move(handle), std::move(place), side,
                                                         std::move(ranges), options.timeout));
  LOCUS_RETURN_IF_ERROR(shard->SetUp());
  return shard;
}

absl::StatusOr<Result> VerifiedShard::Ask(const std::string& statement, const Shape& shape) {
  Answer answer = mysql::Ask(handle_.get(), place_,
                             {statement,
                              {&shape, 1},
                              SteadyClock::now() + absl::ToChronoNanoseconds(timeout_),
                              kMostBytes});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  return std::move((*answer.results)[0]);
}

absl::Status VerifiedShard::SetUp() {
  // max_statement_time ends a statement on the server once no caller waits for it.
  LOCUS_RETURN_IF_ERROR(Ask(absl::StrCat("SET ", kToolSession,
                                         ", NAMES binary, time_zone = '+00:00', sql_mode = "
                                         "'ALLOW_INVALID_DATES', autocommit = 1,"
                                         " tx_isolation = 'READ-COMMITTED', tx_read_only = 1,"
                                         " max_statement_time = ",
                                         WholeSeconds(timeout_)),
                            kNoRows)
                            .status());
  LOCUS_ASSIGN_OR_RETURN(Result found,
                         Ask("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA ="
                             " DATABASE() AND TABLE_NAME = 'locus_tombstone'",
                             OneRow(1)));
  has_tombstones_ = found.rows[0][0] == "1";
  return absl::OkStatus();
}

absl::StatusOr<internal::TableSchema> VerifiedShard::ReadSchema(const std::string& table) {
  const std::string where =
      absl::StrCat(" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ", SqlText(table));
  LOCUS_ASSIGN_OR_RETURN(Result columns,
                         Ask(absl::StrCat("SELECT ", internal::kSchemaColumns,
                                          " FROM information_schema.COLUMNS", where),
                             Rows(internal::kSchemaColumnFields, kMostColumns)));
  LOCUS_ASSIGN_OR_RETURN(
      Result parts,
      Ask(absl::StrCat("SELECT INDEX_NAME, COLUMN_NAME, SUB_PART FROM"
                       " information_schema.STATISTICS",
                       where, " AND INDEX_TYPE = 'BTREE' ORDER BY INDEX_NAME, SEQ_IN_INDEX"),
          Rows(3, kMostIndexColumns)));
  internal::TableSchema schema;
  for (const Result::Row& row : columns.rows) {
    schema.columns.push_back(internal::SchemaColumnIn(row));
  }
  for (const Result::Row& row : parts.rows) {
    const std::string name = row[0].value_or("");
    if (schema.indexes.empty() || schema.indexes.back().name != name) {
      schema.indexes.push_back({name, {}, false});
    }
    schema.indexes.back().columns.push_back(row[1].value_or(""));
    if (row[2]) schema.indexes.back().prefixes = true;
  }
  if (!schema.columns.empty()) return schema;
  return absl::FailedPreconditionError(
      absl::StrCat("the ", NameOf(side_), " mariadb ", place_, " has no table ", Quoted(table)));
}

absl::StatusOr<uint64_t> VerifiedShard::NaturalIn(const Result::Row& row, size_t column) const {
  if (row[column]) {
    if (auto number = ParseDecimal(*row[column], UINT64_MAX)) return *number;
  }
  return absl::DataLossError(absl::StrCat("mariadb ", place_, " holds ",
                                          Quoted(row[column].value_or("NULL")),
                                          " instead of a number that is not negative"));
}

absl::StatusOr<stream::Value> VerifiedShard::PartIn(const Result::Row& row, size_t column,
                                                    const WalkColumn& walk) const {
  if (!row[column]) {
    return absl::DataLossError(
        absl::StrCat("mariadb ", place_, " has a row whose ", Quoted(walk.name), " is NULL"));
  }
  if (walk.form == WalkColumn::Form::kInstant && !internal::InstantIn(*row[column])) {
    return absl::DataLossError(
        absl::StrCat("mariadb ", place_, " has a row whose ", Quoted(walk.name), " is no instant"));
  }
  if (walk.form != WalkColumn::Form::kInteger && walk.form != WalkColumn::Form::kMembers) {
    return stream::Value(stream::Bytes{*row[column]});
  }
  // Zeros that ZEROFILL shows are not of the number. Negative ones: there is no -0.
  const bool negative = row[column]->starts_with('-');
  std::string digits = row[column]->substr(negative ? 1 : 0);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  if (auto number = ParseDecimal(digits, UINT64_MAX)) {
    if (!negative) return stream::Value(*number);
    return stream::Value(static_cast<int64_t>(0 - *number));
  }
  return NaturalIn(row, column).status();
}

absl::StatusOr<std::optional<CopyKey>> VerifiedShard::Bound(const CheckedTable& table,
                                                            const Slice& slice, uint64_t rows) {
  LOCUS_ASSIGN_OR_RETURN(Result found,
                         Ask(internal::SelectBound(table, ranges_, slice, side_, rows),
                             AtMostOneRow(static_cast<unsigned>(table.walk.size()))));
  if (found.rows.empty()) return std::optional<CopyKey>();
  CopyKey key;
  for (size_t i = 0; i < table.walk.size(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(stream::Value part, PartIn(found.rows[0], i, table.walk[i]));
    key.push_back(std::move(part));
  }
  return std::optional<CopyKey>(std::move(key));
}

absl::Status VerifiedShard::TooLong(const CheckedTable& table, uint64_t rows) {
  LOCUS_ASSIGN_OR_RETURN(Result limit, Ask("SELECT @@max_allowed_packet", OneRow(1)));
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", place_, ": ", rows, " rows of ", Quoted(table.moved.guard.name),
      " have no checksum: their values in one line are longer than max_allowed_packet, ",
      limit.rows[0][0].value_or("NULL"), " bytes; raise it on the ", NameOf(side_)));
}

absl::StatusOr<SliceChecksum> VerifiedShard::Checksum(const CheckedTable& table, const Slice& slice,
                                                      uint64_t most) {
  LOCUS_ASSIGN_OR_RETURN(
      Result sum, Ask(internal::SelectChecksum(table, ranges_, slice, side_, most), OneRow(3)));
  SliceChecksum out;
  LOCUS_ASSIGN_OR_RETURN(out.rows, NaturalIn(sum.rows[0], 0));
  LOCUS_ASSIGN_OR_RETURN(uint64_t hashed, NaturalIn(sum.rows[0], 1));
  LOCUS_ASSIGN_OR_RETURN(out.checksum, NaturalIn(sum.rows[0], 2));
  if (hashed != out.rows) return TooLong(table, out.rows - hashed);
  return out;
}

absl::StatusOr<std::vector<HashedRow>> VerifiedShard::Hashes(const CheckedTable& table,
                                                             const Slice& slice, uint64_t most) {
  const size_t width = table.walk.size();
  LOCUS_ASSIGN_OR_RETURN(Result rows,
                         Ask(internal::SelectHashes(table, ranges_, slice, side_, most),
                             Rows(static_cast<unsigned>(width + 2), most)));
  std::vector<HashedRow> out;
  for (const Result::Row& row : rows.rows) {
    HashedRow& hashed = out.emplace_back();
    for (size_t i : table.key_in_walk) {
      LOCUS_ASSIGN_OR_RETURN(stream::Value part, PartIn(row, i, table.walk[i]));
      hashed.key.push_back(std::move(part));
    }
    LOCUS_ASSIGN_OR_RETURN(hashed.version, NaturalIn(row, width));
    if (!row[width + 1]) return TooLong(table, 1);
    hashed.hash = *row[width + 1];
  }
  return out;
}

absl::StatusOr<std::vector<SeenRow>> VerifiedShard::Look(const CheckedTable& table,
                                                         std::span<const CopyKey> keys,
                                                         bool with_values) {
  std::vector<SeenRow> out(keys.size());
  std::map<std::string, size_t> absent;  // by TombstoneKeyOf
  for (size_t i = 0; i < keys.size(); ++i) absent[internal::TombstoneKeyOf(keys[i])] = i;
  const size_t width = table.key_in_walk.size();
  const size_t of_value = with_values ? 3 : 2;
  const auto shape =
      Rows(static_cast<unsigned>(width + 1 + of_value * table.columns.size()), 2 * kKeysAtOnce);
  for (size_t begin = 0; begin < keys.size(); begin += kKeysAtOnce) {
    const auto some = keys.subspan(begin, std::min(kKeysAtOnce, keys.size() - begin));
    LOCUS_ASSIGN_OR_RETURN(Result rows, Ask(internal::SelectRows(table, some, with_values), shape));
    for (const Result::Row& row : rows.rows) {
      CopyKey key;
      for (size_t i = 0; i < width; ++i) {
        LOCUS_ASSIGN_OR_RETURN(stream::Value part,
                               PartIn(row, i, table.walk[table.key_in_walk[i]]));
        key.push_back(std::move(part));
      }
      // A collation may find a row by a key that is not its own: 'a' and 'a '.
      auto at = absent.find(internal::TombstoneKeyOf(key));
      if (at == absent.end()) continue;
      SeenRow& seen = out[at->second];
      absent.erase(at);
      seen.state.deleted = false;
      LOCUS_ASSIGN_OR_RETURN(seen.state.version, NaturalIn(row, width));
      for (size_t i = width + 1; i < row.size(); i += of_value) {
        auto& value = seen.values.emplace_back();
        if (!row[i] || !row[i + 1]) continue;
        value.emplace();
        LOCUS_ASSIGN_OR_RETURN(value->bytes, NaturalIn(row, i));
        value->hash = *row[i + 1];
        if (with_values) value->shown = row[i + 2];
      }
    }
  }
  LOCUS_RETURN_IF_ERROR(FindTombstones(table, absent, out));
  return out;
}

absl::StatusOr<bool> VerifiedShard::Keep(const CheckedTable& table, const CopyKey& key,
                                         absl::Duration patience) {
  // Of transactions that have written nothing the latter is asked first.
  LOCUS_RETURN_IF_ERROR(Ask("SET SESSION idle_transaction_timeout = 2,"
                            " idle_readonly_transaction_timeout = 2",
                            kNoRows)
                            .status());
  LOCUS_RETURN_IF_ERROR(Ask("START TRANSACTION READ WRITE", kNoRows).status());
  const auto width = static_cast<unsigned>(table.key_in_walk.size() + 1 + 2 * table.columns.size());
  const absl::StatusOr<Result> kept = Ask(
      absl::StrCat("SET STATEMENT max_statement_time = ", absl::ToDoubleSeconds(patience), " FOR ",
                   internal::SelectRows(table, {&key, 1}, false), " LOCK IN SHARE MODE"),
      AtMostOneRow(width));
  if (absl::IsUnavailable(kept.status())) return false;  // LetGo says so of a broken connection
  LOCUS_RETURN_IF_ERROR(kept.status());
  return !kept->rows.empty();
}

absl::Status VerifiedShard::LetGo() { return Ask("ROLLBACK", kNoRows).status(); }

absl::Status VerifiedShard::FindTombstones(const CheckedTable& table,
                                           const std::map<std::string, size_t>& keys,
                                           std::vector<SeenRow>& out) {
  if (!has_tombstones_) return absl::OkStatus();
  for (auto next = keys.begin(); next != keys.end();) {
    std::vector<std::string> some;
    for (; next != keys.end() && some.size() < kKeysAtOnce; ++next) some.push_back(next->first);
    LOCUS_ASSIGN_OR_RETURN(Result rows,
                           Ask(internal::SelectTombstones(table, some), Rows(2, some.size())));
    for (const Result::Row& row : rows.rows) {
      auto at = keys.find(row[0].value_or(""));
      if (at == keys.end()) continue;
      LOCUS_ASSIGN_OR_RETURN(out[at->second].state.version, NaturalIn(row, 1));
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
