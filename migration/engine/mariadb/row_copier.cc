// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/row_copier.h"

#include <mysql.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "migration/apply/copy_sql.h"
#include "migration/engine/mariadb/bound_statement.h"
#include "migration/fence/guard_sql.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/engine/mariadb/answer.h"

namespace locus::mariadb {

using internal::CopyKey;
using internal::Quoted;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;
using stream::ColumnKind;

namespace {

constexpr size_t kMostColumns = 4096;

}  // namespace

absl::Status CopierOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(source.Check());
  LOCUS_RETURN_IF_ERROR(table.Check());
  auto refuse = [](const char* what, uint64_t value, const char* limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("copier option ", what, " is ", value, "; it must be ", limit));
  };
  if (first > last || last > 65535) return refuse("last", last, "first to 65535");
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
    LOCUS_ASSIGN_OR_RETURN(Handle handle,
                           LogInToAny(options.source, options.source.password.c_str(), place));
    std::unique_ptr<Reader> reader(new Reader(kept, std::move(handle), std::move(place)));
    LOCUS_RETURN_IF_ERROR(reader->SetUp());
    return reader;
  }

  const std::shared_ptr<stream::TableLayout>& layout() const { return layout_; }

  absl::StatusOr<std::vector<stream::Row>> Read(const std::optional<CopyKey>& behind,
                                                uint64_t rows) {
    const std::string text = internal::SelectChunk(options_.table, *layout_, options_.first,
                                                   options_.last, behind.has_value(), rows);
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<BoundStatement> select,
                           BoundStatement::Prepare(handle_.get(), place_, text));
    if (behind) {
      for (size_t part : internal::KeyParameters(behind->size())) select->Bind((*behind)[part]);
    }
    return select->ExecuteForRows(*layout_);
  }

 private:
  Reader(const CopierOptions& options, Handle handle, std::string place)
      : options_(options), handle_(std::move(handle)), place_(std::move(place)) {}

  absl::StatusOr<Result> Ask(const std::string& statement, const Shape& shape) {
    Answer answer =
        mariadb::Ask(handle_.get(), place_,
                     {statement,
                      {&shape, 1},
                      SteadyClock::now() + absl::ToChronoNanoseconds(options_.source.timeout)});
    LOCUS_RETURN_IF_ERROR(answer.results.status());
    return std::move((*answer.results)[0]);
  }

  absl::Status SetUp() {
    LOCUS_RETURN_IF_ERROR(Ask("SET NAMES binary, time_zone = '+00:00', autocommit = 1,"
                              " tx_isolation = 'READ-COMMITTED'",
                              kNoRows)
                              .status());
    LOCUS_ASSIGN_OR_RETURN(
        Result columns,
        Ask(absl::StrCat("SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_GENERATED FROM"
                         " information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND"
                         " TABLE_NAME = ",
                         SqlText(options_.table.guard.name), " ORDER BY ORDINAL_POSITION"),
            Rows(4, kMostColumns)));
    for (const Result::Row& row : columns.rows) {
      if (row[3] == "ALWAYS") continue;
      stream::Column column;
      column.name = row[0].value_or("");
      LOCUS_ASSIGN_OR_RETURN(column.kind, internal::KindOf(row[1].value_or("")));
      column.is_unsigned = absl::StrContains(row[2].value_or(""), "unsigned");
      layout_->columns.push_back(std::move(column));
    }
    if (!layout_->columns.empty()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, " has no table ", Quoted(options_.table.guard.name)));
  }

  const CopierOptions& options_;
  Handle handle_;
  const std::string place_;
  const std::shared_ptr<stream::TableLayout> layout_ = std::make_shared<stream::TableLayout>();
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

absl::StatusOr<bool> RowCopier::CopyChunk() {
  if (done_) return false;
  const MovedTable& table = options_.table;
  LOCUS_ASSIGN_OR_RETURN(std::string position, target_.CopyPosition(table.guard.name));
  LOCUS_ASSIGN_OR_RETURN(std::optional<CopyKey> behind,
                         internal::CopyKeyIn(position, table.primary_key.size()));
  const auto begun = SteadyClock::now();
  LOCUS_ASSIGN_OR_RETURN(std::vector<stream::Row> rows, reader_->Read(behind, chunk_rows_));
  if (rows.empty()) {
    done_ = true;
    return false;
  }
  const std::shared_ptr<stream::TableLayout>& layout = reader_->layout();
  CopyKey key;
  for (const std::string& name : table.primary_key) {
    for (size_t i = 0; i < layout->columns.size(); ++i) {
      if (layout->columns[i].name == name) key.push_back(rows.back()[i]);
    }
  }
  LOCUS_RETURN_IF_ERROR(
      target_.ApplyCopied(table.guard.name, layout, rows, internal::CopyKeyText(key)));
  rows_ += rows.size();
  // More by a fixed number, fewer by half: many who copy at once settle at an even share.
  const absl::Duration took = absl::FromChrono(SteadyClock::now() - begun);
  chunk_rows_ = took > 2 * options_.chunk_time ? chunk_rows_ / 2
                : took < options_.chunk_time   ? chunk_rows_ + 64
                                               : chunk_rows_;
  chunk_rows_ = std::clamp(chunk_rows_, options_.least_rows, options_.most_rows);
  return true;
}

}  // namespace locus::mariadb
