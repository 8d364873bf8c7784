// SPDX-License-Identifier: Apache-2.0
#include "routing/engine/mariadb/shard_pool.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"

namespace locus {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration Chrono(absl::Duration duration) {
  return std::chrono::duration_cast<Clock::duration>(absl::ToChronoNanoseconds(duration));
}

}  // namespace

ShardPool::ShardPool(std::shared_ptr<const ShardAccount> account, std::string endpoint_text,
                     ShardEndpoint endpoint)
    : account_(std::move(account)),
      endpoint_(std::move(endpoint)),
      endpoint_text_(std::move(endpoint_text)),
      place_(absl::StrCat(endpoint_.host.name, ":", endpoint_.host.port, "/", endpoint_.database)),
      breaker_(absl::ToChronoNanoseconds(account_->options.longest_pause)),
      random_(std::random_device()()),
      driver_(LoadDriver::OnThread([this] { return Work(); })) {}

ShardPool::~ShardPool() = default;

absl::StatusOr<ShardConnection> ShardPool::Take(const std::shared_ptr<ShardPool>& self,
                                                TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(Session session, self->TakeSession(deadline));
  return ShardConnection(self, std::move(session));
}

absl::StatusOr<ShardPool::Session> ShardPool::TakeSession(TimePoint deadline) {
  for (bool first_in_line = false;; first_in_line = true) {
    LOCUS_ASSIGN_OR_RETURN(Session session, NextIdle(deadline, first_in_line));
    absl::Status status = Check(session, deadline);
    if (status.ok()) {
      MutexLock lock(mutex_);
      ++stats_.taken;
      return session;
    }
    if (Clock::now() >= deadline) return status;
  }
}

absl::StatusOr<ShardPool::Session> ShardPool::NextIdle(TimePoint deadline, bool first_in_line) {
  MutexLock lock(mutex_);
  const uint64_t ticket = ++last_ticket_;
  line_.insert(first_in_line ? line_.begin() : line_.end(), ticket);
  bool probe = false;
  absl::Status status;
  Session session;
  while (true) {
    status = MayWait(Clock::now(), deadline, line_.front() == ticket, probe);
    if (!status.ok()) break;
    if (line_.front() == ticket && !idle_.empty()) {
      session = std::move(idle_.back());
      idle_.pop_back();
      break;
    }
    changed_.WaitUntil(mutex_, deadline);
  }
  line_.erase(std::find(line_.begin(), line_.end(), ticket));
  if (!line_.empty()) changed_.NotifyAll();  // another is the first now
  if (!status.ok()) return status;
  return session;
}

absl::Status ShardPool::MayWait(TimePoint now, TimePoint deadline, bool first, bool& probe) {
  if (retired_) {
    return absl::AbortedError(
        absl::StrCat("it is not at ", place_, " any more: route again, with the newest table"));
  }
  if (now >= deadline) {
    return absl::DeadlineExceededError(absl::StrCat(
        "no connection to ", place_, " in time: ", open_ - connecting_, " of at most ",
        account_->options.max_connections, " are open, ", idle_.size(), " idle, ", line_.size(),
        " callers wait", connecting_ ? ", and the server has not let in the next one yet" : ""));
  }
  if (first && !idle_.empty()) return absl::OkStatus();
  bool own_probe = probe && breaker_.probing();
  if (breaker_.Refuses(now) && !own_probe) {
    return absl::Status(
        stats_.last_error.code(),
        absl::StrCat(stats_.last_error.message(), "; callers are refused for a moment"));
  }
  if (open_ >= account_->options.max_connections) return absl::OkStatus();
  if (breaker_.open() && !breaker_.probing()) {
    breaker_.BeginProbe();
    probe = true;
  }
  if (WantsConnection()) driver_->Wake();
  return absl::OkStatus();
}

absl::Status ShardPool::Check(Session& session, TimePoint deadline) {
  if (session->Stale()) {
    absl::Status closed = absl::UnavailableError(
        absl::StrCat("mariadb ", place_, ": the server closed an idle connection"));
    Drop(std::move(session), closed);
    return closed;
  }
  TimePoint now = Clock::now();
  {
    MutexLock lock(mutex_);
    if (session->proven_at() > suspect_since_ &&
        now - session->proven_at() < Chrono(account_->options.ping_after)) {
      return absl::OkStatus();
    }
  }
  TimePoint patience = now + Chrono(account_->options.connect_timeout);
  absl::Status status = session->Ping(std::min(deadline, patience));
  if (status.ok()) return status;
  std::vector<Session> others;
  if (absl::IsDeadlineExceeded(status) && patience <= deadline) {
    // A server that hangs: the others would hang too, one after the other.
    status = absl::UnavailableError(status.message());
    MutexLock lock(mutex_);
    NoteFailure(status);
    others.swap(idle_);
    open_ -= others.size();
  }
  Drop(std::move(session), status);
  return status;
}

// What does not answer any more makes the others suspect.
void ShardPool::Drop(Session session, const absl::Status& why) {
  session.reset();
  MutexLock lock(mutex_);
  --open_;
  suspect_since_ = Clock::now();
  ++stats_.failures;
  stats_.last_error = why;
  changed_.NotifyAll();
}

void ShardPool::NoteFailure(const absl::Status& status) {
  breaker_.OnFailure(Clock::now(), std::uniform_real_distribution<double>(0, 1)(random_));
  suspect_since_ = Clock::now();
  stats_.last_error = status;
}

void ShardPool::GiveBack(Session session, bool spoiled) {
  bool keep = !spoiled && !session->Broken() &&
              Clock::now() - session->opened_at() < Chrono(account_->options.max_lifetime);
  if (keep) {
    MutexLock lock(mutex_);
    keep = !retired_;
  }
  if (keep) keep = session->Reset().ok();
  if (session->Lost()) {
    return Drop(std::move(session), absl::UnavailableError(absl::StrCat(
                                        "mariadb ", place_, ": a connection in use broke")));
  }
  if (!keep) session.reset();  // closing may take its time: not under the lock
  MutexLock lock(mutex_);
  if (keep && !retired_) {
    idle_.push_back(std::move(session));
    // Its thread closes it one day, which it must know of when it sleeps.
    if (idle_.size() == 1) driver_->Wake();
  } else {
    --open_;
  }
  changed_.NotifyAll();
}

bool ShardPool::WantsConnection() const {
  if (retired_ || connecting_ || open_ >= account_->options.max_connections) return false;
  return breaker_.open() ? breaker_.probing() : line_.size() > idle_.size();
}

void ShardPool::CollectExpired(TimePoint now, std::vector<Session>& expired) {
  const ShardPoolsOptions& options = account_->options;
  size_t spare = idle_.size() - std::min(idle_.size(), options.min_idle);
  std::vector<Session> kept;
  for (Session& session : idle_) {
    bool old = now - session->opened_at() >= Chrono(options.max_lifetime);
    // The longest idle stand first. What a ping proved counts as use: it is for somebody.
    bool unused = spare > 0 && now - session->proven_at() >= Chrono(options.idle_timeout);
    if (unused && !old) --spare;
    (old || unused ? expired : kept).push_back(std::move(session));
  }
  idle_ = std::move(kept);
  open_ -= expired.size();
}

absl::Duration ShardPool::Work() {
  std::vector<Session> expired;
  bool connect;
  {
    MutexLock lock(mutex_);
    CollectExpired(Clock::now(), expired);
    connect = WantsConnection();
    if (connect) {
      ++open_;
      connecting_ = true;
    }
  }
  expired.clear();
  if (connect) Connect();
  MutexLock lock(mutex_);
  if (WantsConnection()) return absl::ZeroDuration();
  if (idle_.empty()) return absl::InfiniteDuration();
  return std::min(account_->options.idle_timeout, account_->options.max_lifetime) / 4;
}

void ShardPool::Connect() {
  auto session = ShardSession::Open(endpoint_, account_->options, account_->password.data());
  MutexLock lock(mutex_);
  connecting_ = false;
  if (session.ok()) {
    ++stats_.connects;
    stats_.last_error = absl::OkStatus();
    breaker_.OnSuccess();
    if (!retired_) idle_.push_back(*std::move(session));
  } else {
    ++stats_.failures;
    NoteFailure(session.status());
  }
  if (!session.ok() || retired_) --open_;
  changed_.NotifyAll();
}

void ShardPool::Retire() {
  std::vector<Session> idle;
  MutexLock lock(mutex_);
  retired_ = true;
  idle.swap(idle_);
  open_ -= idle.size();
  changed_.NotifyAll();
}

void ShardPool::StopThread() { driver_.reset(); }

bool ShardPool::gone() const {
  MutexLock lock(mutex_);
  return retired_ && open_ == 0 && !connecting_;
}

void ShardPool::AddTo(ShardPoolStats& stats) const {
  MutexLock lock(mutex_);
  stats.open += open_ - connecting_;
  stats.idle += idle_.size();
  stats.waiting += line_.size();
  stats.taken += stats_.taken;
  stats.connects += stats_.connects;
  stats.failures += stats_.failures;
  if (retired_) return;
  stats.refusing = breaker_.open();
  stats.last_error = stats_.last_error;
}

}  // namespace locus
