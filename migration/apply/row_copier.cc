// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/row_copier.h"

#include <mysql.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "migration/apply/copy_sql.h"
#include "migration/apply/peer_bands.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/bound_statement.h"
#include "migration/mysql/primary.h"
#include "migration/stream/table_layout.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/answer.h"

namespace locus::mysql {

using internal::CopyKey;
using internal::Quoted;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;
using stream::ColumnKind;

absl::Status CopierOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(source.Check());
  LOCUS_RETURN_IF_ERROR(table.Check());
  auto refuse = [](const char* what, uint64_t value, const char* limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("copier option ", what, " is ", value, "; it must be ", limit));
  };
  LOCUS_RETURN_IF_ERROR(internal::CheckRanges("copier option ranges", ranges));
  if (least_rows < 1) return refuse("least_rows", least_rows, "at least 1");
  if (most_rows < least_rows || most_rows > 1'000'000) {
    return refuse("most_rows", most_rows, "least_rows to 1000000");
  }
  if (chunk_time < absl::Milliseconds(1) || chunk_time > absl::Minutes(1)) {
    return absl::InvalidArgumentError(absl::StrCat("copier option chunk_time is ",
                                                   absl::FormatDuration(chunk_time),
                                                   "; it must be 1ms to 1m"));
  }
  return absl::OkStatus();
}

// The connection to the source. Rows come by the binary protocol: as text a FLOAT loses digits.
class RowCopier::Reader {
 public:
  // `kept` outlives it.
  static absl::StatusOr<std::unique_ptr<Reader>> Open(const CopierOptions& options,
                                                      const CopierOptions& kept) {
    std::string place;
    LOCUS_ASSIGN_OR_RETURN(Handle handle, LogInToPrimary(options.source, place));
    std::unique_ptr<Reader> reader(new Reader(kept, std::move(handle), std::move(place)));
    LOCUS_RETURN_IF_ERROR(reader->SetUp());
    return reader;
  }

  const std::shared_ptr<stream::TableLayout>& layout() const { return layout_; }

  const internal::CopyWalk& walk() const { return walk_; }

  // The next rows of the ranges, up to the key `upto` if there is one. Each of the keys has the
  // walk's columns.
  absl::StatusOr<std::vector<stream::Row>> Read(const std::vector<FencedRange>& ranges,
                                                const std::optional<CopyKey>& behind,
                                                const std::optional<CopyKey>& upto, uint64_t rows) {
    return Select(Sql().Rows(ranges, behind.has_value(), upto.has_value(), rows), behind, upto,
                  *layout_);
  }
  // nullopt: there are not so many rows left.
  absl::StatusOr<std::optional<CopyKey>> KeyAfter(const std::optional<CopyKey>& behind,
                                                  uint64_t rows) {
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<stream::Row> found,
        Select(Sql().KeyAfter(behind.has_value(), rows), behind, {}, key_layout_));
    if (found.empty()) return std::optional<CopyKey>();
    return std::optional<CopyKey>(std::move(found[0]));
  }
  CopyKey KeyIn(const stream::Row& row) const {
    CopyKey key;
    for (size_t column : key_columns_) key.push_back(row[column]);
    return key;
  }
  absl::StatusOr<uint64_t> Estimate() {
    if (!walk_.by_vnode) {
      LOCUS_ASSIGN_OR_RETURN(
          Result table, Ask(absl::StrCat("SELECT TABLE_ROWS FROM information_schema.TABLES WHERE"
                                         " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
                                         SqlText(options_.table.guard.name)),
                            AtMostOneRow(1)));
      if (table.rows.empty()) return 0;  // being renamed, for instance
      return internal::ParseDecimal(table.rows[0][0].value_or(""), UINT64_MAX).value_or(0);
    }
    uint64_t rows = 0;
    // The most ranges in one statement that the server still looks up one by one.
    constexpr size_t kMost = 128;
    for (size_t i = 0; i < options_.ranges.size(); i += kMost) {
      const auto begin = options_.ranges.begin() + static_cast<ptrdiff_t>(i);
      const auto end = options_.ranges.begin() +
                       static_cast<ptrdiff_t>(std::min(i + kMost, options_.ranges.size()));
      // id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra
      LOCUS_ASSIGN_OR_RETURN(Result plan, Ask(Sql().Explain({begin, end}), OneRow(10)));
      rows += internal::ParseDecimal(plan.rows[0][8].value_or(""), UINT64_MAX).value_or(0);
    }
    return rows;
  }
  // `goes_on`: as ChooseWalk's.
  absl::Status Choose(std::optional<bool> goes_on) {
    walk_ = internal::ChooseWalk(options_.table, columns_, parts_, goes_on);
    if (goes_on && *goes_on != walk_.secondary()) {
      return absl::FailedPreconditionError(
          absl::StrCat("mariadb ", place_, ": the copy of ", Quoted(options_.table.guard.name),
                       " began in the order of an index of its ", options_.table.guard.gene, " or ",
                       options_.table.guard.order_id, " that is gone: create the index again"));
    }
    key_columns_.clear();
    key_layout_.columns.clear();
    for (const std::string& name : walk_.key) {
      for (size_t i = 0; i < layout_->columns.size(); ++i) {
        if (layout_->columns[i].name != name) continue;
        key_columns_.push_back(i);
        key_layout_.columns.push_back(layout_->columns[i]);
      }
    }
    if (key_columns_.size() == walk_.key.size()) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat("mariadb ", place_, ": table ",
                                                      Quoted(options_.table.guard.name),
                                                      " has not all columns of its key"));
  }

 private:
  Reader(const CopierOptions& options, Handle handle, std::string place)
      : options_(options), handle_(std::move(handle)), place_(std::move(place)) {}

  internal::ChunkSql Sql() const { return {options_.table, columns_, walk_, options_.cohorts}; }

  absl::StatusOr<std::vector<stream::Row>> Select(const std::string& text,
                                                  const std::optional<CopyKey>& behind,
                                                  const std::optional<CopyKey>& upto,
                                                  const stream::TableLayout& layout) {
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<BoundStatement> select,
                           BoundStatement::Prepare(handle_.get(), place_, text));
    for (const std::optional<CopyKey>& key : {std::cref(behind), std::cref(upto)}) {
      if (!key) continue;
      for (size_t part : internal::KeyParameters(key->size())) select->Bind((*key)[part]);
    }
    return select->ExecuteForRows(layout);
  }

  absl::StatusOr<Result> Ask(const std::string& statement, const Shape& shape) {
    Answer answer =
        mysql::Ask(handle_.get(), place_,
                   {statement,
                    {&shape, 1},
                    SteadyClock::now() + absl::ToChronoNanoseconds(options_.source.timeout)});
    LOCUS_RETURN_IF_ERROR(answer.results.status());
    return std::move((*answer.results)[0]);
  }

  // Such a column is read even where it is generated, because it says which shard the row belongs
  // to.
  bool SaysWhere(const std::string& column) const {
    const GuardedTable& guard = options_.table.guard;
    return guard.key == GuardedTable::Key::kGeneAndCohort &&
           (column == guard.gene || column == guard.cohort);
  }

  absl::Status SetUp() {
    LOCUS_RETURN_IF_ERROR(Ask("SET NAMES binary, time_zone = '+00:00', autocommit = 1,"
                              " sql_mode = 'ALLOW_INVALID_DATES', tx_isolation = 'READ-COMMITTED'",
                              kNoRows)
                              .status());
    LOCUS_ASSIGN_OR_RETURN(
        Result columns,
        Ask(absl::StrCat("SELECT ", internal::kSchemaColumns,
                         " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND"
                         " TABLE_NAME = ",
                         SqlText(options_.table.guard.name), " ORDER BY ORDINAL_POSITION"),
            Rows(internal::kSchemaColumnFields, stream::kMostColumns)));
    for (const Result::Row& row : columns.rows) {
      const internal::SchemaColumn found = internal::SchemaColumnIn(row);
      if (found.generated && !SaysWhere(found.name)) continue;
      LOCUS_ASSIGN_OR_RETURN(stream::Column column, internal::ColumnOf(found));
      columns_.push_back({found.name, column.kind, found.nullable, found.charset, found.collation,
                          internal::PrintedBytes(found.data_type)});
      layout_->columns.push_back(std::move(column));
    }
    LOCUS_ASSIGN_OR_RETURN(
        Result indexes,
        Ask(absl::StrCat("SELECT INDEX_NAME, COLUMN_NAME, SUB_PART IS NOT NULL FROM"
                         " information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND"
                         " INDEX_TYPE = 'BTREE' AND TABLE_NAME = ",
                         SqlText(options_.table.guard.name), " ORDER BY INDEX_NAME, SEQ_IN_INDEX"),
            Rows(3, stream::kMostColumns)));
    for (const Result::Row& row : indexes.rows) {
      parts_.push_back({row[0].value_or(""), row[1].value_or(""), row[2] != "0"});
    }
    if (!layout_->columns.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, " has no table ", Quoted(options_.table.guard.name)));
  }

  const CopierOptions& options_;
  Handle handle_;
  const std::string place_;
  const std::shared_ptr<stream::TableLayout> layout_ = std::make_shared<stream::TableLayout>();
  std::vector<internal::CopyColumn> columns_;  // of the layout
  std::vector<internal::IndexPart> parts_;
  internal::CopyWalk walk_;
  std::vector<size_t> key_columns_;  // of walk_.key, in the layout
  stream::TableLayout key_layout_;
};

RowCopier::RowCopier(const CopierOptions& options, ChangeApplier& target)
    : options_(options), target_(target), chunk_rows_(options.least_rows) {}

RowCopier::~RowCopier() = default;

absl::StatusOr<std::unique_ptr<RowCopier>> RowCopier::Open(const CopierOptions& options,
                                                           ChangeApplier& target) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  CopierOptions kept = options;
  kept.source = WithoutPassword(std::move(kept.source));
  std::unique_ptr<RowCopier> copier(new RowCopier(kept, target));
  LOCUS_ASSIGN_OR_RETURN(copier->reader_, Reader::Open(options, copier->options_));
  return copier;
}

absl::StatusOr<uint64_t> RowCopier::EstimateRows() {
  if (ahead_.valid()) ahead_.wait();
  return reader_->Estimate();
}

// Where the copy continues: "@" before a key in the order of a secondary index.
absl::Status RowCopier::GoTo(const std::string& position) {
  std::optional<bool> goes_on;
  std::string_view text = position;
  if (!text.empty()) goes_on = text.starts_with('@');
  if (goes_on.value_or(false)) text.remove_prefix(1);
  LOCUS_RETURN_IF_ERROR(reader_->Choose(goes_on));
  place_ = {};
  LOCUS_ASSIGN_OR_RETURN(place_.behind, internal::CopyKeyIn(text, reader_->walk().key.size()));
  if (!place_.behind || !reader_->walk().by_vnode) return absl::OkStatus();
  const auto gene = internal::GeneIn({(*place_.behind)[0]}, {}, options_.table.guard);
  size_t& range = place_.range;
  while (range < options_.ranges.size() && gene && options_.ranges[range].hi < *gene) ++range;
  return absl::OkStatus();
}

// Ranges may have few rows each, and each chunk is a durable commit.
absl::StatusOr<std::optional<RowCopier::Chunk>> RowCopier::ReadRanges(Place from,
                                                                      uint64_t chunk_rows) const {
  Chunk chunk{{}, std::move(from), {}};
  Place& at = chunk.end;
  while (at.range < options_.ranges.size() && chunk.rows.size() < chunk_rows) {
    const uint64_t wanted = chunk_rows - chunk.rows.size();
    LOCUS_ASSIGN_OR_RETURN(std::vector<stream::Row> rows,
                           reader_->Read({options_.ranges[at.range]}, at.behind, {}, wanted));
    if (!rows.empty()) at.behind = reader_->KeyIn(rows.back());
    // None is left in the range. Rows that clients insert there from now on come by the stream.
    if (rows.size() < wanted) ++at.range;
    std::move(rows.begin(), rows.end(), std::back_inserter(chunk.rows));
  }
  if (chunk.rows.empty()) return std::optional<Chunk>();
  return std::optional<Chunk>(std::move(chunk));
}

// Looks at all rows, even where few of them move. Each statement takes few enough to end soon.
absl::StatusOr<std::optional<RowCopier::Chunk>> RowCopier::ReadAll(Place from,
                                                                   uint64_t chunk_rows) const {
  if (from.done) return std::optional<Chunk>();
  Chunk chunk;
  LOCUS_ASSIGN_OR_RETURN(std::optional<CopyKey> upto,
                         reader_->KeyAfter(from.behind, chunk_rows - 1));
  LOCUS_ASSIGN_OR_RETURN(chunk.rows, reader_->Read(options_.ranges, from.behind, upto, chunk_rows));
  // Clients insert between the two statements: there may be more rows up to that key than one
  // reads.
  const bool full = chunk.rows.size() == chunk_rows;
  chunk.end.done = !full && !upto;
  if (chunk.end.done && chunk.rows.empty()) return std::optional<Chunk>();
  chunk.end.behind = full || !upto ? reader_->KeyIn(chunk.rows.back()) : *std::move(upto);
  return std::optional<Chunk>(std::move(chunk));
}

absl::StatusOr<std::optional<RowCopier::Chunk>> RowCopier::ReadBehind(Place from,
                                                                      uint64_t chunk_rows) const {
  const auto begun = SteadyClock::now();
  auto chunk = reader_->walk().by_vnode ? ReadRanges(std::move(from), chunk_rows)
                                        : ReadAll(std::move(from), chunk_rows);
  if (chunk.ok() && *chunk) (*chunk)->took = absl::FromChrono(SteadyClock::now() - begun);
  return chunk;
}

absl::StatusOr<std::optional<RowCopier::Chunk>> RowCopier::NextChunk() {
  if (ahead_.valid()) return ahead_.get();
  return ReadBehind(place_, chunk_rows_);
}

absl::StatusOr<bool> RowCopier::CopyChunk() {
  const std::string& table = options_.table.guard.name;
  while (options_.pause) {
    const absl::Duration wait = options_.pause();
    if (wait <= absl::ZeroDuration()) break;
    absl::SleepFor(std::min(wait, absl::Seconds(1)));
  }
  if (!begun_) {
    LOCUS_ASSIGN_OR_RETURN(const std::string position, target_.CopyPosition(table));
    LOCUS_RETURN_IF_ERROR(GoTo(position));
    begun_ = true;
  }
  LOCUS_ASSIGN_OR_RETURN(std::optional<Chunk> chunk, NextChunk());
  if (!chunk) return false;
  const std::string position = absl::StrCat(reader_->walk().secondary() ? "@" : "",
                                            internal::CopyKeyText(*chunk->end.behind));
  // Rows may be read early: the version rule decides when they are written. Where the system gives
  // no thread, the next call reads the chunk.
  ahead_ =
      std::async(std::launch::async | std::launch::deferred,
                 [this, from = chunk->end, rows = chunk_rows_] { return ReadBehind(from, rows); });
  const auto begun = SteadyClock::now();
  absl::Status status = options_.before_write ? options_.before_write() : absl::OkStatus();
  if (status.ok()) status = target_.ApplyCopied(table, reader_->layout(), chunk->rows, position);
  if (!status.ok()) {
    // The next call reads this chunk again, with the rows as they are then.
    ahead_.wait();
    ahead_ = {};
    return status;
  }
  place_ = std::move(chunk->end);
  rows_ += chunk->rows.size();
  // Chunks grow by a fixed number and shrink by half, so that several copies at once settle at even
  // parts. They double where a chunk takes far too little time.
  const absl::Duration took = std::max(chunk->took, absl::FromChrono(SteadyClock::now() - begun));
  chunk_rows_ = took > 2 * options_.chunk_time   ? chunk_rows_ / 2
                : took < options_.chunk_time / 4 ? chunk_rows_ * 2
                : took < options_.chunk_time     ? chunk_rows_ + 64
                                                 : chunk_rows_;
  chunk_rows_ = std::clamp(chunk_rows_, options_.least_rows, options_.most_rows);
  return true;
}

}  // namespace locus::mysql
