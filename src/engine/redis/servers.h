// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_REDIS_SERVERS_H_
#define LOCUS_SRC_ENGINE_REDIS_SERVERS_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/base/mutex.h"
#include "src/engine/redis/connection.h"

namespace locus::redis {

constexpr size_t kSlots = 16384;

// The slot of a cluster in which `key` lies: of its tag, what stands between the first { and the
// next }, if that is not empty; else of the whole key.
uint16_t SlotOf(std::string_view key);

// Work that one thread does for all that want it done at the same time.
class SingleFlight {
 public:
  // Does `work`, or waits for another thread that is at it, and answers what came of it.
  // UNAVAILABLE at the deadline.
  absl::Status Do(const std::function<absl::Status()>& work, Deadline deadline);

 private:
  Mutex mutex_;
  CondVar landed_;
  bool under_way_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t flights_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status outcome_ ABSL_GUARDED_BY(mutex_);
};

using SharedConnection = std::shared_ptr<Connection>;

// The connection to one server, or to whichever server has a role; made when needed.
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
  Mutex mutex_;
  SharedConnection connection_ ABSL_GUARDED_BY(mutex_);
};

// Which server holds which key: always the same one, the master that the sentinels name, or that
// of the key's slot in a cluster.
// Thread safety: all methods may be called from any thread.
class Servers {
 public:
  static absl::StatusOr<std::unique_ptr<Servers>> Open(const RedisOptions& options);

  absl::StatusOr<SharedConnection> ForKey(std::string_view key, Deadline deadline);
  // The node of a cluster that a redirection names.
  absl::StatusOr<SharedConnection> At(const Address& address, Deadline deadline);
  // A slot moved for good.
  void Moved(uint16_t slot, const Address& to);
  // A connection failed, or its server is master no more: others may have taken over.
  void Failed();

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

  std::shared_ptr<Node> NodeAt(const Address& address);
  absl::Status ReadSlots(Connection& connection, Deadline deadline);
  absl::Status Refresh(Deadline deadline);

  RedisOptions options_;
  Credentials credentials_;
  Credentials sentinel_credentials_;
  std::atomic<uint64_t> connects_{0};

  std::unique_ptr<Node> single_;  // unless it is a cluster; set before the object is shared

  std::atomic<bool> stale_{false};  // of slots_: read it anew before use
  SingleFlight refresh_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Node>> nodes_ ABSL_GUARDED_BY(mutex_);
  std::vector<Address> masters_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Node>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::redis

#endif  // LOCUS_SRC_ENGINE_REDIS_SERVERS_H_
