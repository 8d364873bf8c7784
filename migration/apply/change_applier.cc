// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/change_applier.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"
#include "migration/apply/fence_changes.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/mysql/marker_tables.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Backoff;
using internal::BandFence;
using internal::Quoted;
using internal::SqlText;
using stream::Change;
using stream::ChangeKind;
using stream::GtidPosition;
using SteadyClock = std::chrono::steady_clock;

namespace {

// The most that one transaction of the shard covers: transactions and stored bytes of the log, and
// rows in memory before they are sent. The latter are far below max_allowed_packet.
constexpr size_t kMostBatch = 4096;
constexpr uint64_t kMostBatchBytes = 4 << 20;
constexpr uint64_t kMostPending = 4096;
constexpr size_t kMostPendingBytes = 4 << 20;
// How often a transaction is repeated whose rows another session inserted at the same time.
constexpr int kMostInTheWay = 2;
// How old a checkpoint may become while there is nothing to apply. A newer one would only save a
// restart the reading of transactions without rows.
constexpr std::chrono::seconds kRaisePause{1};

// For a token that waits for writers of its shard. Other writers queue behind it, so it tries less
// often.
constexpr Backoff::Policy kTokenPauses{absl::Milliseconds(150), absl::Seconds(1), 0.5};

// The bands that the other shard accepts before the first step.
internal::Bands BandsOf(const ApplierOptions& options) {
  const BandFence whole =
      internal::Owned(internal::Other(options.recipient), 0, RoutingTable::kMaxPermyriad);
  internal::Bands bands;
  for (size_t i = 0; i < options.ranges.size(); ++i) {
    const BandFence& fence = options.peer.empty() ? whole : options.peer[i];
    bands.push_back({fence.own_lo, fence.own_hi});
  }
  return bands;
}

}  // namespace

absl::Status ApplierOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(server.Check());
  if (move.empty() || move.size() > 64) {
    return absl::InvalidArgumentError(
        absl::StrCat("applier option move is ", Quoted(move), "; it must have 1 to 64 bytes"));
  }
  if (tables.empty()) return absl::InvalidArgumentError("applier option tables is empty");
  for (const MovedTable& table : tables) LOCUS_RETURN_IF_ERROR(table.Check());
  LOCUS_RETURN_IF_ERROR(internal::CheckRanges("applier option ranges", ranges));
  if (!peer.empty() && peer.size() != ranges.size()) {
    return absl::InvalidArgumentError(absl::StrCat("applier option peer has ", peer.size(),
                                                   " bands; it must have none, or one for each of ",
                                                   ranges.size(), " ranges"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ChangeApplier>> ChangeApplier::Open(const ApplierOptions& options,
                                                                   const GtidPosition& start) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TargetSession> session,
                         TargetSession::Open(options.server));
  ApplierOptions kept = options;
  kept.server = WithoutPassword(std::move(kept.server));
  std::unique_ptr<ChangeApplier> applier(new ChangeApplier(kept, std::move(session)));
  LOCUS_RETURN_IF_ERROR(applier->SetUp(start));
  return applier;
}

ChangeApplier::ChangeApplier(const ApplierOptions& options, std::unique_ptr<TargetSession> session)
    : options_(options), session_(std::move(session)), writer_(*session_) {}

absl::Status ChangeApplier::SetUp(const GtidPosition& start) {
  for (const std::string& create : CreateMarkerTables())
    LOCUS_RETURN_IF_ERROR(session_->Run(create));
  LOCUS_RETURN_IF_ERROR(MakeTombstones());
  for (const MovedTable& table : options_.tables) LOCUS_RETURN_IF_ERROR(writer_.AddTable(table));
  LOCUS_RETURN_IF_ERROR(InsertMarker(absl::StrCat(
      "INSERT IGNORE INTO ", kCheckpoints,
      " (move, direction, run, position, bands, counter) VALUES (", SqlText(options_.move), ", ",
      static_cast<int>(options_.recipient), ", ", options_.run, ", '", start.ToString(), "', '",
      internal::BandsText(options_.ranges, BandsOf(options_)), "', 0)")));
  return ReadCheckpoint();
}

absl::Status ChangeApplier::MakeTombstones() {
  LOCUS_ASSIGN_OR_RETURN(Result old,
                         session_->Query(internal::kFindOldTombstones, AtMostOneRow(1)));
  if (!old.rows.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", session_->place(), ": ", internal::kOldTombstones));
  }
  const std::vector<std::string> create = CreateTombstones();
  LOCUS_RETURN_IF_ERROR(session_->Run(create.front()));
  // All of them are made by one statement.
  LOCUS_ASSIGN_OR_RETURN(
      Result last, session_->Query(absl::StrCat(internal::kCountPosts,
                                                " AND bucket = ", internal::kTombstoneBuckets - 1),
                                   OneRow(1)));
  return last.rows[0][0] == "1" ? absl::OkStatus() : session_->Run(create.back());
}

// The row of locus_run is read with a lock, so a runner that takes over either waits for the new
// marker, or is found here.
absl::Status ChangeApplier::InsertMarker(const std::string& insert) {
  return session_->Transact([&]() -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(
        Result found, session_->Query(absl::StrCat("SELECT run FROM ", kRuns, " WHERE move = ",
                                                   SqlText(options_.move), " LOCK IN SHARE MODE"),
                                      AtMostOneRow(1)));
    if (!found.rows.empty() && found.rows[0][0] != absl::StrCat(options_.run)) {
      return TakenOver(session_->place(), options_.move);
    }
    return session_->Run(insert);
  });
}

absl::Status ChangeApplier::RaiseMarker(const std::string& update) {
  LOCUS_ASSIGN_OR_RETURN(
      Result done, session_->Query(absl::StrCat(update, " AND run = ", options_.run), kNoRows));
  return done.affected == 1 ? absl::OkStatus() : TakenOver(session_->place(), options_.move);
}

absl::Status ChangeApplier::ReadCheckpoint() {
  LOCUS_ASSIGN_OR_RETURN(
      Result found,
      session_->Query(absl::StrCat("SELECT position, bands, ping, run FROM ", kCheckpoints,
                                   " WHERE move = ", SqlText(options_.move),
                                   " AND direction = ", static_cast<int>(options_.recipient)),
                      AtMostOneRow(4)));
  // No row: another run has ended the move since it was written.
  if (found.rows.empty() || found.rows[0][3] != absl::StrCat(options_.run)) {
    return TakenOver(session_->place(), options_.move);
  }
  const Result::Row& row = found.rows[0];
  auto unreadable = [&](const absl::Status& why) {
    return absl::DataLossError(absl::StrCat("mariadb ", session_->place(),
                                            ": the checkpoint of move ", Quoted(options_.move),
                                            " cannot be read: ", why.message()));
  };
  absl::StatusOr<stream::StreamPosition> position =
      stream::StreamPosition::Parse(row[0].value_or(""));
  if (!position.ok()) return unreadable(position.status());
  absl::StatusOr<internal::Bands> bands = internal::BandsIn(row[1].value_or(""), options_.ranges);
  if (!bands.ok()) return unreadable(bands.status());
  position_ = position->gtids;
  file_ = position->file;
  bands_ = *std::move(bands);
  counts_.ping = internal::ParseDecimal(row[2].value_or(""), UINT64_MAX).value_or(0);
  return absl::OkStatus();
}

bool ChangeApplier::Wants(std::string_view table) const {
  return IsMarker(table) || table == kFence || table == kRuns || writer_.Find(table) != nullptr;
}

ChangeApplier::Kind ChangeApplier::KindOf(const stream::ChangeTransaction& transaction) {
  const bool large = transaction.bytes() > kMostBatchBytes;
  const bool prepared = transaction.xa() == stream::XaPart::kPrepare && !transaction.empty();
  if (large || prepared || transaction.has_statement() || transaction.Names(kFence)) {
    return Kind::kAlone;
  }
  return transaction.Names(kRuns) ? Kind::kLast : Kind::kRows;
}

bool ChangeApplier::Hurries(const stream::ChangeTransaction& transaction) {
  return transaction.Names(kFence) || transaction.Names(kRuns);
}

size_t ChangeApplier::GroupSize(std::span<stream::ChangeTransaction> transactions) const {
  if (together_) return transactions.size();
  const size_t most = in_order_ > 0 ? 1 : std::min<size_t>(batch_, transactions.size());
  uint64_t bytes = 0;
  for (size_t i = 0; i < most; ++i) {
    const Kind kind = KindOf(transactions[i]);
    if (kind == Kind::kAlone) return std::max<size_t>(i, 1);
    bytes += transactions[i].bytes();
    if (kind == Kind::kLast || bytes > kMostBatchBytes) return i + 1;
  }
  return most;
}

absl::Status ChangeApplier::Apply(std::span<stream::ChangeTransaction> transactions) {
  auto give_up = SteadyClock::now() + TargetSession::kPatience;
  Backoff pauses = TargetSession::Pauses(), token_pauses(kTokenPauses);
  int in_the_way = 0;
  while (!transactions.empty()) {
    const size_t size = GroupSize(transactions);
    if (PassesBy(transactions.first(size))) {
      transactions = transactions.subspan(size);
      continue;
    }
    const absl::Status status = ApplyGroup(transactions.first(size));
    if (status.ok()) {
      transactions = transactions.subspan(size);
      in_order_ -= std::min(in_order_, size);
      batch_ = std::min(2 * batch_, kMostBatch);
      give_up = SteadyClock::now() + TargetSession::kPatience;
      pauses.Reset();
      token_pauses.Reset();
      in_the_way = 0;
      continue;
    }
    if (session_->conflict()) {
      // A smaller batch takes fewer locks and keeps them for a shorter time.
      batch_ = std::max<size_t>(size / 4, 1);
      const bool token = transactions[0].Names(kFence);
      if (Pause(token ? token_pauses : pauses, give_up)) continue;
    } else if (absl::IsDataLoss(status) && in_order_ == 0 && !together_) {
      // The row in the way may be of this batch: one row gave a unique value to another. So the
      // transactions are applied one after the other, up to the one that fails.
      in_order_ = size;
      continue;
    } else if (writer_.order_matters() && ++in_the_way <= kMostInTheWay) {
      // Another session of the move may have written the same row in between; the next try reads
      // it.
      continue;
    }
    if (IsTakenOver(status)) return status;
    return stream::Prefixed(absl::StrCat(transactions[0].gtid().ToString(), ": "), status);
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::ApplyTogether(std::span<stream::ChangeTransaction> transactions) {
  together_ = true;
  in_order_ = 0;
  const absl::Status status = Apply(transactions);
  together_ = false;
  return status;
}

bool ChangeApplier::Has(const stream::ChangeTransaction& transaction) const {
  const std::optional<stream::Gtid> last = position_.Of(transaction.gtid().domain);
  return last && last->sequence >= transaction.gtid().sequence;
}

bool ChangeApplier::Pause(Backoff& pauses, SteadyClock::time_point give_up) const {
  return (options_.stop == nullptr || !*options_.stop) && SleepBeforeRetry(pauses, give_up);
}

bool ChangeApplier::PassesBy(std::span<const stream::ChangeTransaction> transactions) {
  if (together_ || in_order_ > 0 || SteadyClock::now() - raised_at_ >= kRaisePause) return false;
  uint64_t own = 0;
  for (const stream::ChangeTransaction& transaction : transactions) {
    const bool is_own = transaction.Names(kCheckpoints) || transaction.Names(kCopies);
    if (KindOf(transaction) != Kind::kRows || !(is_own || transaction.empty())) return false;
    own += is_own;
  }
  for (const stream::ChangeTransaction& transaction : transactions) {
    position_.Set(transaction.gtid());
  }
  file_ = transactions.back().end().file;
  counts_.transactions += transactions.size();
  counts_.own += own;
  return true;
}

absl::Status ChangeApplier::ApplyGroup(std::span<stream::ChangeTransaction> transactions) {
  Attempt attempt{counts_, {}, bands_, rogue_text_, unguarded_text_, {}, false};
  const absl::Status status =
      session_->TransactOnce([&] { return ApplyOnce(transactions, attempt); });
  writer_.Forget();
  LOCUS_RETURN_IF_ERROR(status);
  raised_at_ = SteadyClock::now();
  counts_ = attempt.counts;
  counts_.written += attempt.rows.written;
  counts_.skipped += attempt.rows.skipped;
  bands_ = std::move(attempt.bands);
  rogue_text_ = std::move(attempt.rogue_text);
  unguarded_text_ = std::move(attempt.unguarded_text);
  for (const stream::ChangeTransaction& transaction : transactions) {
    position_.Set(transaction.gtid());
  }
  file_ = transactions.back().end().file;
  return absl::OkStatus();
}

absl::StatusOr<std::string> ChangeApplier::CopyPosition(const std::string& table) {
  const std::string select =
      absl::StrCat("SELECT position, run FROM ", kCopies, " WHERE move = ", SqlText(options_.move),
                   " AND tbl = ", SqlText(table));
  LOCUS_ASSIGN_OR_RETURN(Result found, session_->Query(select, AtMostOneRow(2)));
  if (found.rows.empty()) {
    LOCUS_RETURN_IF_ERROR(InsertMarker(absl::StrCat(
        "INSERT IGNORE INTO ", kCopies, " (move, tbl, run, position, counter) VALUES (",
        SqlText(options_.move), ", ", SqlText(table), ", ", options_.run, ", '', 0)")));
    LOCUS_ASSIGN_OR_RETURN(found, session_->Query(select, AtMostOneRow(2)));
  }
  // No row: another run has ended the move since.
  if (found.rows.empty() || found.rows[0][1] != absl::StrCat(options_.run)) {
    return TakenOver(session_->place(), options_.move);
  }
  return found.rows[0][0].value_or("");
}

absl::Status ChangeApplier::ApplyCopied(const std::string& table,
                                        const std::shared_ptr<const stream::TableLayout>& layout,
                                        const std::vector<stream::Row>& rows,
                                        const std::string& position) {
  RowWriter::Table* found = writer_.Find(table);
  if (found == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", Quoted(table), " is none of the applier's"));
  }
  const auto give_up = SteadyClock::now() + TargetSession::kPatience;
  Backoff pauses = TargetSession::Pauses();
  for (int in_the_way = 0;;) {
    const bool fresh = copy_is_fresh_;
    RowWriter::Counts counts;
    const absl::Status status = session_->TransactOnce([&] {
      return CopyOnce(*found, layout, rows, position,
                      fresh ? RowWriter::Source::kFreshCopy : RowWriter::Source::kCopy, counts);
    });
    writer_.Forget();
    if (status.ok()) {
      counts_.written += counts.written;
      counts_.skipped += counts.skipped;
      copy_is_fresh_ = counts.skipped == 0;
      return status;
    }
    copy_is_fresh_ = false;
    if (fresh && (session_->conflict() || writer_.order_matters())) continue;
    if (session_->conflict() && Pause(pauses, give_up)) continue;
    // The stream's session may have written the same row in between; the next try reads it.
    if (writer_.order_matters() && ++in_the_way <= kMostInTheWay) continue;
    return status;
  }
}

absl::Status ChangeApplier::CopyOnce(RowWriter::Table& table,
                                     const std::shared_ptr<const stream::TableLayout>& layout,
                                     const std::vector<stream::Row>& rows,
                                     const std::string& position, RowWriter::Source source,
                                     RowWriter::Counts& counts) {
  // First: it is the marker by which the other direction knows the transaction.
  LOCUS_RETURN_IF_ERROR(
      RaiseMarker(absl::StrCat("UPDATE ", kCopies, " SET position = ", SqlText(position),
                               ", counter = counter + 1 WHERE move = ", SqlText(options_.move),
                               " AND tbl = ", SqlText(table.moved().guard.name))));
  LOCUS_RETURN_IF_ERROR(writer_.Use(table, layout, counts));
  for (const stream::Row& row : rows) {
    LOCUS_ASSIGN_OR_RETURN(const uint64_t version, internal::VersionIn(row, table.map()));
    writer_.Add(table, row, {version, false});
    if (writer_.pending_bytes() < kMostPendingBytes) continue;
    LOCUS_RETURN_IF_ERROR(writer_.Flush(source, counts));
  }
  return writer_.Flush(source, counts);
}

absl::Status ChangeApplier::ApplyOnce(std::span<stream::ChangeTransaction> transactions,
                                      Attempt& attempt) {
  stream::StreamPosition behind{position_, transactions.back().end().file};
  bool has_rows = false;
  for (const stream::ChangeTransaction& transaction : transactions) {
    behind.gtids.Set(transaction.gtid());
    for (const MovedTable& table : options_.tables) {
      has_rows = has_rows || transaction.Names(table.guard.name);
    }
  }
  // An UPDATE to equal values would not be logged: the counter always changes.
  auto raise = [&](const std::string& set) {
    return RaiseMarker(absl::StrCat("UPDATE ", kCheckpoints, " SET ", set,
                                    "counter = counter + 1 WHERE move = ", SqlText(options_.move),
                                    " AND direction = ", static_cast<int>(options_.recipient)));
  };
  const std::string position = absl::StrCat("position = ", SqlText(behind.ToString()), ", ");
  // Before all rows: it is the marker by which the other direction knows the transaction.
  if (has_rows) LOCUS_RETURN_IF_ERROR(raise(position));
  Change change;
  for (stream::ChangeTransaction& transaction : transactions) {
    LOCUS_RETURN_IF_ERROR(transaction.Rewind());
    attempt.own = false;
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(bool more, transaction.Next(change));
      if (!more) break;
      LOCUS_RETURN_IF_ERROR(transaction.xa() == stream::XaPart::kPrepare
                                ? PassPrepared(change, transaction.xid(), attempt)
                                : ApplyChange(change, attempt));
    }
    ++attempt.counts.transactions;
    if (attempt.own) ++attempt.counts.own;
  }
  LOCUS_RETURN_IF_ERROR(writer_.Flush(RowWriter::Source::kStream, attempt.rows, together_));
  std::string seen;
  if (attempt.bands != bands_ || attempt.counts.ping != counts_.ping) {
    seen = absl::StrCat("bands = '", internal::BandsText(options_.ranges, attempt.bands),
                        "', ping = ", attempt.counts.ping, ", ");
  }
  // Writers wait for a token by itself, so its transaction writes the checkpoint only once.
  if (!has_rows) LOCUS_RETURN_IF_ERROR(raise(position + seen));
  LOCUS_ASSIGN_OR_RETURN(const uint64_t taken_over, TakeOverBands(*session_, options_.recipient,
                                                                  options_.ranges, attempt.tokens));
  attempt.counts.taken_over += taken_over;
  return has_rows && !seen.empty() ? raise(seen) : absl::OkStatus();
}

absl::Status ChangeApplier::ApplyChange(Change& change, Attempt& attempt) {
  if (change.kind == ChangeKind::kStatement) return JudgeStatement(change.statement, attempt);
  const std::string& name = change.table->table;
  // The tools raise their markers before they write rows.
  if (IsMarker(name)) attempt.own = true;
  if (name == kFence) return NoteFence(change, options_.ranges, attempt.bands, attempt.tokens);
  if (name == kRuns) return NotePing(change, attempt);
  RowWriter::Table* table = writer_.Find(name);
  if (attempt.own || table == nullptr) return absl::OkStatus();
  return ApplyRow(*table, change, attempt);
}

absl::Status ChangeApplier::ApplyRow(RowWriter::Table& table, Change& change, Attempt& attempt) {
  LOCUS_RETURN_IF_ERROR(writer_.Use(table, change.table, attempt.rows));
  const GuardedTable& guard = table.moved().guard;
  const bool deleted = change.kind == ChangeKind::kDelete;
  stream::Row& row = deleted ? change.before : change.after;
  const std::optional<uint32_t> gene = internal::GeneIn(row, table.map(), guard);
  const std::optional<size_t> range =
      gene ? internal::RangeOf(options_.ranges, *gene) : std::nullopt;
  if (!range) return absl::OkStatus();
  const auto place = internal::PlaceOf(row, table.map(), guard);
  const internal::Band& band = attempt.bands[*range];
  if (!place.ok() || !band.Has(place->cohort)) {
    ++attempt.counts.rogue;
    attempt.rogue_text = absl::StrCat(
        internal::ToAbsl(stream::ToString(change.kind)), " of row ",
        Quoted(internal::TombstoneKey(row, table.map())), " of ", Quoted(guard.name), " in vnode ",
        *gene, ": ",
        place.ok() ? absl::StrCat("its cohort is ", place->cohort, ", the shard accepted ",
                                  band.own_lo, " to below ", band.own_hi)
                   : std::string(place.status().message()));
    return absl::OkStatus();
  }
  LOCUS_ASSIGN_OR_RETURN(uint64_t version, internal::VersionIn(row, table.map()));
  if (deleted) ++version;
  if (change.kind == ChangeKind::kUpdate) {
    LOCUS_RETURN_IF_ERROR(CheckUpdate(table, change, version));
  }
  writer_.Add(table, std::move(row), {version, deleted});
  const bool full =
      writer_.pending() >= kMostPending || writer_.pending_bytes() >= kMostPendingBytes;
  return (full && !together_) || in_order_ > 0
             ? writer_.Flush(RowWriter::Source::kStream, attempt.rows)
             : absl::OkStatus();
}

absl::Status ChangeApplier::CheckUpdate(const RowWriter::Table& table, const Change& change,
                                        uint64_t version) const {
  const std::string& name = table.moved().guard.name;
  LOCUS_ASSIGN_OR_RETURN(uint64_t before, internal::VersionIn(change.before, table.map()));
  if (version <= before) {
    return absl::DataLossError(absl::StrCat("an UPDATE of ", Quoted(name), " left the version at ",
                                            version, ", it was ", before,
                                            ": the triggers of versions are missing"));
  }
  for (uint32_t key : table.map().key) {
    if (change.before[key] == change.after[key]) continue;
    return absl::DataLossError(absl::StrCat("an UPDATE of ", Quoted(name),
                                            " changed the primary key of a row: the",
                                            " triggers of versions are missing"));
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::NotePing(const Change& change, Attempt& attempt) const {
  if (change.kind == ChangeKind::kDelete) return absl::OkStatus();
  for (size_t i = 0; i < change.table->columns.size(); ++i) {
    if (change.table->columns[i].name != "move") continue;
    if (change.after[i] != stream::Value(stream::Bytes{options_.move})) return absl::OkStatus();
  }
  LOCUS_ASSIGN_OR_RETURN(attempt.counts.ping, NaturalIn(change.after, *change.table, "ping"));
  return absl::OkStatus();
}

}  // namespace locus::mysql
