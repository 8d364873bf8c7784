// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/audit.h"
#include "src/audit/batch.h"
#include "src/audit/spill.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/random_word.h"
#include "src/base/os/signals_blocked.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"

namespace locus {

using audit::Batch;
using audit::Loss;
using audit::Spill;
using internal::Backoff;
using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

SteadyTime Now() { return std::chrono::steady_clock::now(); }
SteadyTime After(absl::Duration wait) { return Now() + absl::ToChronoNanoseconds(wait); }

constexpr Backoff::Policy kPauses = {.first = absl::Milliseconds(100),
                                     .longest = absl::Seconds(30)};
constexpr uint64_t kLeastSpillBytes = 1 << 20;

std::string ThisProcess() {
  char host[256] = {};
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return absl::StrCat(host, "/", getpid());
}

}  // namespace

absl::Status AuditSinkOptions::Check() const {
  if (batch < 1 || batch > 100'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch is ", batch, "; it must be between 1 and 100000"));
  }
  if (queue < batch || queue > 10'000'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("queue is ", queue, "; it must be between batch, ", batch, ", and 10000000"));
  }
  if (longest_wait < absl::Milliseconds(1) || longest_wait > absl::Hours(1)) {
    return absl::InvalidArgumentError(absl::StrCat("longest_wait is ",
                                                   absl::FormatDuration(longest_wait),
                                                   "; it must be between 1 ms and 1 h"));
  }
  if (!spill_directory.empty() && spill_bytes < kLeastSpillBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("spill_bytes is ", spill_bytes, "; it must be at least ", kLeastSpillBytes));
  }
  if (linger < absl::ZeroDuration() || linger > absl::Minutes(10)) {
    return absl::InvalidArgumentError(absl::StrCat("linger is ", absl::FormatDuration(linger),
                                                   "; it must be between 0 and 10 min"));
  }
  return absl::OkStatus();
}

class AuditSink::Rep {
 public:
  Rep(std::unique_ptr<AuditWriter> writer, std::unique_ptr<Spill> spill,
      const AuditSinkOptions& options)
      : options_(options), writer_(std::move(writer)), spill_(std::move(spill)) {
    if (options_.process.empty()) options_.process = ThisProcess();
    stats_.spilled = spill_ == nullptr ? 0 : spill_->bytes();
    backlog_ = stats_.spilled > 0;
    const internal::SignalsBlocked blocked;
    thread_ = std::thread([this] { Run(); });
  }

  bool forked() const { return home_.forked(); }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      stop_by_ = After(options_.linger);
    }
    wake_.NotifyAll();
    thread_.join();
  }

  void Record(AuditRecord record) {
    if (forked()) return;
    if (record.time == absl::InfinitePast()) record.time = options_.clock->Now();
    bool wake = false;
    {
      MutexLock lock(mutex_);
      ++stats_.recorded;
      if (queue_.size() >= options_.queue) {
        queue_.pop_front();
        NoteLost({1, 0}, "no room in memory");
      }
      queue_.push_back(std::move(record));
      // The first record starts the thread's wait, and a full batch ends it.
      if (queue_.size() == 1) due_ = After(options_.longest_wait);
      wake = queue_.size() == 1 || queue_.size() == options_.batch;
    }
    if (wake) wake_.NotifyAll();
  }

  absl::Status Flush(absl::Duration timeout) {
    if (absl::Status status = home_.Check("an audit sink"); !status.ok()) return status;
    const SteadyTime deadline = After(timeout);
    MutexLock lock(mutex_);
    const uint64_t until = stats_.recorded;
    flush_until_ = std::max(flush_until_, until);
    wake_.NotifyAll();
    while (settled_ < until) {
      if (Now() >= deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            until - settled_,
            " audit records are not written yet; last failure: ", stats_.last_failure.ToString()));
      }
      settled_changed_.WaitUntil(mutex_, deadline);
    }
    return absl::OkStatus();
  }

  AuditSinkStats Stats() const {
    if (forked()) return {};
    MutexLock lock(mutex_);
    AuditSinkStats stats = stats_;
    stats.waiting = queue_.size() + in_hand_;
    return stats;
  }

 private:
  // The gap's record comes with the next batch. It also repeats the count of a gap record that was
  // lost.
  void NoteLost(Loss loss, const char* why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (loss.records + loss.told == 0) return;
    stats_.dropped += loss.records;
    lost_ += loss.records + loss.told;
    why_lost_ = why;
  }
  void NoteLost(const Batch& batch, const char* why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Loss loss;
    loss.Add(batch);
    NoteLost(loss, why);
  }

  // Takes the next batch; empty: nothing is due.
  Batch TakeBatch() {
    std::deque<AuditRecord> records;
    uint64_t lost = 0;
    const char* why = "";
    {
      MutexLock lock(mutex_);
      const size_t count = std::min(queue_.size(), options_.batch);
      for (size_t i = 0; i < count; ++i) {
        records.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
      in_hand_ = records.size();
      lost = std::exchange(lost_, 0);
      why = why_lost_;
    }
    Batch batch;
    const absl::Time now = options_.clock->Now();
    if (lost > 0) {
      AuditRecord gap;
      gap.kind = AuditRecord::Kind::kGap;
      gap.first = lost;
      gap.detail = why;
      AppendRow(gap, options_.process, now, batch);
      batch.told = lost;
    }
    for (const AuditRecord& record : records) AppendRow(record, options_.process, now, batch);
    return batch;
  }

  // Waits until a batch is due, spilled batches may be tried again, or the sink ends.
  void WaitForWork() {
    MutexLock lock(mutex_);
    while (!stopping_ && !BatchIsDue() && !RetryIsDue()) {
      if (queue_.empty() && !backlog_) {
        wake_.Wait(mutex_);
        continue;
      }
      SteadyTime until = SteadyTime::max();
      if (!queue_.empty()) until = std::min(until, due_);
      if (backlog_) until = std::min(until, retry_at_);
      wake_.WaitUntil(mutex_, until);
    }
  }
  bool BatchIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (queue_.empty()) return false;
    // Without a directory, waiting records stay in the queue while the writer fails.
    if (backlog_ && spill_ == nullptr) return false;
    return queue_.size() >= options_.batch || flush_until_ > settled_ || Now() >= due_;
  }
  bool RetryIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return backlog_ && Now() >= retry_at_;
  }

  void Run() {
    while (true) {
      WaitForWork();
      bool stopping, retry;
      {
        MutexLock lock(mutex_);
        stopping = stopping_;
        retry = RetryIsDue() || stopping_;
        due_ = After(options_.longest_wait);
      }
      if (spill_ == nullptr) {
        StepWithoutSpill();
      } else {
        StepWithSpill(retry);
      }
      if (stopping && IsDone()) return;
    }
  }

  bool IsDone() {
    bool nothing_left;
    {
      MutexLock lock(mutex_);
      nothing_left = queue_.empty();
      if (nothing_left && !backlog_ && (lost_ == 0 || last_gap_tried_)) return true;
      last_gap_tried_ = last_gap_tried_ || nothing_left;
      if (Now() < stop_by_) {
        // The writer may recover meanwhile.
        wake_.WaitUntil(mutex_, std::min(stop_by_, std::max(retry_at_, Now())));
        return false;
      }
    }
    if (spill_ == nullptr) return true;
    while (!nothing_left) {
      Keep(TakeBatch());
      MutexLock lock(mutex_);
      nothing_left = queue_.empty();
    }
    Keep(TakeBatch());  // the gap that this may have left
    return true;
  }

  void StepWithoutSpill() {
    if (pending_.count == 0) pending_ = TakeBatch();
    if (pending_.count == 0 || TryWrite(pending_)) pending_ = {};
  }

  void StepWithSpill(bool retry) {
    Batch batch = TakeBatch();
    // Behind the spilled batches, if there are any: records are written in their order.
    if (batch.count > 0 && (!spill_->empty() || !TryWrite(batch))) Keep(batch);
    if (!retry && !spill_->empty()) return;
    while (true) {
      const std::optional<Batch> front = spill_->Front();
      NoteSpillLoss("the spill directory was damaged");
      if (!front) break;
      if (!TryWrite(*front)) return;
      // After the write: a crash in between writes the batch twice, which counts once.
      spill_->Pop();
      MutexLock lock(mutex_);
      stats_.spilled = spill_->bytes();
      if (BatchIsDue()) {  // new records must not wait for all spilled ones
        retry_at_ = Now();
        return;
      }
    }
    MutexLock lock(mutex_);
    stats_.spilled = 0;
    backlog_ = false;
    Settle();
  }

  // To the directory.
  void Keep(const Batch& batch) {
    if (batch.count == 0) return;
    absl::Status kept = spill_->Append(batch);
    NoteSpillLoss("no room in the spill directory");
    MutexLock lock(mutex_);
    in_hand_ = 0;
    backlog_ = true;
    if (!kept.ok()) {
      NoteLost(batch, "the spill directory cannot be written");
      stats_.last_failure = kept;
    }
    stats_.spilled = spill_->bytes();
  }

  void NoteSpillLoss(const char* why) {
    const Loss loss = spill_->TakeLoss();
    MutexLock lock(mutex_);
    NoteLost(loss, why);
  }

  // False: later.
  bool TryWrite(const Batch& batch) {
    absl::Status status = writer_->Write(batch.rows);
    const std::optional<uint64_t> random = internal::RandomWord();
    MutexLock lock(mutex_);
    if (status.ok()) {
      stats_.written += batch.count;
    } else {
      ++stats_.failures;
      stats_.last_failure = status;
    }
    if (!status.ok() && !absl::IsInvalidArgument(status)) {
      backlog_ = true;
      retry_at_ = After(backoff_.Next(random.value_or(0)));
      return false;
    }
    if (!status.ok()) NoteLost(batch, "the writer refused them");
    backoff_.Reset();
    in_hand_ = 0;
    if (spill_ == nullptr) backlog_ = false;
    Settle();
    return true;
  }

  // A record that is not in the queue, not in hand and not spilled is finished.
  void Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (backlog_) return;
    settled_ = stats_.recorded - queue_.size() - in_hand_;
    settled_changed_.NotifyAll();
  }

  AuditSinkOptions options_;
  const internal::ForkGuard home_;
  // Of the thread.
  std::unique_ptr<AuditWriter> writer_;
  std::unique_ptr<Spill> spill_;
  bool last_gap_tried_ = false;  // once the end has come
  Batch pending_;  // without a spill directory: the batch that the writer has not taken yet

  mutable Mutex mutex_;
  CondVar wake_;
  CondVar settled_changed_;
  std::deque<AuditRecord> queue_ ABSL_GUARDED_BY(mutex_);
  AuditSinkStats stats_ ABSL_GUARDED_BY(mutex_);
  uint64_t in_hand_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_ ABSL_GUARDED_BY(mutex_) = 0;  // since the last gap's record
  const char* why_lost_ ABSL_GUARDED_BY(mutex_) = "";
  bool backlog_ ABSL_GUARDED_BY(mutex_) = false;  // a write failed, or something is spilled
  SteadyTime retry_at_ ABSL_GUARDED_BY(mutex_) = Now();
  SteadyTime due_ ABSL_GUARDED_BY(mutex_) = Now();
  Backoff backoff_ ABSL_GUARDED_BY(mutex_){kPauses};
  uint64_t flush_until_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t settled_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SteadyTime stop_by_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

AuditSink::AuditSink(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

AuditSink::~AuditSink() {
  if (rep_->forked()) {
    static_cast<void>(rep_.release());  // its thread and its files are the parent's
    return;
  }
  rep_->Stop();
}

absl::StatusOr<std::unique_ptr<AuditSink>> AuditSink::Open(std::unique_ptr<AuditWriter> writer,
                                                           const AuditSinkOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::unique_ptr<Spill> spill;
  if (!options.spill_directory.empty()) {
    LOCUS_ASSIGN_OR_RETURN(spill, Spill::Open(options.spill_directory, options.spill_bytes));
  }
  return std::unique_ptr<AuditSink>(
      new AuditSink(std::make_unique<Rep>(std::move(writer), std::move(spill), options)));
}

void AuditSink::Record(AuditRecord record) { rep_->Record(std::move(record)); }
absl::Status AuditSink::Flush(Timeout timeout) { return rep_->Flush(timeout); }
AuditSinkStats AuditSink::Stats() const { return rep_->Stats(); }

}  // namespace locus
