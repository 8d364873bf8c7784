// SPDX-License-Identifier: Apache-2.0
#include "src/engine/redis/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::redis {

using internal::MutexLock;
using internal::ToAbsl;

namespace {

// A connection used this recently is not checked for having been closed: the check is a system
// call.
constexpr auto kIdle = std::chrono::milliseconds(1);

// For all replies of one exchange. The longest legal one shows a space of 65,536 sections (13 MB).
constexpr size_t kMostMemory = 96 << 20;

int MillisecondsUntil(Deadline deadline) {
  auto left = deadline - std::chrono::steady_clock::now();
  auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
  return static_cast<int>(std::clamp<int64_t>(ms, 0, 3600'000));
}

}  // namespace

Connection::Connection(const Address& address, int fd, int wake_fd)
    : address_(address), fd_(fd), wake_fd_(wake_fd) {}

Connection::~Connection() {
  close(fd_);
  close(wake_fd_);
}

absl::Status Connection::Lost(std::string_view why) const {
  return absl::UnavailableError(absl::StrCat("redis ", ToString(address_), ": ", ToAbsl(why)));
}

bool Connection::Usable() {
  MutexLock lock(mutex_);
  if (broken_) return false;
  if (!pending_.empty() || std::chrono::steady_clock::now() - last_use_ < kIdle) return true;
  char byte;
  ssize_t size = recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  Break(Lost(size == 0 ? "the server has closed the connection"
                       : "the server sent unrequested data, or the socket failed"));
  return false;
}

void Connection::Abandon(const absl::Status& why) {
  MutexLock lock(mutex_);
  Break(why);
}

void Connection::Start(Exchange& exchange, std::string_view commands, size_t replies,
                       Deadline deadline) {
  exchange.missing = replies;
  exchange.deadline = deadline;
  exchange.replies.reserve(replies);
  MutexLock lock(mutex_);
  if (broken_) {
    exchange.done = true;
    exchange.status = why_broken_;
    return;
  }
  exchange.sent = true;
  pending_.push_back(&exchange);
  last_use_ = std::chrono::steady_clock::now();
  if (unsent_.empty()) {
    ssize_t size = send(fd_, commands.data(), commands.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno != EAGAIN && errno != EINTR) {
      Break(Lost(absl::StrCat("cannot send: ", std::strerror(errno))));
      exchange.sent = false;
      return;
    }
    commands.remove_prefix(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }
  if (commands.empty()) return;
  unsent_ += commands;
  if (led_) PokeLeader();
}

absl::Status Connection::Finish(Exchange& exchange) {
  MutexLock lock(mutex_);
  exchange.waiting = true;
  while (!exchange.done) {
    if (!led_) {
      led_ = true;
      Lead(exchange);
      led_ = false;
      WakeNextLeader();
    } else if (std::chrono::steady_clock::now() >= exchange.deadline) {
      Break(Lost("no answer in time"));
    } else {
      exchange.wake.WaitUntil(mutex_, exchange.deadline);
    }
  }
  return exchange.status;
}

void Connection::Lead(Exchange& mine) {
  std::vector<Received> replies;
  while (!mine.done) {
    Deadline deadline = EarliestDeadline();
    bool wants_write = !unsent_.empty();
    replies.clear();
    mutex_.Unlock();
    absl::Status status = Read(wants_write, deadline, replies);
    mutex_.Lock();
    HandOut(replies);
    if (broken_) return;
    if (!status.ok()) return Break(status);
    if (!unsent_.empty()) Flush();
    if (!pending_.empty() && std::chrono::steady_clock::now() >= EarliestDeadline()) {
      return Break(Lost("no answer in time"));
    }
  }
}

Deadline Connection::EarliestDeadline() const {
  Deadline earliest = Deadline::max();
  for (const Exchange* exchange : pending_) earliest = std::min(earliest, exchange->deadline);
  return earliest;
}

absl::Status Connection::Read(bool wants_write, Deadline deadline, std::vector<Received>& replies) {
  short wanted = static_cast<short>(POLLIN | (wants_write ? POLLOUT : 0));
  pollfd watched[] = {{fd_, wanted, 0}, {wake_fd_, POLLIN, 0}};
  int ready = poll(watched, 2, MillisecondsUntil(deadline));
  if (ready <= 0) return absl::OkStatus();  // the leader checks the deadline
  if ((watched[1].revents & POLLIN) != 0) {
    uint64_t pokes;
    [[maybe_unused]] ssize_t ignored = read(wake_fd_, &pokes, sizeof pokes);
  }
  if ((watched[0].revents & ~POLLOUT) == 0) return absl::OkStatus();
  char buffer[1 << 16];
  ssize_t size = recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT);
  if (size == 0) return Lost("the server has closed the connection");
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
  if (size < 0) return Lost(absl::StrCat("cannot receive: ", std::strerror(errno)));
  reader_.Feed({buffer, static_cast<size_t>(size)});
  while (true) {
    Reply reply;
    absl::StatusOr<bool> whole = reader_.Next(reply);
    if (!whole.ok()) {
      return Lost({whole.status().message().data(), whole.status().message().size()});
    }
    if (!*whole) return absl::OkStatus();
    replies.push_back({std::move(reply), reader_.last_cost()});
  }
}

void Connection::HandOut(std::vector<Received>& replies) {
  for (Received& received : replies) {
    if (broken_) return;  // every exchange has failed already
    if (pending_.empty()) return Break(Lost("the server sent an answer without a request"));
    Exchange& exchange = *pending_.front();
    exchange.cost += received.cost;
    if (exchange.cost > kMostMemory) {
      return Break(Lost(absl::StrCat("the answers take more than ", kMostMemory, " bytes")));
    }
    exchange.replies.push_back(std::move(received.reply));
    if (--exchange.missing > 0) continue;
    pending_.pop_front();
    exchange.done = true;
    exchange.wake.NotifyAll();
  }
}

void Connection::Flush() {
  ssize_t size = send(fd_, unsent_.data(), unsent_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size >= 0) {
    unsent_.erase(0, static_cast<size_t>(size));
  } else if (errno != EAGAIN && errno != EINTR) {
    Break(Lost(absl::StrCat("cannot send: ", std::strerror(errno))));
  }
}

// Shuts the socket down but does not close it: another thread may be about to use its descriptor,
// which a new socket could get meanwhile. The destructor closes it.
void Connection::Break(const absl::Status& why) {
  if (broken_) return;
  broken_ = true;
  why_broken_ = why;
  shutdown(fd_, SHUT_RDWR);
  PokeLeader();
  for (Exchange* exchange : pending_) {
    exchange->done = true;
    exchange->status = why;
    exchange->wake.NotifyAll();
  }
  pending_.clear();
  unsent_.clear();
}

void Connection::WakeNextLeader() {
  auto next = std::find_if(pending_.begin(), pending_.end(),
                           [](const Exchange* exchange) { return exchange->waiting; });
  if (next != pending_.end()) (*next)->wake.NotifyAll();
}

void Connection::PokeLeader() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t ignored = write(wake_fd_, &one, sizeof one);
}

absl::StatusOr<std::vector<Reply>> Connection::Ask(std::string_view commands, size_t replies,
                                                   Deadline deadline) {
  Exchange exchange;
  Start(exchange, commands, replies, deadline);
  LOCUS_RETURN_IF_ERROR(Finish(exchange));
  return std::move(exchange.replies);
}

}  // namespace locus::redis
