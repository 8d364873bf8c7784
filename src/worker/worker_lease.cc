// SPDX-License-Identifier: Apache-2.0
#include "locus/worker_lease.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/base/text/nonce_mark.h"
#include "src/worker/holder_text.h"
#include "src/worker/renewal.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::LoadDriver;
using internal::MutexLock;
using worker::Renewal;

namespace {

constexpr std::string_view kObject = "a worker lease";
// Threads wait by a clock that stops while the machine is suspended. They look at the time this
// often, to notice a suspension.
constexpr absl::Duration kLongestWait = absl::Seconds(1);

uint64_t Random() { return internal::RandomWord().value_or(0); }

absl::Status CheckHolderText(const std::string& holder) {
  if (holder.empty()) return absl::OkStatus();
  const bool printable = std::none_of(holder.begin(), holder.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (holder.front() == '{' && holder.back() == '}' && printable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "holder is not a JSON object without line breaks and other control characters");
}

WorkerLeaseTerm TermOf(const WorkerLeaseOptions& options) {
  return {options.ttl, options.max_skew};
}

WorkerAcquire RequestOf(const WorkerLeaseOptions& options) {
  WorkerAcquire request;
  request.range = options.range.value_or(WorkerRange());
  request.preferred = options.preferred;
  request.start = request.range.first;
  request.term = TermOf(options);
  request.holder = options.holder;
  return request;
}

}  // namespace

std::string_view ToString(WorkerLeaseEvent::Kind kind) {
  switch (kind) {
    case WorkerLeaseEvent::Kind::kAcquired:
      return "acquired";
    case WorkerLeaseEvent::Kind::kRenewed:
      return "renewed";
    case WorkerLeaseEvent::Kind::kRenewalFailed:
      return "renewal_failed";
    case WorkerLeaseEvent::Kind::kUnhealthy:
      return "unhealthy";
    case WorkerLeaseEvent::Kind::kLost:
      return "lost";
    case WorkerLeaseEvent::Kind::kReleased:
      return "released";
  }
  return "?";
}

absl::Status WorkerLeaseOptions::Check() const {
  if (clock == nullptr) return absl::InvalidArgumentError("a worker lease needs a clock");
  WorkerAcquire request = RequestOf(*this);
  request.nonce.assign(1, '-');
  request.caller_now = absl::UnixEpoch();
  absl::Status status = worker::Check(request);
  status.Update(CheckHolderText(holder));
  return status;
}

// Two jobs: the watcher watches the times; the renewer calls the store, which may block. The
// watcher wakes the renewer when a renewal is due; the renewer wakes the watcher after each answer.
// With one job, a call that hangs would hide a loss.
class WorkerLease::Rep {
 public:
  using Kind = WorkerLeaseEvent::Kind;

  Rep(std::shared_ptr<WorkerLeaseStore> store, const WorkerLeaseOptions& options,
      const WorkerAcquire& acquired, const WorkerGrant& grant, absl::Duration sent)
      : store_(std::move(store)),
        options_(options),
        worker_(grant.worker),
        token_(grant.token),
        floor_(grant.floor),
        renewal_(acquired.term, grant, sent, Random()) {
    request_.worker = worker_;
    request_.token = token_;
    request_.term = acquired.term;
    request_.nonce = acquired.nonce;
    request_.holder = acquired.holder;
    watcher_ = NewDriver([this] { return Watch(); });
    renewer_ = NewDriver([this] {
      Renew();
      return absl::InfiniteDuration();
    });
  }

  bool forked() const { return fork_guard_.forked(); }

  // False: the system has no thread.
  bool Start() {
    {
      MutexLock lock(mutex_);
      Queue(Kind::kAcquired, absl::OkStatus());
    }
    Report();
    watcher_->Wake();
    renewer_->Wake();
    return watcher_->started() && renewer_->started();
  }

  uint64_t worker() const { return worker_; }
  uint64_t token() const { return token_; }
  absl::Time floor() const { return floor_; }
  absl::Time ceiling() {
    if (forked()) return floor_;
    MutexLock lock(mutex_);
    return renewal_.grant().ceiling;
  }
  bool held() {
    if (forked()) return false;
    MutexLock lock(mutex_);
    return renewal_.held(Now());
  }
  WorkerStoreFacts facts() const { return store_->facts(); }

  WorkerLeaseStats Stats() {
    WorkerLeaseStats stats;
    if (forked()) return stats;
    MutexLock lock(mutex_);
    stats = stats_;
    stats.held = renewal_.held(Now());
    stats.left = renewal_.deadline() - Now();
    stats.ttl = request_.term.ttl;
    return stats;
  }

  absl::Status Bind(std::shared_ptr<CeilingUser> user) {
    LOCUS_RETURN_IF_ERROR(fork_guard_.Check(kObject));
    if (user == nullptr) return absl::InvalidArgumentError("a worker lease was bound to no user");
    MutexLock lock(mutex_);
    if (!renewal_.held(Now())) {
      return absl::FailedPreconditionError(
          absl::StrCat("worker ", worker_, ", token ", token_, ": the lease is not held any more",
                       renewal_.loss().ok() ? "" : absl::StrCat(": ", renewal_.loss().message())));
    }
    if (user_ != nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("worker ", worker_, ", token ", token_, ": the lease has a user already"));
    }
    user_ = std::move(user);
    user_->RaiseCeiling(renewal_.grant().ceiling);
    return absl::OkStatus();
  }

  // `unused`: no caller has had the lease, so nothing was made under it.
  absl::Status Release(bool unused) {
    LOCUS_RETURN_IF_ERROR(fork_guard_.Check(kObject));
    WorkerRelease request;
    request.worker = worker_;
    request.token = token_;
    request.nonce = request_.nonce;
    {
      MutexLock lock(mutex_);
      if (!renewal_.End()) return renewal_.loss();
      request.last_used = absl::InfiniteFuture();
      if (unused) request.last_used = std::max(floor_, absl::UnixEpoch());
      // Closed before the store lowers the ceiling: a later ID would lie above it, where the next
      // holder begins.
      if (user_ != nullptr) request.last_used = user_->Close();
    }
    MutexLock lock(release_mutex_);
    if (released_.has_value()) return *released_;
    // The renewer wakes the watcher, so it goes first. The watcher wakes no job after End.
    renewer_.reset();
    watcher_.reset();
    absl::Status status = store_->Release(options_.space, request);
    if (absl::IsUnavailable(status)) {
      status = store_->Release(options_.space, request);
      // The first call was carried out, otherwise no other holder could have the ID.
      if (absl::IsAborted(status)) status = absl::OkStatus();
    }
    released_ = status;
    {
      MutexLock state_lock(mutex_);
      Queue(Kind::kReleased, status);
    }
    Report();
    return status;
  }

 private:
  std::unique_ptr<LoadDriver> NewDriver(LoadDriver::Job job) {
    return options_.executor == nullptr
               ? LoadDriver::OnThread(std::move(job))
               : LoadDriver::OnExecutor(*options_.executor, std::move(job));
  }

  absl::Duration Now() const { return options_.clock->SinceBoot(); }

  absl::Duration Watch() {
    const Renewal::Turn turn = Look(/*wake_renewer=*/true);
    if (turn.wait == absl::InfiniteDuration()) return turn.wait;
    return std::min(turn.wait, kLongestWait);
  }

  Renewal::Turn Look(bool wake_renewer) {
    Renewal::Turn turn;
    {
      MutexLock lock(mutex_);
      turn = renewal_.Look(Now());
      // Under the lock, so that Release, once it has ended the renewals, may destroy the renewer.
      if (turn.act == Renewal::Act::kRenew && wake_renewer) renewer_->Wake();
      if (turn.act == Renewal::Act::kLost) Lose();
    }
    if (turn.act == Renewal::Act::kLost) TellLoss();
    return turn;
  }

  void Renew() {
    if (Look(/*wake_renewer=*/false).act != Renewal::Act::kRenew) return;
    if (options_.healthy && !options_.healthy()) return SkipRenewal();
    {
      MutexLock lock(mutex_);
      if (!renewal_.held(Now())) return;  // the watcher handles it
      // Before the call: the deadline counts from the time when the renewal was sent.
      renewal_.Sent(Now());
      request_.ceiling = renewal_.grant().ceiling;
    }
    request_.caller_now = options_.clock->Now();
    absl::StatusOr<WorkerGrant> answer = store_->Renew(options_.space, request_);
    Renewal::Answer meaning;
    {
      MutexLock lock(mutex_);
      meaning = renewal_.Answered(Now(), answer, Random());
      Note(meaning, answer.status());
    }
    if (meaning == Renewal::Answer::kLost) return TellLoss();
    Report();
    watcher_->Wake();
  }

  void Note(Renewal::Answer meaning, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    switch (meaning) {
      case Renewal::Answer::kRenewed:
        ++stats_.renewals;
        // Only now: times may be used up to a ceiling that is stored.
        if (user_ != nullptr) user_->RaiseCeiling(renewal_.grant().ceiling);
        return Queue(Kind::kRenewed, absl::OkStatus());
      case Renewal::Answer::kFailed:
        ++stats_.failures;
        return Queue(Kind::kRenewalFailed, renewal_.last());
      case Renewal::Answer::kLost:
        if (!status.ok()) ++stats_.failures;
        return Lose();
      case Renewal::Answer::kIgnored:
        return;
    }
  }

  void SkipRenewal() {
    {
      MutexLock lock(mutex_);
      renewal_.Unhealthy(Now(), Random());
      ++stats_.unhealthy;
      Queue(Kind::kUnhealthy, renewal_.last());
    }
    Report();
    watcher_->Wake();
  }

  // The user is closed before any callback hears of the loss, so no callback runs while IDs are
  // still made.
  void Lose() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (user_ != nullptr) user_->Close();
    Queue(Kind::kLost, renewal_.loss());
  }

  // After Lose, which comes once.
  void TellLoss() {
    Report();
    if (!options_.on_lost) return;
    absl::Status loss;
    {
      MutexLock lock(mutex_);
      loss = renewal_.loss();
    }
    options_.on_lost(loss);
  }

  void Queue(Kind kind, const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!options_.on_event) return;
    const absl::Time ceiling = renewal_.grant().ceiling;
    events_.push_back({kind, options_.space, worker_, token_, floor_, ceiling, status,
                       internal::NonceMark(request_.nonce), request_.holder});
  }

  // Reports the queued events in their order, also those that another thread queued.
  void Report() {
    MutexLock telling(report_mutex_);
    while (true) {
      WorkerLeaseEvent event;
      {
        MutexLock lock(mutex_);
        if (events_.empty()) return;
        event = std::move(events_.front());
        events_.pop_front();
      }
      options_.on_event(event);
    }
  }

  const internal::ForkGuard fork_guard_;
  const std::shared_ptr<WorkerLeaseStore> store_;
  const WorkerLeaseOptions options_;
  const uint64_t worker_;
  const uint64_t token_;
  const absl::Time floor_;
  WorkerRenew request_;  // of the renewing job

  internal::Mutex release_mutex_;  // taken before the others
  std::optional<absl::Status> released_ ABSL_GUARDED_BY(release_mutex_);
  internal::Mutex report_mutex_;  // held while on_event runs; taken before mutex_
  internal::Mutex mutex_;
  Renewal renewal_ ABSL_GUARDED_BY(mutex_);
  WorkerLeaseStats stats_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<CeilingUser> user_ ABSL_GUARDED_BY(mutex_);
  std::deque<WorkerLeaseEvent> events_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> watcher_;
  std::unique_ptr<LoadDriver> renewer_;  // last: it wakes the watcher
};

WorkerLease::WorkerLease(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

WorkerLease::~WorkerLease() {
  internal::AbandonIfForked(rep_);
  if (rep_ != nullptr) Release().IgnoreError();
}

absl::StatusOr<std::unique_ptr<WorkerLease>> WorkerLease::Acquire(
    std::shared_ptr<WorkerLeaseStore> store, const WorkerLeaseOptions& options, Timeout patience) {
  if (store == nullptr) return absl::InvalidArgumentError("a worker lease needs a store");
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::optional<uint64_t> high = internal::RandomWord();
  std::optional<uint64_t> low = internal::RandomWord();
  std::optional<uint64_t> start = internal::RandomWord();
  if (!high || !low || !start) return absl::UnavailableError("OpenSSL has no randomness");
  WorkerAcquire request = RequestOf(options);
  request.nonce = absl::StrFormat("%016x%016x", *high, *low);
  request.start += *start % request.range.size();
  if (request.holder.empty()) request.holder = worker::HolderOfThisProcess();

  const absl::Duration end = options.clock->SinceBoot() + patience;
  internal::Backoff pauses({.first = worker::kFirstRetry, .longest = absl::Seconds(2)});
  while (true) {
    const absl::Duration sent = options.clock->SinceBoot();
    request.caller_now = options.clock->Now();
    absl::StatusOr<WorkerGrant> grant = store->Acquire(options.space, request);
    const absl::Duration now = options.clock->SinceBoot();
    if (grant.ok() && now >= sent + worker::UsableFor(options.ttl)) {
      grant = absl::UnavailableError(absl::StrCat("worker ", grant->worker, ": the answer took ",
                                                  absl::FormatDuration(now - sent),
                                                  ", longer than the lease may be used"));
    }
    if (grant.ok()) {
      auto rep = std::make_unique<Rep>(store, options, request, *grant, sent);
      if (rep->Start()) return std::unique_ptr<WorkerLease>(new WorkerLease(std::move(rep)));
      rep->Release(/*unused=*/true).IgnoreError();
      return absl::UnavailableError("the system has no thread to renew a worker lease");
    }
    const absl::Duration pause = pauses.Next(Random());
    if (!absl::IsUnavailable(grant.status()) || now + pause >= end) return grant.status();
    options.clock->SleepFor(pause);
  }
}

uint64_t WorkerLease::worker() const { return rep_->worker(); }
uint64_t WorkerLease::token() const { return rep_->token(); }
absl::Time WorkerLease::floor() const { return rep_->floor(); }
absl::Time WorkerLease::ceiling() const { return rep_->ceiling(); }
bool WorkerLease::held() const { return rep_->held(); }
WorkerStoreFacts WorkerLease::facts() const { return rep_->facts(); }
WorkerLeaseStats WorkerLease::Stats() const { return rep_->Stats(); }
absl::Status WorkerLease::Bind(std::shared_ptr<CeilingUser> user) {
  return rep_->Bind(std::move(user));
}
absl::Status WorkerLease::Release() { return rep_->Release(/*unused=*/false); }

}  // namespace locus
