// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ZOOKEEPER_SESSION_H_
#define LOCUS_SRC_ENGINE_ZOOKEEPER_SESSION_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/zookeeper.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/mutex.h"

namespace locus::zookeeper {

using TimePoint = std::chrono::steady_clock::time_point;

// A znode's value and the fields of its Stat.
struct Znode {
  std::string value;
  int32_t version = 0;
  int64_t zxid = 0;   // of the transaction that wrote the value
  absl::Time mtime;   // the leader's clock at that write
  int64_t owner = 0;  // the session of an ephemeral znode; 0: it is persistent
};

// One change of a transaction.
struct Change {
  enum class Kind { kCreate, kCreateEphemeral, kSet, kDelete, kCheck };
  Kind kind = Kind::kCheck;
  std::string path;
  std::string value;     // of kCreate, kCreateEphemeral and kSet
  int32_t version = -1;  // of kSet, kDelete and kCheck; -1: any
};

// Sends requests over a session with the ensemble, and begins another one when it has expired. The
// client library calls back on threads of its own; nothing there blocks. The stores of this folder
// read znodes, let the shared rules decide, and write them in one transaction that checks the
// versions that were read (tree.h, space_text.h).
// Thread safety: all methods may be called from any thread. Fork: callers ask forked() first, and
// do not destroy the object in a child.
class Session {
 public:
  // As ZookeeperWorkerLeaseStore::Open.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const ZookeeperOptions& options);
  ~Session();

  bool forked() const { return process_.forked(); }
  absl::Status RefuseFork() const;
  TimePoint Deadline() const { return std::chrono::steady_clock::now() + timeout_; }

  // UNAVAILABLE: the session is not connected, or there was no answer by the deadline; a change may
  // still have been made. FAILED_PRECONDITION: refused; a repetition would be refused as well.

  // nullopt: there is none. Reads what the server that this session is connected to has; after a
  // write of this session, that and everything before it.
  absl::StatusOr<std::optional<Znode>> Get(const std::string& path, TimePoint deadline);
  // The same for each path, at once.
  absl::StatusOr<std::vector<std::optional<Znode>>> GetEach(std::span<const std::string> paths,
                                                            TimePoint deadline);
  // The names of a znode's children, in order. nullopt: there is no such znode.
  absl::StatusOr<std::optional<std::vector<std::string>>> Children(const std::string& path,
                                                                   TimePoint deadline);
  // Writes an empty value whatever the version; returns the Stat. nullopt: there is no such znode.
  absl::StatusOr<std::optional<Znode>> Touch(const std::string& path, TimePoint deadline);
  // Makes a persistent, empty znode. OK also if it was there.
  absl::Status Make(const std::string& path, TimePoint deadline);
  // All changes or none. False: a znode was not there, was there already, or had another version.
  absl::StatusOr<bool> Commit(std::span<const Change> changes, TimePoint deadline);

  // The ID of the session that is connected now, by which ephemeral znodes name their owner; 0:
  // none.
  int64_t id() const;
  // "zookeeper h1:p1,h2:p2"
  const std::string& place() const { return place_; }
  void CountConflict() { ++conflicts_; }
  ZookeeperStats Stats() const;

 private:
  class Handle;
  class Call;
  explicit Session(const ZookeeperOptions& options, internal::SecretBytes credentials);

  // The handle of a session that is connected.
  absl::StatusOr<std::shared_ptr<Handle>> Connected(TimePoint deadline);
  absl::StatusOr<std::shared_ptr<Handle>> Begin();
  // Starts a request and waits for its end. The library's code of the answer, of those that are
  // listed; otherwise an error.
  absl::StatusOr<int> Ask(const std::shared_ptr<Call>& call, int started, TimePoint deadline,
                          std::initializer_list<int> expected);
  absl::Status StatusOf(int code) const;

  const std::string hosts_;
  const std::string place_;
  const internal::SecretBytes credentials_;  // "user:password"; empty: none
  const absl::Duration session_timeout_;
  const std::chrono::nanoseconds connect_timeout_;
  const std::chrono::nanoseconds timeout_;
  const internal::ForkGuard process_;
  std::atomic<uint64_t> requests_{0}, failures_{0}, conflicts_{0}, sessions_{0};

  mutable internal::Mutex mutex_;
  std::shared_ptr<Handle> handle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::zookeeper

#endif  // LOCUS_SRC_ENGINE_ZOOKEEPER_SESSION_H_
