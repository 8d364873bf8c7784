// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/change_applier.h"

#include <algorithm>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "migration/cut_over/token.h"
#include "migration/cut_over/version_rule.h"
#include "migration/fence/guard_sql.h"
#include "src/base/backoff.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/engine/mariadb/answer.h"

namespace locus::mariadb {

using internal::ApplyVerdict;
using internal::Backoff;
using internal::BandFence;
using internal::Quoted;
using internal::RowState;
using internal::SqlText;
using stream::Change;
using stream::ChangeKind;
using stream::GtidPosition;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr char kCheckpoints[] = "locus_checkpoint";
constexpr char kCopies[] = "locus_copy";
constexpr char kFence[] = "locus_fence";
constexpr size_t kMostColumns = 4096;
// For losing against other transactions again and again.
constexpr std::chrono::seconds kPatience{60};

// Also the marker: every transaction of the tool raises `counter`, so a transaction of the log that
// has a row of this table is one of the tool's own.
constexpr char kCreateCheckpoints[] =
    "CREATE TABLE IF NOT EXISTS locus_checkpoint (\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  direction TINYINT UNSIGNED NOT NULL,\n"
    "  position TEXT CHARACTER SET ascii NOT NULL,\n"
    "  counter BIGINT UNSIGNED NOT NULL,\n"
    "  PRIMARY KEY (move, direction)\n"
    ") ENGINE = InnoDB";

// Likewise a marker, of the copier's transactions.
constexpr char kCreateCopies[] =
    "CREATE TABLE IF NOT EXISTS locus_copy (\n"
    "  move VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  tbl VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n"
    "  position TEXT CHARACTER SET ascii NOT NULL,\n"
    "  counter BIGINT UNSIGNED NOT NULL,\n"
    "  PRIMARY KEY (move, tbl)\n"
    ") ENGINE = InnoDB";

absl::StatusOr<uint64_t> NaturalIn(const stream::Row& row, const stream::TableLayout& layout,
                                   std::string_view name) {
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name != name) continue;
    if (auto* natural = std::get_if<uint64_t>(&row[i])) return *natural;
  }
  return absl::FailedPreconditionError(absl::StrCat("locus_fence has no number ", Quoted(name)));
}

// The token is {"share": p, "nonce": n} in the row; a change that lets go of nothing has NULL.
absl::StatusOr<BandFence> FenceIn(const stream::Row& row, const stream::TableLayout& layout) {
  BandFence fence;
  LOCUS_ASSIGN_OR_RETURN(uint64_t own_lo, NaturalIn(row, layout, "own_lo"));
  LOCUS_ASSIGN_OR_RETURN(uint64_t own_hi, NaturalIn(row, layout, "own_hi"));
  LOCUS_ASSIGN_OR_RETURN(fence.step, NaturalIn(row, layout, "step"));
  fence.own_lo = static_cast<uint32_t>(own_lo);
  fence.own_hi = static_cast<uint32_t>(own_hi);
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name != "token") continue;
    if (auto* text = std::get_if<stream::Bytes>(&row[i])) {
      auto [share, nonce] = internal::TokenIn(text->bytes);
      fence.token_share = share;
      fence.token_nonce = nonce;
    }
  }
  return fence;
}

bool IsMarker(std::string_view table) { return table == kCheckpoints || table == kCopies; }

}  // namespace

absl::Status ApplierOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(server.Check());
  if (move.empty() || move.size() > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("applier option move is ", Quoted(move), "; it must have 1 to 64 bytes"));
  }
  if (tables.empty()) return absl::InvalidArgumentError("applier option tables is empty");
  for (const MovedTable& table : tables) LOCUS_RETURN_IF_ERROR(table.Check());
  if (first > last || last > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("applier options first and last are ", first,
                                                   " and ", last,
                                                   "; they must be ascending, at most 65535"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ChangeApplier>> ChangeApplier::Open(const ApplierOptions& options,
                                                                   const GtidPosition& start) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::string place;
  LOCUS_ASSIGN_OR_RETURN(Handle handle,
                         LogInToAny(options.server, options.server.password.c_str(), place));
  ApplierOptions kept = options;
  kept.server = WithoutPassword(std::move(kept.server));
  std::unique_ptr<ChangeApplier> applier(
      new ChangeApplier(kept, std::move(handle), std::move(place)));
  LOCUS_RETURN_IF_ERROR(applier->SetUp(start));
  return applier;
}

ChangeApplier::ChangeApplier(const ApplierOptions& options, Handle handle, std::string place)
    : options_(options), handle_(std::move(handle)), place_(std::move(place)) {}

absl::Status ChangeApplier::Run(const std::string& statement) {
  Answer answer = Ask(handle_.get(), place_,
                      {statement,
                       {&kNoRows, 1},
                       SteadyClock::now() + absl::ToChronoNanoseconds(options_.server.timeout)});
  conflict_ = answer.conflict;
  return answer.results.status();
}

absl::Status ChangeApplier::SetUp(const GtidPosition& start) {
  // Text goes in as it came: bytes. READ COMMITTED: rows are found by their key, gaps need no lock.
  LOCUS_RETURN_IF_ERROR(
      Run("SET NAMES binary, time_zone = '+00:00', sql_mode ="
          " 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO', autocommit = 1,"
          " tx_isolation = 'READ-COMMITTED', foreign_key_checks = 1"));
  LOCUS_RETURN_IF_ERROR(Run(kCreateCheckpoints));
  LOCUS_RETURN_IF_ERROR(Run(kCreateCopies));
  LOCUS_RETURN_IF_ERROR(Run(CreateTombstones()));
  for (const MovedTable& table : options_.tables) LOCUS_RETURN_IF_ERROR(ReadTable(table));
  const std::string row = absl::StrCat("move = ", SqlText(options_.move),
                                       " AND direction = ", static_cast<int>(options_.recipient));
  LOCUS_RETURN_IF_ERROR(Run(absl::StrCat(
      "INSERT IGNORE INTO locus_checkpoint (move, direction, position, counter) VALUES (",
      SqlText(options_.move), ", ", static_cast<int>(options_.recipient), ", '", start.ToString(),
      "', 0)")));
  const Shape shape = OneRow(1);
  Answer answer = Ask(handle_.get(), place_,
                      {absl::StrCat("SELECT position FROM locus_checkpoint WHERE ", row),
                       {&shape, 1},
                       SteadyClock::now() + absl::ToChronoNanoseconds(options_.server.timeout)});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  absl::StatusOr<GtidPosition> found =
      GtidPosition::Parse((*answer.results)[0].rows[0][0].value_or(""));
  if (!found.ok()) {
    return absl::DataLossError(absl::StrCat("mariadb ", place_, ": the checkpoint of move ",
                                            Quoted(options_.move),
                                            " is no position: ", found.status().message()));
  }
  position_ = *found;
  return absl::OkStatus();
}

absl::Status ChangeApplier::ReadTable(const MovedTable& moved) {
  const Shape shape = Rows(2, kMostColumns);
  Answer answer =
      Ask(handle_.get(), place_,
          {absl::StrCat("SELECT COLUMN_NAME, IS_GENERATED FROM information_schema.COLUMNS WHERE"
                        " TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
                        SqlText(moved.guard.name), " ORDER BY ORDINAL_POSITION"),
           {&shape, 1},
           SteadyClock::now() + absl::ToChronoNanoseconds(options_.server.timeout)});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  Table table;
  table.target.moved = moved;
  for (const Result::Row& row : (*answer.results)[0].rows) {
    (row[1] == "ALWAYS" ? table.target.generated : table.target.writable)
        .push_back(row[0].value_or(""));
  }
  if (table.target.writable.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, " has no table ", Quoted(moved.guard.name)));
  }
  tables_.emplace(moved.guard.name, std::move(table));
  return absl::OkStatus();
}

bool ChangeApplier::Wants(std::string_view table) const {
  return table == kCheckpoints || table == kCopies || table == kFence || tables_.contains(table);
}

template <typename Undo, typename Work>
absl::Status ChangeApplier::Transact(Undo undo, Work work) {
  const auto give_up = SteadyClock::now() + kPatience;
  Backoff pauses({absl::Milliseconds(2), absl::Milliseconds(200), 0.5});
  while (true) {
    conflict_ = false;
    absl::Status status = Run("START TRANSACTION");
    if (status.ok()) status = work();
    if (status.ok()) status = Run("COMMIT");
    if (status.ok()) return status;
    const bool again = conflict_;
    // What the transaction did is undone by the server, too, where this does not reach it.
    Run("ROLLBACK").IgnoreError();
    LOCUS_RETURN_IF_ERROR(undo());
    if (!again || !SleepBeforeRetry(pauses, give_up)) return status;
  }
}

absl::Status ChangeApplier::Apply(stream::ChangeTransaction& transaction) {
  ApplierCounts counts;
  absl::Status status = Transact([&] { return transaction.Rewind(); },
                                 [&] {
                                   counts = counts_;
                                   return ApplyOnce(transaction, counts);
                                 });
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat(transaction.gtid().ToString(), ": ", status.message()));
  }
  counts_ = counts;
  position_.Set(transaction.gtid());
  return status;
}

absl::StatusOr<std::string> ChangeApplier::CopyPosition(const std::string& table) {
  const Shape shape = AtMostOneRow(1);
  Answer answer =
      Ask(handle_.get(), place_,
          {absl::StrCat("SELECT position FROM locus_copy WHERE move = ", SqlText(options_.move),
                        " AND tbl = ", SqlText(table)),
           {&shape, 1},
           SteadyClock::now() + absl::ToChronoNanoseconds(options_.server.timeout)});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  const Result& found = (*answer.results)[0];
  return found.rows.empty() ? std::string() : found.rows[0][0].value_or("");
}

absl::Status ChangeApplier::ApplyCopied(const std::string& table,
                                        const std::shared_ptr<const stream::TableLayout>& layout,
                                        const std::vector<stream::Row>& rows,
                                        const std::string& position) {
  auto found = tables_.find(table);
  if (found == tables_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", Quoted(table), " is none of the applier's"));
  }
  ApplierCounts counts;
  const absl::Status status =
      Transact([] { return absl::OkStatus(); },
               [&] {
                 counts = counts_;
                 return CopyOnce(found->second, layout, rows, position, counts);
               });
  if (status.ok()) counts_ = counts;
  return status;
}

absl::Status ChangeApplier::CopyOnce(Table& table,
                                     const std::shared_ptr<const stream::TableLayout>& layout,
                                     const std::vector<stream::Row>& rows,
                                     const std::string& position, ApplierCounts& counts) {
  // First: it is the marker by which the other direction knows the transaction.
  LOCUS_RETURN_IF_ERROR(Run(absl::StrCat(
      "INSERT INTO locus_copy (move, tbl, position, counter) VALUES (", SqlText(options_.move),
      ", ", SqlText(table.target.moved.guard.name), ", ", SqlText(position),
      ", 1) ON DUPLICATE KEY UPDATE position = VALUES(position), counter = counter + 1")));
  Change change;
  change.kind = ChangeKind::kInsert;
  change.table = layout;
  for (const stream::Row& row : rows) {
    change.after = row;
    LOCUS_RETURN_IF_ERROR(ApplyRow(table, change, counts));
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::ApplyOnce(stream::ChangeTransaction& transaction,
                                      ApplierCounts& counts) {
  GtidPosition behind = position_;
  behind.Set(transaction.gtid());
  // First: it is the marker by which the other direction knows the transaction.
  LOCUS_RETURN_IF_ERROR(SaveCheckpoint(behind));
  ++counts.transactions;
  Change change;
  for (bool first = true;; first = false) {
    LOCUS_ASSIGN_OR_RETURN(bool more, transaction.Next(change));
    if (!more) break;
    if (first && change.kind != ChangeKind::kSchema && IsMarker(change.table->table)) {
      ++counts.own;
      break;
    }
    LOCUS_RETURN_IF_ERROR(ApplyChange(change, counts));
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::SaveCheckpoint(const GtidPosition& position) {
  // An UPDATE to equal values would not be logged: the counter always changes.
  return Run(absl::StrCat("UPDATE locus_checkpoint SET position = '", position.ToString(),
                          "', counter = counter + 1 WHERE move = ", SqlText(options_.move),
                          " AND direction = ", static_cast<int>(options_.recipient)));
}

absl::Status ChangeApplier::ApplyChange(const Change& change, ApplierCounts& counts) {
  if (change.kind == ChangeKind::kSchema) return RefuseSchemaChange(change);
  if (change.table->table == kFence) return ApplyFence(change, counts);
  auto found = tables_.find(change.table->table);
  return found == tables_.end() ? absl::OkStatus() : ApplyRow(found->second, change, counts);
}

// A name in a statement may be meant otherwise; to stop once too often costs a look by an operator.
absl::Status ChangeApplier::RefuseSchemaChange(const Change& change) const {
  const std::string text = absl::AsciiStrToLower(change.statement);
  // Rights and statistics change no row and no column.
  for (absl::string_view harmless : {"grant ", "revoke ", "analyze ", "flush "}) {
    if (absl::StartsWith(text, harmless)) return absl::OkStatus();
  }
  for (const auto& [name, table] : tables_) {
    if (!absl::StrContains(text, absl::AsciiStrToLower(name))) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", Quoted(name),
        " may have been changed while it moves: ", internal::Printable(change.statement)));
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::MapTable(Table& table,
                                     const std::shared_ptr<const stream::TableLayout>& layout) {
  if (table.layout == layout) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(table.map, internal::MapRow(*layout, table.target));
  table.sql = internal::SqlOf(table.target, *layout, table.map);
  table.layout = layout;
  return absl::OkStatus();
}

absl::StatusOr<BoundStatement*> ChangeApplier::Statement(Table& table, const std::string& text) {
  std::unique_ptr<BoundStatement>& statement = table.statements[text];
  if (statement == nullptr) {
    LOCUS_ASSIGN_OR_RETURN(statement, BoundStatement::Prepare(handle_.get(), place_, text));
  }
  return statement.get();
}

absl::Status ChangeApplier::ApplyRow(Table& table, const Change& change, ApplierCounts& counts) {
  LOCUS_RETURN_IF_ERROR(MapTable(table, change.table));
  const bool deleted = change.kind == ChangeKind::kDelete;
  const stream::Row& row = deleted ? change.before : change.after;
  LOCUS_ASSIGN_OR_RETURN(uint64_t version, internal::VersionIn(row, table.map));
  if (deleted) ++version;
  if (change.kind == ChangeKind::kUpdate) {
    LOCUS_ASSIGN_OR_RETURN(uint64_t before, internal::VersionIn(change.before, table.map));
    if (version <= before) {
      return absl::DataLossError(absl::StrCat(
          "an UPDATE of ", Quoted(table.target.moved.guard.name), " left the version at ", version,
          ", it was ", before, ": the triggers of versions are missing"));
    }
  }
  const std::string tombstone = internal::TombstoneKey(row, table.map);
  // What stays of an error is whether the transaction may be repeated.
  auto number_of = [&](const std::string& text,
                       auto bind) -> absl::StatusOr<std::optional<uint64_t>> {
    LOCUS_ASSIGN_OR_RETURN(BoundStatement * statement, Statement(table, text));
    bind(*statement);
    auto number = statement->ExecuteForNumber();
    conflict_ = !number.ok() && statement->conflict();
    return number;
  };
  LOCUS_ASSIGN_OR_RETURN(std::optional<uint64_t> there,
                         number_of(table.sql.lock, [&](BoundStatement& statement) {
                           for (uint32_t key : table.map.key) statement.Bind(row[key]);
                         }));
  LOCUS_ASSIGN_OR_RETURN(std::optional<uint64_t> gone,
                         number_of(table.sql.lock_tombstone,
                                   [&](BoundStatement& statement) { statement.Bind(tombstone); }));
  const RowState local =
      there ? RowState{*there, false} : RowState{gone.value_or(0), gone.has_value()};
  bool same = false;
  if (there && *there == version && !deleted) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<uint64_t> equal,
                           number_of(table.sql.same, [&](BoundStatement& statement) {
                             for (uint32_t other : table.map.others) statement.Bind(row[other]);
                             for (uint32_t key : table.map.key) statement.Bind(row[key]);
                           }));
    same = equal.has_value();
  }
  switch (internal::JudgeIncoming({version, deleted}, local, same)) {
    case ApplyVerdict::kWrite:
      ++counts.written;
      return WriteRow(table, row, deleted, version, there.has_value());
    case ApplyVerdict::kSkip:
      ++counts.skipped;
      return absl::OkStatus();
    case ApplyVerdict::kConflict:
      break;
  }
  return absl::DataLossError(absl::StrCat(
      "the row ", Quoted(tombstone), " of ", Quoted(table.target.moved.guard.name), " has version ",
      version, " on both shards, with different contents: something wrote past ", "the guards"));
}

absl::Status ChangeApplier::WriteRow(Table& table, const stream::Row& row, bool deleted,
                                     uint64_t version, bool there) {
  auto change = [&](const std::string& text, auto bind) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(BoundStatement * statement, Statement(table, text));
    bind(*statement);
    auto changed = statement->Execute();
    conflict_ = !changed.ok() && statement->conflict();
    if (statement->error() != 1062) return changed.status();
    return absl::DataLossError(
        absl::StrCat("a row of ", Quoted(table.target.moved.guard.name),
                     " has a unique key of another row: ", changed.status().message()));
  };
  auto bind_key = [&](BoundStatement& statement) {
    for (uint32_t key : table.map.key) statement.Bind(row[key]);
  };
  auto bind_others = [&](BoundStatement& statement) {
    for (uint32_t other : table.map.others) statement.Bind(row[other]);
  };
  if (!deleted) {
    return change(there ? table.sql.update : table.sql.insert, [&](BoundStatement& statement) {
      if (!there) bind_key(statement);
      bind_others(statement);
      if (there) bind_key(statement);
    });
  }
  if (there) LOCUS_RETURN_IF_ERROR(change(table.sql.remove, bind_key));
  LOCUS_ASSIGN_OR_RETURN(internal::OrderPlace place,
                         internal::PlaceOf(row, *table.layout, table.target.moved.guard));
  const std::string tombstone = internal::TombstoneKey(row, table.map);
  return change(table.sql.put_tombstone, [&](BoundStatement& statement) {
    statement.Bind(tombstone);
    statement.Bind(version);
    statement.Bind(uint64_t{place.gene});
    statement.Bind(uint64_t{place.cohort});
  });
}

// The donor's row of the vnodes that move: where it lets go of a band, this shard takes it over.
// All writes that the donor allowed stand before it in the log, and have been applied.
absl::Status ChangeApplier::ApplyFence(const Change& change, ApplierCounts& counts) {
  if (change.kind != ChangeKind::kUpdate) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(uint64_t lo, NaturalIn(change.after, *change.table, "lo"));
  if (lo != options_.first) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(BandFence event, FenceIn(change.after, *change.table));
  const Shape shape = AtMostOneRow(4);
  Answer answer = Ask(handle_.get(), place_,
                      {absl::StrCat("SELECT own_lo, own_hi, step, hi FROM locus_fence WHERE lo = ",
                                    options_.first, " FOR UPDATE"),
                       {&shape, 1},
                       SteadyClock::now() + absl::ToChronoNanoseconds(options_.server.timeout)});
  conflict_ = answer.conflict;
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  const Result& found = (*answer.results)[0];
  int64_t numbers[4] = {};
  for (size_t i = 0; i < 4 && !found.rows.empty(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(numbers[i], NumberIn(found.rows[0], i, place_));
  }
  if (found.rows.empty() || numbers[3] != options_.last) {
    return absl::FailedPreconditionError(
        absl::StrCat("locus_fence has no row for vnodes ", options_.first, "-", options_.last));
  }
  const BandFence row{static_cast<uint32_t>(numbers[0]), static_cast<uint32_t>(numbers[1]),
                      static_cast<uint64_t>(numbers[2]), 0, 0};
  auto taken = internal::TakeOver(options_.recipient, row, event, RoutingTable::kMaxPermyriad);
  if (!taken) return absl::OkStatus();
  ++counts.taken_over;
  return Run(absl::StrCat("UPDATE locus_fence SET own_lo = ", taken->own_lo,
                          ", own_hi = ", taken->own_hi, ", step = ", taken->step,
                          ", token = NULL WHERE lo = ", options_.first, " AND step < ",
                          taken->step));
}

}  // namespace locus::mariadb
