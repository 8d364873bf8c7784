// SPDX-License-Identifier: Apache-2.0
#include "routing/pool/shard_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"

namespace locus::internal {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration Chrono(absl::Duration duration) {
  return std::chrono::duration_cast<Clock::duration>(absl::ToChronoNanoseconds(duration));
}

}  // namespace

// A caller with its own condition. The condition belongs to the thread, because it is notified
// after the lock was released, when the caller may have returned already.
struct ShardPool::Waiter : Queue::Caller {
  static const std::shared_ptr<CondVar>& OfThread() {
    thread_local const std::shared_ptr<CondVar> condition = std::make_shared<CondVar>();
    return condition;
  }
  const std::shared_ptr<CondVar>& answered = OfThread();
};

class ABSL_SCOPED_LOCKABLE ShardPool::Decision {
 public:
  explicit Decision(ShardPool& pool) ABSL_EXCLUSIVE_LOCK_FUNCTION(pool.mutex_) : pool_(pool) {
    pool_.mutex_.Lock();
  }
  ~Decision() ABSL_UNLOCK_FUNCTION() {
    auto answered = std::exchange(pool_.answered_, {});
    pool_.mutex_.Unlock();
    for (const std::shared_ptr<CondVar>& condition : answered) condition->NotifyAll();
  }
  Decision(const Decision&) = delete;
  Decision& operator=(const Decision&) = delete;

 private:
  ShardPool& pool_;
};

ShardPool::ShardPool(std::shared_ptr<const ShardAccount> account, std::string endpoint_text,
                     ShardEndpoint endpoint)
    : account_(std::move(account)),
      endpoint_(std::move(endpoint)),
      endpoint_text_(std::move(endpoint_text)),
      place_(absl::StrCat(endpoint_.host.name, ":", endpoint_.host.port, "/", endpoint_.database)),
      queue_(account_->options.max_connections,
             absl::ToChronoNanoseconds(account_->options.longest_pause),
             [this](Queue::Caller& caller) ABSL_NO_THREAD_SAFETY_ANALYSIS {
               answered_.push_back(static_cast<Waiter&>(caller).answered);
             }),
      random_(std::random_device()()),
      driver_(LoadDriver::OnThread([this] { return Work(); })) {}

ShardPool::~ShardPool() = default;

absl::StatusOr<ShardConnection> ShardPool::Take(const std::shared_ptr<ShardPool>& self,
                                                TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(Session session, self->TakeSession(deadline));
  return ShardConnection(self, std::move(session));
}

absl::StatusOr<ShardPool::Session> ShardPool::TakeSession(TimePoint deadline) {
  for (bool again = false;; again = true) {
    Waiter caller;
    Proof proof = Proof::kFresh;
    {
      MutexLock lock(mutex_);
      LOCUS_RETURN_IF_ERROR(Await(caller, deadline, again));
      if (!caller.proven) proof = ProofOf(*caller.connection, Clock::now());
    }
    absl::Status status = Check(caller.connection, proof, deadline);
    if (status.ok()) return std::move(caller.connection);
    if (Clock::now() >= deadline) return status;
  }
}

absl::Status ShardPool::Await(Waiter& caller, TimePoint deadline, bool again) {
  TimePoint now = Clock::now();
  if (now >= deadline && !queue_.retired()) return TimedOut();
  queue_.Ask(caller, now, again);
  WakeThread();
  while (caller.answer == Queue::Answer::kNone && Clock::now() < deadline) {
    caller.answered->WaitUntil(mutex_, deadline);
  }
  switch (caller.answer) {
    case Queue::Answer::kServed:
      return absl::OkStatus();
    case Queue::Answer::kRefused:
      return absl::Status(caller.error.code(),
                          absl::StrCat(caller.error.message(),
                                       "; callers are refused until the next attempt to connect"));
    case Queue::Answer::kRetired:
      return absl::AbortedError(absl::StrCat("the shard is no longer at ", place_,
                                             ": route again, with the newest table"));
    case Queue::Answer::kNone:
      break;
  }
  absl::Status status = TimedOut();
  queue_.Leave(caller);
  return status;
}

absl::Status ShardPool::TimedOut() {
  ++timeouts_;
  const size_t standing = queue_.open() - queue_.connecting();
  return absl::DeadlineExceededError(
      absl::StrCat("no connection to ", place_, " became free in time: ", standing, " of at most ",
                   account_->options.max_connections, " are open, ", queue_.idle(),
                   " idle; callers waiting: ", queue_.waiting(),
                   queue_.connecting() ? "; an attempt to connect has not been answered yet" : "",
                   standing < account_->options.max_connections && !queue_.last_error().ok()
                       ? absl::StrCat("; last error: ", queue_.last_error().message())
                       : ""));
}

ShardPool::Proof ShardPool::ProofOf(const ShardSession& session, TimePoint now) const {
  const bool ping = session.proven_at() <= suspect_since_ ||
                    now - session.proven_at() >= Chrono(account_->options.ping_after);
  return ping ? Proof::kOld : Proof::kRecent;
}

absl::Status ShardPool::Check(Session& session, Proof proof, TimePoint deadline) {
  const Clock::duration patience = Chrono(account_->options.connect_timeout);
  // The statement that ends a reset was sent when the connection came back, maybe long ago.
  TimePoint asked_at = session->proven_at();
  TimePoint hangs_at = session->reset_unfinished() ? asked_at + patience : TimePoint::max();
  absl::Status status = session->FinishReset(std::min(deadline, hangs_at));
  if (session->reset_unfinished() && deadline < hangs_at) {
    // The caller's time is up, not the server's: the connection serves the next one.
    Decision decision(*this);
    session = queue_.PutBack(std::move(session));
    return TimedOut();
  }
  if (!status.ok() && !absl::IsDeadlineExceeded(status) && !session->Lost()) {
    // The last holder changed what a reset does not restore, or the server became read-only: the
    // connection is closed, and connecting again shows which.
    Discard(std::move(session), absl::OkStatus());
    return status;
  }
  if (status.ok() && proof != Proof::kFresh && session->Stale()) {
    status = absl::UnavailableError(
        absl::StrCat("mariadb ", place_, ": the server closed an idle connection"));
  } else if (status.ok() && proof == Proof::kOld) {
    asked_at = Clock::now();
    hangs_at = asked_at + patience;
    status = session->Ping(std::min(deadline, hangs_at));
    if (status.ok()) {
      MutexLock lock(mutex_);
      queue_.NoteAnswer(session->proven_at());
    }
  }
  if (status.ok()) return status;
  std::vector<Session> others;
  if (absl::IsDeadlineExceeded(status) && hangs_at <= deadline) {
    // The server hangs. Callers that tried the other connections would hang one after the other.
    status = absl::UnavailableError(status.message());
    Decision decision(*this);
    suspect_since_ = Clock::now();
    others = queue_.Hang(asked_at, suspect_since_, status, RandomPart());
  }
  Discard(std::move(session), status);
  return status;
}

void ShardPool::Discard(Session session, const absl::Status& why) {
  session.reset();  // closing may take its time: not under the lock
  Decision decision(*this);
  if (!why.ok()) suspect_since_ = Clock::now();
  queue_.Discard(why);
  WakeThread();
}

void ShardPool::GiveBack(Session session, bool spoiled) {
  bool keep = !spoiled && !session->Broken() &&
              Clock::now() - session->opened_at() < Chrono(account_->options.max_lifetime);
  if (keep) {
    MutexLock lock(mutex_);
    keep = !queue_.retired();
  }
  if (keep) keep = session->BeginReset().ok();
  absl::Status broke;
  if (session->Lost()) {
    broke = absl::UnavailableError(absl::StrCat("mariadb ", place_, ": a connection in use broke"));
  }
  if (!keep) session.reset();  // not under the lock, as above
  Decision decision(*this);
  if (keep) {
    const TimePoint answered_at = session->proven_at();
    session = queue_.Return(std::move(session), answered_at);
  } else {
    if (!broke.ok()) suspect_since_ = Clock::now();
    queue_.Close(broke);
  }
  WakeThread();
}

void ShardPool::WakeThread() {
  if (NextRun(Clock::now()) < next_run_) driver_->Wake();
}

double ShardPool::RandomPart() { return std::uniform_real_distribution<double>(0, 1)(random_); }

ShardPool::TimePoint ShardPool::NextRun(TimePoint now) const {
  const ShardPoolsSettings& options = account_->options;
  TimePoint connect = queue_.ConnectAt(now);
  if (queue_.retired() || queue_.open() == 0) return connect;
  return std::min(connect, now + Chrono(std::min(options.idle_timeout, options.max_lifetime) / 4));
}

absl::Duration ShardPool::Work() {
  std::vector<Session> expired;
  bool connect;
  {
    MutexLock lock(mutex_);
    next_run_ = TimePoint::min();
    TimePoint now = Clock::now();
    const ShardPoolsSettings& options = account_->options;
    expired = queue_.TakeExpired(options.min_idle, [&](const Session& session) {
      if (now - session->opened_at() >= Chrono(options.max_lifetime)) return Queue::Age::kTooOld;
      // A ping counts as use: it was done for a caller.
      return now - session->proven_at() >= Chrono(options.idle_timeout) ? Queue::Age::kUnused
                                                                        : Queue::Age::kFresh;
    });
    connect = queue_.BeginConnect(now);
  }
  expired.clear();
  if (connect) Connect();
  MutexLock lock(mutex_);
  TimePoint now = Clock::now();
  next_run_ = NextRun(now);
  return next_run_ == TimePoint::max() ? absl::InfiniteDuration()
                                       : absl::FromChrono(next_run_ - now);
}

void ShardPool::Connect() {
  auto session = ShardSession::Open(endpoint_, account_->options, account_->password.data());
  Session unwanted;  // closed after the lock is released
  Decision decision(*this);
  if (session.ok()) {
    const TimePoint answered_at = (*session)->proven_at();
    unwanted = queue_.Connected(*std::move(session), answered_at);
    return;
  }
  suspect_since_ = Clock::now();
  queue_.FailToConnect(suspect_since_, session.status(), RandomPart());
}

void ShardPool::Retire() {
  std::vector<Session> idle;
  Decision decision(*this);
  idle = queue_.Retire();
}

void ShardPool::StopThread() { driver_.reset(); }

bool ShardPool::gone() const {
  MutexLock lock(mutex_);
  return queue_.retired() && queue_.open() == 0;
}

void ShardPool::AddTo(ShardPoolStats& stats) const {
  MutexLock lock(mutex_);
  stats.open += queue_.open() - queue_.connecting();
  stats.idle += queue_.idle();
  stats.waiting += queue_.waiting();
  stats.taken += queue_.handed_out();
  stats.waits += queue_.waits();
  stats.timeouts += timeouts_;
  stats.refusals += queue_.refusals();
  stats.connects += queue_.connects();
  stats.reconnects += queue_.reconnects();
  stats.failures += queue_.failures();
  if (queue_.retired()) return;
  stats.limit = queue_.limit();
  stats.refusing = queue_.refusing();
  stats.last_error = UnsharedCopy(queue_.last_error());
}

}  // namespace locus::internal
