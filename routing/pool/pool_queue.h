// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_POOL_QUEUE_H_
#define LOCUS_ROUTING_POOL_POOL_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "routing/pool/breaker.h"

namespace locus::internal {

// A status that shares nothing with `status`: ThreadSanitizer does not see the reference counts of
// the packaged Abseil, so a status that threads share looks like a race to it.
inline absl::Status UnsharedCopy(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

// Decides which caller gets which connection of a pool, which callers are refused, and when another
// connection is made. Pure: it takes no lock, reads no clock and touches no socket. Times are
// arguments, and the pool closes the connections that a method returns.
//
// Callers are served in the order in which they came. A connection that comes back goes straight to
// the first caller in line, and only that caller is woken; a connection is idle only while no
// caller waits.
//
// After a failed attempt to connect the next one waits for a pause (Breaker). Meanwhile callers
// share the connections that are open. They are refused only where there is none, or where the
// server has stopped answering on those.
//
// `Connection` behaves as a std::unique_ptr; an empty one is no connection. Thread safety: none.
template <typename Connection>
class PoolQueue {
 public:
  using TimePoint = Breaker::TimePoint;
  enum class Answer { kNone, kServed, kRefused, kRetired };
  enum class Age { kFresh, kUnused, kTooOld };

  // One caller. It must not move while it waits in line.
  struct Caller {
    Answer answer = Answer::kNone;
    Connection connection;  // of kServed
    // Of kServed: the server answered on the connection a moment ago, so it need not be checked.
    bool proven = false;
    absl::Status error;  // of kRefused
   private:
    friend class PoolQueue;
    typename std::list<Caller*>::iterator place;
  };

  // `wake` is called for each caller that gets its answer while it waits in line.
  PoolQueue(size_t max_connections, Breaker::Duration longest_pause,
            std::function<void(Caller&)> wake)
      : max_connections_(max_connections), wake_(std::move(wake)), breaker_(longest_pause) {}

  // Answers the caller at once or puts it in line: at the end, or, with `again`, in front, because
  // the connection that it was given turned out to be dead.
  void Ask(Caller& caller, TimePoint now, bool again = false) {
    caller.answer = Answer::kNone;
    if (retired_) {
      caller.answer = Answer::kRetired;
    } else if (!idle_.empty()) {
      Serve(caller, std::move(idle_.back()), false);
      idle_.pop_back();
    } else if (!has_usable() && breaker_.Refuses(now)) {
      Refuse(caller);
    } else {
      caller.place = line_.insert(again ? line_.begin() : line_.end(), &caller);
      if (!again) ++waits_;
      // This caller's attempt tests the server; the callers after it are refused meanwhile.
      if (breaker_.open() && !breaker_.Refuses(now) && open() < max_connections_) {
        breaker_.BeginProbe();
      }
    }
  }
  // Takes a caller out of the line whose deadline has passed; not one that has its answer.
  void Leave(Caller& caller) { line_.erase(caller.place); }

  // The connection comes back and can be used again; the server answered on it at `answered_at`.
  // Returns it if it must be closed.
  Connection Return(Connection connection, TimePoint answered_at) {
    --in_use_;
    if (retired_) return connection;
    NoteAnswer(answered_at);
    Offer(std::move(connection));
    return nullptr;
  }
  // The same for a connection that its caller did not use: its time was up.
  Connection PutBack(Connection connection) {
    --handed_out_;
    --in_use_;
    if (retired_) return connection;
    Offer(std::move(connection));
    return nullptr;
  }
  // A connection in use is closed: on purpose (OK), or because it broke.
  void Close(const absl::Status& why) {
    --in_use_;
    if (!why.ok()) NoteBroken(why, 1);
    RefuseIfHopeless();
  }
  // The same for one that broke before its caller used it.
  void Discard(const absl::Status& why) {
    --handed_out_;
    Close(why);
  }
  // The server answered on a connection that is in use.
  void NoteAnswer(TimePoint at) {
    hung_ = false;
    last_answer_ = std::max(last_answer_, at);
  }
  // The server gave no answer to what it was asked at `asked_at` on a connection: the others are
  // not worth a try either. Returns the idle ones. None if the server has answered on another
  // connection since: then only this one hangs. `part` as in Breaker::OnFailure.
  std::vector<Connection> Hang(TimePoint asked_at, TimePoint now, const absl::Status& why,
                               double part) {
    if (asked_at < last_answer_) return {};
    hung_ = true;
    breaker_.OnFailure(now, part);
    last_error_ = UnsharedCopy(why);
    broken_ += idle_.size();
    std::vector<Connection> idle = std::exchange(idle_, {});
    RefuseIfHopeless();
    return idle;
  }

  // When the next attempt to connect is due; TimePoint::max(): none is needed.
  TimePoint ConnectAt(TimePoint now) const {
    if (retired_ || connecting_ || open() >= max_connections_) return TimePoint::max();
    if (breaker_.probing()) return now;
    if (line_.empty()) return TimePoint::max();
    return breaker_.open() ? std::max(now, breaker_.retry_at()) : now;
  }
  // Whether to connect now. If so, Connected or FailToConnect follows.
  bool BeginConnect(TimePoint now) {
    if (ConnectAt(now) > now) return false;
    if (breaker_.open()) breaker_.BeginProbe();
    connecting_ = true;
    return true;
  }
  // Returns the connection if it must be closed.
  Connection Connected(Connection connection, TimePoint now) {
    connecting_ = false;
    NoteAnswer(now);
    ++connects_;
    if (broken_ > 0) --broken_, ++reconnects_;
    last_error_ = absl::OkStatus();
    breaker_.OnSuccess();
    if (retired_) return connection;
    Offer(std::move(connection));
    return nullptr;
  }
  void FailToConnect(TimePoint now, const absl::Status& why, double part) {
    connecting_ = false;
    ++failures_;
    last_error_ = UnsharedCopy(why);
    breaker_.OnFailure(now, part);
    RefuseIfHopeless();
  }

  // Returns the idle connections that are too old, and those unused for too long but for the
  // `min_idle` used last. `age_of(connection)` says which they are.
  template <typename AgeOf>
  std::vector<Connection> TakeExpired(size_t min_idle, AgeOf age_of) {
    size_t spare = idle_.size() - std::min(idle_.size(), min_idle);
    std::vector<Connection> kept, expired;
    for (Connection& connection : idle_) {  // the longest idle first
      const Age age = age_of(connection);
      const bool unused = age == Age::kUnused && spare > 0;
      if (unused) --spare;
      (unused || age == Age::kTooOld ? expired : kept).push_back(std::move(connection));
    }
    idle_ = std::move(kept);
    return expired;
  }
  // Stops serving callers. Returns the idle connections.
  std::vector<Connection> Retire() {
    retired_ = true;
    while (!line_.empty()) AnswerFirst(Answer::kRetired);
    return std::exchange(idle_, {});
  }

  bool retired() const { return retired_; }
  bool connecting() const { return connecting_; }
  // Connections that are open or being made.
  size_t open() const { return in_use_ + idle_.size() + connecting_; }
  size_t in_use() const { return in_use_; }
  size_t idle() const { return idle_.size(); }
  size_t waiting() const { return line_.size(); }
  // How many connections callers share at most now: fewer than allowed after a failed attempt.
  size_t limit() const {
    return breaker_.open() && has_usable() ? in_use_ + idle_.size() : max_connections_;
  }
  // Callers are refused because the server does not answer.
  bool refusing() const { return breaker_.open() && !has_usable(); }
  const absl::Status& last_error() const { return last_error_; }

  // Counters, since the beginning.
  uint64_t handed_out() const { return handed_out_; }
  uint64_t waits() const { return waits_; }
  uint64_t refusals() const { return refusals_; }
  uint64_t connects() const { return connects_; }
  uint64_t reconnects() const { return reconnects_; }
  uint64_t failures() const { return failures_; }

 private:
  bool has_usable() const { return !hung_ && in_use_ + idle_.size() > 0; }

  void Serve(Caller& caller, Connection connection, bool proven) {
    ++in_use_;
    ++handed_out_;
    caller.answer = Answer::kServed;
    caller.connection = std::move(connection);
    caller.proven = proven;
  }
  void Refuse(Caller& caller) {
    ++refusals_;
    caller.answer = Answer::kRefused;
    caller.error = UnsharedCopy(last_error_);
  }
  // A connection the server has just answered on.
  void Offer(Connection connection) {
    if (line_.empty()) return idle_.push_back(std::move(connection));
    Caller& first = *line_.front();
    line_.pop_front();
    Serve(first, std::move(connection), true);
    wake_(first);
  }
  void AnswerFirst(Answer answer) {
    Caller& first = *line_.front();
    line_.pop_front();
    if (answer == Answer::kRefused) Refuse(first);
    first.answer = answer;
    wake_(first);
  }
  // Refuses callers: nothing is open, and no attempt is made before the pause ends.
  void RefuseIfHopeless() {
    if (!breaker_.open() || breaker_.probing() || has_usable()) return;
    while (!line_.empty()) AnswerFirst(Answer::kRefused);
  }
  void NoteBroken(const absl::Status& why, size_t count) {
    failures_ += count;
    broken_ += count;
    last_error_ = UnsharedCopy(why);
  }

  const size_t max_connections_;
  const std::function<void(Caller&)> wake_;
  bool retired_ = false;
  bool connecting_ = false;
  // The server gave no answer on a connection, and none on another one since.
  bool hung_ = false;
  TimePoint last_answer_ = TimePoint::min();
  size_t in_use_ = 0;
  std::vector<Connection> idle_;  // the one used last at the end; empty while callers wait
  std::list<Caller*> line_;
  Breaker breaker_;
  absl::Status last_error_;
  size_t broken_ = 0;  // connections that broke and have not been replaced
  uint64_t handed_out_ = 0, waits_ = 0, refusals_ = 0;
  uint64_t connects_ = 0, reconnects_ = 0, failures_ = 0;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_POOL_QUEUE_H_
