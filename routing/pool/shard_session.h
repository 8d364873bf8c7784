// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_SHARD_SESSION_H_
#define LOCUS_ROUTING_POOL_SHARD_SESSION_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/engine/shard_pools.h"
#include "routing/pool/shard_endpoint.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/login.h"

namespace locus::internal {

// One connection of a ShardPool. Thread safety: none.
class ShardSession {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `password` ends with a NUL.
  static absl::StatusOr<std::unique_ptr<ShardSession>> Open(const ShardEndpoint& endpoint,
                                                            const ShardPoolsSettings& options,
                                                            const char* password);

  st_mysql* handle() const { return handle_.get(); }
  const std::string& place() const { return place_; }
  TimePoint opened_at() const { return opened_at_; }
  // When the server last answered one of the session's own statements.
  TimePoint proven_at() const { return proven_at_; }

  // Whether the last call on the handle lost the connection.
  bool Lost() const;
  // Whether it cannot be reset: the connection is lost, or a result has not been read to its end.
  bool Broken() const;
  // Whether the server closed the connection or sent something unasked.
  bool Stale() const { return mysql::IsStale(handle_.get()); }
  // Pings the server. DEADLINE_EXCEEDED: no answer came by `deadline`. After any error the session
  // must be closed.
  absl::Status Ping(TimePoint deadline);
  // Makes the session what it was after Open, its role included: ends what its holder began, and
  // sends the statement that sets the session up. After an error it must be closed.
  absl::Status BeginReset();
  // Reads the answer to that statement; OK at once if none is outstanding. The next
  // user of the connection calls it, so that the answer travels while the connection changes hands.
  // DEADLINE_EXCEEDED: no answer came by `deadline`; it is still outstanding. After any other error
  // the session must be closed.
  absl::Status FinishReset(TimePoint deadline);
  bool reset_unfinished() const { return reset_unfinished_; }

 private:
  ShardSession(mysql::Handle handle, std::string place, std::chrono::nanoseconds answer_time);
  absl::Status SetUp();
  absl::Status LookAround(const ShardPoolsSettings& options);
  absl::StatusOr<std::vector<mysql::Result>> Run(const std::string& statement,
                                                 const mysql::Shape& shape);
  absl::Status ReadAnswer(TimePoint deadline);
  absl::Status Error() const { return mysql::ErrorOf(handle_.get(), place_); }

  mysql::Handle handle_;
  const std::string place_;
  const std::chrono::nanoseconds answer_time_;  // of each of the session's own statements
  const TimePoint opened_at_ = std::chrono::steady_clock::now();
  TimePoint proven_at_ = opened_at_;
  bool reset_unfinished_ = false;
  std::string set_up_;  // the statement that sets the session up
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_SHARD_SESSION_H_
