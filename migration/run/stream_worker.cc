// SPDX-License-Identifier: Apache-2.0
#include "migration/run/stream_worker.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/binlog_reader.h"
#include "migration/mysql/change_batch.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/band_rows.h"
#include "migration/run/prepared_xa.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::MutexLock;
using internal::Side;
using stream::ChangeTransaction;
using stream::GtidPosition;
using SteadyClock = std::chrono::steady_clock;

namespace {

// How long the thread may take to notice that it is to end.
constexpr std::chrono::milliseconds kGlance{200};
// Between two looks at candidates.
constexpr std::chrono::milliseconds kCandidatePause{10};
// After this time two rows really have one unique value at once.
constexpr std::chrono::seconds kUniqueValuePatience{30};
// Of what waits for candidates.
constexpr size_t kMostHeld = 100'000;
constexpr uint64_t kMostHeldBytes = 256 << 20;

}  // namespace

StreamWorker::StreamWorker(const Move& move, Side recipient, uint64_t run,
                           absl::Duration link_timeout, std::string spool, bool begins,
                           std::unique_ptr<ShardLink> from, std::unique_ptr<ShardLink> to,
                           std::vector<std::unique_ptr<ShardLink>> candidates)
    : move_(move),
      recipient_(recipient),
      run_(run),
      link_timeout_(link_timeout),
      spool_(std::move(spool)),
      begins_(begins),
      candidates_(std::move(candidates), move.name, run),
      from_(std::move(from)),
      to_(std::move(to)),
      thread_([this] { Work(); }) {}

StreamWorker::~StreamWorker() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

StreamWorker::Sight StreamWorker::sight() const {
  MutexLock lock(mutex_);
  return sight_;
}

void StreamWorker::Work() {
  internal::Backoff pauses({absl::Milliseconds(50), absl::Seconds(2), 0.5});
  while (!stop_) {
    const absl::Status status = Follow();
    if (stop_) return;
    if (!absl::IsUnavailable(status)) {
      MutexLock lock(mutex_);
      sight_.broken = status;
      return;
    }
    {
      MutexLock lock(mutex_);
      if (sight_.waiting.empty()) pauses.Reset();
      sight_.waiting = std::string(status.message());
    }
    if (session_ != 0) to_->EndSession(session_, place_).IgnoreError();
    session_ = 0;
    SleepBeforeRetry(pauses, SteadyClock::time_point::max());
  }
}

absl::Status StreamWorker::CheckCheckpoint(const internal::BandFence& peer) {
  auto found = to_->Run(
      absl::StrCat("SELECT 1 FROM ", kCheckpoints, " WHERE move = ", internal::SqlText(move_.name),
                   " AND direction = ", static_cast<int>(recipient_)),
      {AtMostOneRow(1)});
  if (to_->error() != kNoSuchTable) LOCUS_RETURN_IF_ERROR(found.status());
  if (found.ok() && !(*found)[0].rows.empty()) return absl::OkStatus();
  // A shard that gave up orders keeps the token.
  if (begins_ || (peer.own_lo >= peer.own_hi && peer.token_nonce == 0)) return EndPrepared();
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", to_->place(), ": ", kCheckpoints, " has no row of direction ",
      static_cast<int>(recipient_), " of move ", internal::Quoted(move_.name),
      ", so it is not known how far the stream has come; `locus move repair` begins it anew"));
}

// A transaction that was prepared before the stream begins may be committed after that, and its
// rows are then not in the stream. Once all such transactions have ended, the copy, which begins
// later, finds these rows.
absl::Status StreamWorker::EndPrepared() {
  internal::Backoff pauses({absl::Milliseconds(10), absl::Milliseconds(200), 0.5});
  auto goes_on = [&](size_t left) {
    {
      MutexLock lock(mutex_);
      sight_.waiting = absl::StrCat("mariadb ", from_->place(), ": ", left,
                                    " prepared XA transactions are older than the stream; commit or"
                                    " roll them back (XA RECOVER lists them)");
    }
    SleepBeforeRetry(pauses, SteadyClock::time_point::max());
    return !stop_.load();
  };
  LOCUS_ASSIGN_OR_RETURN(const size_t left, WaitForPrepared(*from_, goes_on));
  return left == 0 ? absl::OkStatus() : absl::CancelledError("the stream is to end");
}

absl::Status StreamWorker::Follow() {
  // Where a new stream begins: every later commit is behind this position.
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         from_->Run("SELECT @@GLOBAL.gtid_binlog_pos, DATABASE()", {OneRow(2)}));
  LOCUS_ASSIGN_OR_RETURN(GtidPosition start,
                         GtidPosition::Parse(results[0].rows[0][0].value_or("")));
  // The name as the log writes it: lower_case_table_names may change the name of the options.
  const std::string database = results[0].rows[0][1].value_or("");
  BandRows peer(move_, internal::Other(recipient_), *from_);
  LOCUS_ASSIGN_OR_RETURN(internal::BandFence bands, peer.Read());
  LOCUS_RETURN_IF_ERROR(CheckCheckpoint(bands));

  ApplierOptions applying;
  applying.server = to_->Options();
  applying.tables = move_.tables;
  applying.move = move_.name;
  applying.recipient = recipient_;
  applying.ranges = move_.ranges;
  applying.run = run_;
  applying.stop = &stop_;
  applying.peer_database = database;
  applying.peer.assign(move_.ranges.size(), bands);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ChangeApplier> applier,
                         ChangeApplier::Open(applying, start));
  session_ = applier->session();
  place_ = applier->place();
  // From now on there is a checkpoint.
  begins_ = false;
  BinlogReaderOptions reading;
  reading.server = from_->Options();
  reading.link_timeout = link_timeout_;
  reading.stream.position = applier->position();
  reading.stream.file = applier->log_file();
  reading.stream.spool.directory = spool_;
  reading.stream.wanted = [&applier, database](std::string_view from, std::string_view table) {
    return from == database && applier->Wants(table);
  };
  reading.stream.heeded = [&applier](const stream::Statement& statement) {
    return applier->Heeds(statement);
  };
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<BinlogReader> reader, BinlogReader::Open(reading));
  // Changes that an earlier connection gave are read again, from the checkpoint on.
  candidates_.Forget();
  taken_over_ = 0;
  while (!stop_) {
    LOCUS_RETURN_IF_ERROR(Gather(*reader));
    LOCUS_ASSIGN_OR_RETURN(std::vector<ChangeTransaction> batch, candidates_.Release());
    if (batch.empty()) {
      MutexLock lock(mutex_);
      sight_.waiting.clear();
      continue;
    }
    absl::Status applied = applier->Apply(batch);
    if (IsUniqueConflict(applied)) applied = ReadOn(*reader, *applier, std::move(batch), applied);
    LOCUS_RETURN_IF_ERROR(applied);
    Show(*applier);
  }
  return absl::OkStatus();
}

// A unique value may have gone from row to row while they were copied, and the copied rows are
// newer than the stream. Further on in the log the values fit again, so everything up to there is
// applied at once. The copy pauses meanwhile, because the stream does not advance.
absl::Status StreamWorker::ReadOn(BinlogReader& reader, ChangeApplier& applier,
                                  std::vector<ChangeTransaction> batch,
                                  const absl::Status& conflict) {
  const auto give_up = SteadyClock::now() + kUniqueValuePatience;
  internal::Backoff pauses({absl::Milliseconds(50), absl::Seconds(2), 0.5});
  std::erase_if(batch, [&](const ChangeTransaction& one) { return applier.Has(one); });
  uint64_t bytes = 0;
  for (const ChangeTransaction& one : batch) bytes += one.bytes();
  while (!stop_) {
    {
      MutexLock lock(mutex_);
      sight_.waiting = std::string(conflict.message());
    }
    // Waits for the first transaction, then takes all that are there.
    const auto until = SteadyClock::now() + absl::ToChronoNanoseconds(pauses.Next(0));
    while (!stop_ && SteadyClock::now() < until) {
      LOCUS_RETURN_IF_ERROR(Gather(reader));
      LOCUS_ASSIGN_OR_RETURN(std::vector<ChangeTransaction> more, candidates_.Release());
      for (ChangeTransaction& one : more) {
        bytes += one.bytes();
        batch.push_back(std::move(one));
      }
    }
    const absl::Status status = applier.ApplyTogether(batch);
    if (!IsUniqueConflict(status)) return status;
    if (SteadyClock::now() > give_up || bytes > kMostHeldBytes) return status;
  }
  return absl::OkStatus();
}

// Transactions that the log has already, up to a batch. Waits if there are none.
absl::Status StreamWorker::Gather(BinlogReader& reader) {
  // Full, and no candidate has any of it.
  if (candidates_.held() >= kMostHeld || candidates_.held_bytes() >= kMostHeldBytes) {
    std::this_thread::sleep_for(kCandidatePause);
    return absl::OkStatus();
  }
  const auto patience = candidates_.held() == 0 ? kGlance : kCandidatePause;
  BatchLimits limits;
  limits.last = ChangeApplier::Hurries;
  LOCUS_ASSIGN_OR_RETURN(ChangeBatch batch,
                         ReadBatch(reader, SteadyClock::now() + patience, limits));
  for (ChangeTransaction& transaction : batch.transactions) {
    LOCUS_RETURN_IF_ERROR(candidates_.Add(std::move(transaction)));
  }
  return absl::OkStatus();
}

void StreamWorker::Show(const ChangeApplier& applier) {
  MutexLock lock(mutex_);
  const ApplierCounts& counts = applier.counts();
  if (counts.ping != sight_.ping) {
    sight_.ping = counts.ping;
    sight_.passed_at = SteadyClock::now();
  }
  if (counts.taken_over != taken_over_) sight_.accepted_at = SteadyClock::now();
  taken_over_ = counts.taken_over;
  sight_.waiting.clear();
  sight_.counts = counts;
  sight_.rogue = applier.rogue_text();
  sight_.unguarded = applier.unguarded_text();
}

}  // namespace locus::mysql
