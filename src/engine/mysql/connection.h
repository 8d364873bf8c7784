// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_CONNECTION_H_
#define LOCUS_SRC_ENGINE_MYSQL_CONNECTION_H_

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

// Facts about the server that a new connection reads.
struct ServerFacts {
  bool galera = false;
  bool has_uid = false;  // the variable server_uid, which older servers lack
};

// The lowest layer of the stores of this folder: Pool owns Connections, each Connection holds a
// Login's handle and asks by Answer, within a BoundedCall. The stores run their statements through
// Pool::Use; LockedRows adds the lock of one row, and the *_rows files hold the SQL.
//
// One session on one server: autocommit, READ COMMITTED, strict, UTC, whatever the server's
// defaults are. Statements are text that holds numbers and hex literals only, never foreign text.
// Thread safety: none.
class Connection {
 public:
  // The use of the connection. kRead also accepts a server that is read-only, or that may forget
  // what it committed. kPrimary: as kWrite, but a read-only server is UNAVAILABLE, because it may
  // be a replica that is promoted soon.
  enum class Access { kWrite, kRead, kPrimary };

  // `password` ends with a NUL. Verifies the certificate if the options ask for TLS; does not look
  // at the schema. UNAVAILABLE at `deadline`, which also bounds all statements until another is
  // set.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const MysqlOptions& options,
                                                          const MysqlOptions::Host& host,
                                                          const char* password, Access access,
                                                          TimePoint deadline);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements, separated by ';', in one round trip, up to the first that fails. One result
  // for each of `shapes`, and of that shape; without shapes at least one, all of them without rows.
  // Each call ends within the options' timeout and a second, and by the deadline.
  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::span<const Shape> shapes = {},
                                          size_t most_bytes = Question::kMostBytes);
  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::initializer_list<Shape> shapes) {
    return Run(statements, {shapes.begin(), shapes.size()});
  }
  // The same, and what they read includes all that any node of a cluster committed before the call.
  absl::StatusOr<std::vector<Result>> RunCurrent(const std::string& statements,
                                                 std::span<const Shape> shapes,
                                                 size_t most_bytes = Question::kMostBytes);
  absl::StatusOr<std::vector<Result>> RunCurrent(const std::string& statements,
                                                 std::initializer_list<Shape> shapes) {
    return RunCurrent(statements, {shapes.begin(), shapes.size()});
  }
  void set_deadline(TimePoint deadline) { deadline_ = deadline; }

  // Of the last Run: the server's error number, 0: none.
  unsigned error() const { return error_; }
  // Whether the last Run failed in a way that a second attempt may not.
  bool conflict() const { return conflict_; }
  void NoteConflict() { conflict_ = true; }
  // Whether this connection is of no further use.
  bool spent() const { return spent_; }
  // Whether the server closed the idle connection, or sent something on it.
  bool Stale() const { return IsStale(handle_.get()); }

  // The number of the session on its server.
  uint64_t session() const;

  const ServerFacts& facts() const { return facts_; }
  const std::string& place() const { return place_; }

 private:
  Connection(Handle handle, std::string place, TimePoint deadline,
             std::chrono::nanoseconds answer_time)
      : handle_(std::move(handle)),
        place_(std::move(place)),
        deadline_(deadline),
        answer_time_(answer_time) {}
  absl::Status SetUpSession(const MysqlOptions& options);
  absl::Status ReadFacts(const MysqlOptions& options, Access access);

  Handle handle_;
  std::string place_;
  TimePoint deadline_;
  std::chrono::nanoseconds answer_time_;
  ServerFacts facts_;
  unsigned error_ = 0;
  bool conflict_ = false;
  bool spent_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_CONNECTION_H_
