// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_PENDING_ANSWER_H_
#define LOCUS_SRC_HTTP_PENDING_ANSWER_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "src/http/answer_text.h"
#include "src/http/server.h"

// Only server.cc includes it.

namespace locus::http {

// An answer on its way from the handler, which may be in another thread, to its connection. Held by
// both.
class PendingAnswer {
 public:
  // `io` of the connection, with all that its thread needs.
  explicit PendingAnswer(std::shared_ptr<boost::asio::io_context> io)
      : owned_(std::move(io)), io_(*owned_) {}

  // Once, by any thread.
  void Give(ServerAnswer answer) {
    answer_ = std::move(answer);
    const std::shared_ptr<boost::asio::io_context> io = std::move(owned_);  // outlives its thread
    if (state_.exchange(State::kGiven) != State::kAwaited) return;
    boost::asio::post(*io, std::move(resume_));
  }
  // By the connection. `resume` is called by its thread, once there is an answer.
  void Await(absl::AnyInvocable<void()> resume) {
    resume_ = std::move(resume);
    State nothing = State::kNothing;
    if (!state_.compare_exchange_strong(nothing, State::kAwaited)) {
      boost::asio::post(io_, std::move(resume_));
    }
  }
  bool given() const { return state_ == State::kGiven; }
  ServerAnswer Take() { return std::move(answer_); }

 private:
  enum class State { kNothing, kAwaited, kGiven };
  std::shared_ptr<boost::asio::io_context> owned_;
  boost::asio::io_context& io_;
  ServerAnswer answer_;                // kGiven publishes it
  absl::AnyInvocable<void()> resume_;  // and kAwaited this
  std::atomic<State> state_ = State::kNothing;
};

// Gives an answer once; without a call, 500.
class AnswerGiver {
 public:
  explicit AnswerGiver(std::shared_ptr<PendingAnswer> answer) : answer_(std::move(answer)) {}
  ~AnswerGiver() {
    if (!given_) Give(Problem(500, "the server dropped the request"));
  }
  AnswerGiver(const AnswerGiver&) = delete;
  AnswerGiver& operator=(const AnswerGiver&) = delete;
  void Give(ServerAnswer answer) {
    if (!given_.exchange(true)) answer_->Give(std::move(answer));
  }

 private:
  const std::shared_ptr<PendingAnswer> answer_;
  std::atomic<bool> given_ = false;
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_PENDING_ANSWER_H_
