// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_RUN_SHARD_LINK_H_
#define LOCUS_MIGRATION_RUN_SHARD_LINK_H_

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"
#include "locus/migration/move.h"
#include "src/base/os/secret_bytes.h"
#include "src/engine/mysql/connection.h"

namespace locus::mysql {

// A connection to one shard by the account that moves orders: made at the first call, and again
// after it broke. Thread safety: none, except for Options().
class ShardLink {
 public:
  // Does not connect. The password is kept in memory that core dumps omit. `access`: kRead for a
  // replica. Otherwise to the first of the hosts that is not read-only: replicas in its list are
  // skipped until they are promoted.
  static absl::StatusOr<std::unique_ptr<ShardLink>> Create(
      const MysqlOptions& server, Connection::Access access = Connection::Access::kPrimary);
  // To the same shard.
  absl::StatusOr<std::unique_ptr<ShardLink>> Another() const { return Create(Options(), access_); }

  // Called with each statement before it is sent; for tests that let something die between any two.
  using Hook = std::function<void(const std::string& statement)>;
  void set_before_statement(Hook hook) { before_statement_ = std::move(hook); }

  // With the password, for callers that connect by themselves; they must not keep it.
  MysqlOptions Options() const;

  // As Connection::Run, within the options' timeout, in whole seconds, and one more.
  // UNAVAILABLE: the shard does not answer.
  absl::StatusOr<std::vector<Result>> Run(const std::string& statements,
                                          std::initializer_list<Shape> shapes = {});
  // Runs `work` between START TRANSACTION and COMMIT, and rolls back where it fails. Once the
  // connection breaks, the rest of the work's statements fail: the shard has undone the others.
  absl::Status Transact(const std::function<absl::Status()>& work);
  // Runs `work` on the connection that is there, which has what belongs to a session, as locks by
  // name. Once it breaks, the rest of the work's statements fail.
  absl::Status InSession(const std::function<absl::Status()>& work);

  // Ends an own session of the shard that gave no answer in time, if it still runs that statement,
  // for instance in a COMMIT that no replica acknowledges: no caller waits for it any more, and
  // each attempt would leave another one. `place`: of the session's server; nothing where another
  // one answers.
  absl::Status EndSession(uint64_t session, const std::string& place);

  // The same for the last connection of this link, which otherwise the next call does.
  void EndLostSession();

  // UNAVAILABLE: the server that was connected has become read-only, so another one may have been
  // promoted: the next call connects again.
  absl::Status CheckPrimary();

  // Of the last statement: the server's error number, 0: none; whether the same transaction may go
  // through when it is tried again.
  unsigned error() const { return error_; }
  bool conflict() const { return conflict_; }
  // Of the connection, by which its server names it; 0: there is none.
  uint64_t session() const { return connection_ ? connection_->session() : 0; }
  // "host:port/database"; that of the first host while there is no connection.
  std::string place() const;

 private:
  ShardLink(MysqlOptions server, internal::SecretBytes password, Connection::Access access)
      : server_(std::move(server)), password_(std::move(password)), access_(access) {}
  absl::Status Connect();

  const MysqlOptions server_;  // without the password
  const internal::SecretBytes password_;
  const Connection::Access access_;
  Hook before_statement_;
  std::unique_ptr<Connection> connection_;
  bool in_transaction_ = false, in_session_ = false;
  unsigned error_ = 0;
  bool conflict_ = false;
  static constexpr int kMostOdd = 3;
  int odd_ = 0;  // results of another shape in a row
};

// The options for the guards of a move's tables.
FenceOptions FenceOptionsOf(const Move& move);

// `move` without the passwords of its shards, which are overwritten: for callers that keep it.
Move WithoutPasswords(Move move);

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_RUN_SHARD_LINK_H_
