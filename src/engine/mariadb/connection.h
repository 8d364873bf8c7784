// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MARIADB_CONNECTION_H_
#define LOCUS_SRC_ENGINE_MARIADB_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mariadb.h"
#include "src/engine/mariadb/login.h"

namespace locus::mariadb {

// What a server answers to one statement.
struct Result {
  using Row = std::vector<std::optional<std::string>>;
  std::vector<Row> rows;
  uint64_t affected = 0;   // of a statement without rows
  uint64_t insert_id = 0;  // likewise: what LAST_INSERT_ID(expression) was given
};

// What a connection found at its server.
struct ServerFacts {
  bool galera = false;
  bool has_uid = false;  // the variable server_uid, which older servers lack
};

// One session on one server: autocommit, READ COMMITTED, strict, UTC, whatever the server's
// defaults are. Statements are text; what goes into them is numbers and hex literals.
// Thread safety: none.
class Connection {
 public:
  // What a server is asked for. kRead: one that is read-only, or may forget what it committed, does
  // as well.
  enum class Access { kWrite, kRead };

  // `password` ends with a NUL. Verifies the certificate where the options ask for TLS; does not
  // look at the schema.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const MariadbOptions& options,
                                                          const MariadbOptions::Host& host,
                                                          const char* password,
                                                          Access access = Access::kWrite);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Runs statements separated by ';' in one round trip, up to the first that fails; a result each.
  absl::StatusOr<std::vector<Result>> Run(const std::string& statements);
  // The same, but what they read is all that any node of a cluster has committed before.
  absl::StatusOr<std::vector<Result>> RunCurrent(const std::string& statements);
  // Of the last Run: the server's error number, 0: none.
  unsigned error() const { return error_; }
  // Whether it failed in a way that a second attempt may not.
  bool conflict() const { return conflict_; }
  void NoteConflict() { conflict_ = true; }
  // Whether nothing more is to be had from this connection.
  bool spent() const { return spent_; }
  // Whether the server closed it, or said something, while nobody asked.
  bool Stale() const { return IsStale(handle_.get()); }

  const ServerFacts& facts() const { return facts_; }
  const std::string& place() const { return place_; }

 private:
  Connection(Handle handle, std::string place)
      : handle_(std::move(handle)), place_(std::move(place)) {}
  absl::Status SetUpSession(const MariadbOptions& options);
  absl::Status LookAtServer(const MariadbOptions& options, Access access);
  absl::Status Fail();

  Handle handle_;
  std::string place_;
  ServerFacts facts_;
  unsigned error_ = 0;
  bool conflict_ = false;
  bool spent_ = false;
};

// The number in a column that cannot be NULL; DATA_LOSS: there is no such number.
absl::StatusOr<int64_t> NumberIn(const Result::Row& row, size_t column, std::string_view place);

}  // namespace locus::mariadb

#endif  // LOCUS_SRC_ENGINE_MARIADB_CONNECTION_H_
