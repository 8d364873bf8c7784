// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_CONNECTION_H_
#define LOCUS_SRC_ENGINE_REDIS_CONNECTION_H_

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/redis.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/mutex.h"
#include "src/engine/redis/resp.h"

namespace locus::redis {

using Deadline = std::chrono::steady_clock::time_point;
using Address = RedisOptions::Address;

std::string ToString(const Address& address);

// A user's password, ready to be sent.
class Credentials {
 public:
  // Without a password: none.
  static absl::StatusOr<Credentials> Make(std::string_view user, std::string_view password);
  bool none() const { return auth_.size() == 0; }
  std::string_view auth_command() const { return auth_.view(); }

 private:
  internal::SecretBytes auth_;
};

// Facts from a server's INFO.
struct ServerView {
  std::string version;
  bool cluster = false;
  bool master = false;
  std::string run_id;
  std::string max_memory;
  std::string eviction_policy;
};
// Of any text: a field that is missing or has an absurd length stays empty.
ServerView ParseServerView(std::string_view text_of_info);

// The layers of this folder: a store has a Client, which runs Scripts where their keys are; its
// Servers find the server of a key; a Connection sends commands (resp.h) and reads replies;
// answers.h judges them. Decisions run on the server, in Lua (*_scripts.cc), because a script is
// one atomic step there. Segments and worker leases then check the script's answer against the same
// rules in C++.
//
// One socket to one server, shared by all threads of a process. A request is sent at once; the
// first thread that waits for an answer reads the answers of all threads (the leader). The
// connection breaks at the first error, at the first request whose deadline passes, and when one
// exchange's answers take too much memory; every pending request then fails.
// Thread safety: all methods may be called from any thread.
class Connection {
 public:
  struct Settings {
    const Credentials* credentials = nullptr;
    int database = 0;
    bool password_in_plain_text = false;
    bool sentinel = false;  // a sentinel has neither databases nor a server's INFO
  };
  // Connects, logs in and checks the server. UNAVAILABLE, FAILED_PRECONDITION as in redis.h.
  static absl::StatusOr<std::shared_ptr<Connection>> Open(const Address& address,
                                                          const Settings& settings,
                                                          Deadline deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A request under way. Lives until Finish has returned.
  struct Exchange {
    size_t missing = 0;  // replies
    size_t cost = 0;     // bytes of memory that the replies take
    std::vector<Reply> replies;
    Deadline deadline;
    bool sent = false;  // false: the server has seen nothing of it
    bool done = false;
    bool waiting = false;
    absl::Status status;
    internal::CondVar wake;
  };
  // Sends `commands`, to which the server sends `replies` answers. Finish must follow.
  void Start(Exchange& exchange, std::string_view commands, size_t replies, Deadline deadline);
  // Waits for the answers until the deadline. UNAVAILABLE: they did not come; if `sent`, the server
  // may still have run the commands.
  absl::Status Finish(Exchange& exchange);

  // False: broken, or closed by the server while idle.
  bool Usable();
  void Abandon(const absl::Status& why);  // the server is no longer the master
  const Address& address() const { return address_; }
  const ServerView& server() const { return server_; }

 private:
  Connection(const Address& address, int fd, int wake_fd);
  absl::Status Introduce(const Settings& settings, Deadline deadline);
  absl::Status CheckServer(const Settings& settings) const;
  absl::StatusOr<std::vector<Reply>> Ask(std::string_view commands, size_t replies,
                                         Deadline deadline);

  void Lead(Exchange& mine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  struct Received {
    Reply reply;
    size_t cost;  // bytes of memory
  };
  // Waits for the socket and reads what is there, without the lock.
  absl::Status Read(bool wants_write, Deadline deadline, std::vector<Received>& replies);
  Deadline EarliestDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandOut(std::vector<Received>& replies) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Flush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Break(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeNextLeader() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PokeLeader();
  absl::Status Lost(std::string_view why) const;

  const Address address_;
  const int fd_;
  const int wake_fd_;  // ends the leader's poll
  ServerView server_;  // set before the connection is shared

  internal::Mutex mutex_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_broken_ ABSL_GUARDED_BY(mutex_);
  bool led_ ABSL_GUARDED_BY(mutex_) = false;
  std::string unsent_ ABSL_GUARDED_BY(mutex_);
  std::deque<Exchange*> pending_ ABSL_GUARDED_BY(mutex_);
  Deadline last_use_ ABSL_GUARDED_BY(mutex_){};  // when something was last sent
  ReplyReader reader_;                           // used by the leader only
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_CONNECTION_H_
