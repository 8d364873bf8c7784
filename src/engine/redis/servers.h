// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_SERVERS_H_
#define LOCUS_SRC_ENGINE_REDIS_SERVERS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/run/mutex.h"
#include "src/engine/redis/answers.h"
#include "src/engine/redis/connection.h"

namespace locus::redis {

// The slot of a cluster in which `key` lies. Hashed is the key's tag (the text between the first {
// and the next }) if it has one that is not empty, otherwise the whole key.
uint16_t SlotOf(std::string_view key);

// Lets one thread do a piece of work for all threads that want it done at the same time.
class SingleFlight {
 public:
  // Does `work`, or waits for a thread that is doing it; returns its outcome. UNAVAILABLE at the
  // deadline.
  absl::Status Do(const std::function<absl::Status()>& work, Deadline deadline);

 private:
  internal::Mutex mutex_;
  internal::CondVar landed_;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t flights_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
};

using SharedConnection = std::shared_ptr<Connection>;

// The connection to one server, or to the server that has a role now; made when needed.
class Node {
 public:
  using Connect = std::function<absl::StatusOr<SharedConnection>(Deadline)>;
  explicit Node(Connect connect) : connect_(std::move(connect)) {}
  absl::StatusOr<SharedConnection> Get(Deadline deadline);
  void Put(SharedConnection connection);

 private:
  SharedConnection Current();

  const Connect connect_;
  SingleFlight flight_;
  internal::Mutex mutex_;
  SharedConnection connection_ ABSL_GUARDED_BY(mutex_);
};

// Knows which server holds a key: one fixed server, the master that the sentinels name, or the
// master of the key's slot in a cluster.
// Thread safety: all methods may be called from any thread.
class Servers {
 public:
  static absl::StatusOr<std::unique_ptr<Servers>> Open(const RedisOptions& options);

  absl::StatusOr<SharedConnection> ForKey(std::string_view key, Deadline deadline);
  // A node of a cluster, as a redirection names it.
  absl::StatusOr<SharedConnection> At(const Address& address, Deadline deadline);
  // A slot has moved (MOVED, not ASK).
  void Moved(uint16_t slot, const Address& to);
  // A connection failed, or its server is no longer a master: another may have taken over.
  void Failed();

  // Whether all keys are on one server of a fixed address: nothing makes another one master.
  bool is_one() const { return single_ != nullptr && options_.master_name.empty(); }
  uint64_t connects() const { return connects_.load(std::memory_order_relaxed); }
  const RedisOptions& options() const { return options_; }  // without passwords

 private:
  explicit Servers(const RedisOptions& options);
  absl::Status TakeSecrets(const RedisOptions& options);
  absl::Status Begin(Deadline deadline);

  absl::StatusOr<SharedConnection> Connect(const Address& address, Deadline deadline);
  absl::StatusOr<SharedConnection> ConnectToMaster(const Address& address, Deadline deadline);
  absl::StatusOr<SharedConnection> ConnectBySentinels(Deadline deadline);
  absl::StatusOr<Address> AskSentinel(const Address& sentinel, Deadline deadline);
  // Asks one after another until one gives OK or the deadline has passed; otherwise the error of
  // the last one. Begins behind the one that failed the last time: one that hangs does not take the
  // time of each call.
  absl::Status TryInTurn(const std::vector<Address>& addresses, Deadline deadline,
                         const std::function<absl::Status(const Address&)>& ask);

  std::shared_ptr<Node> NodeAt(const Address& address);
  absl::Status ReadSlots(Connection& connection, Deadline deadline);
  absl::Status Refresh(Deadline deadline);

  RedisOptions options_;
  Credentials credentials_;
  Credentials sentinel_credentials_;
  std::atomic<uint64_t> connects_{0};
  std::atomic<size_t> turn_{0};

  std::unique_ptr<Node> single_;  // unless it is a cluster; set before the object is shared

  std::atomic<bool> stale_{false};  // slots_ must be read again before use
  SingleFlight refresh_;
  internal::Mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
  std::vector<Address> masters_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Node>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_SERVERS_H_
