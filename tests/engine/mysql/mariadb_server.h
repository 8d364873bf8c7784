// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_MARIADB_SERVER_H_
#define LOCUS_TESTS_ENGINE_MYSQL_MARIADB_SERVER_H_

#include <signal.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "src/engine/mysql/connection.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// A session of a test, for statements of any shape on an honest server.
// Thread safety: none.
class SqlSession {
 public:
  static absl::StatusOr<std::unique_ptr<SqlSession>> Open(const MysqlOptions& options);

  // Statements separated by ';', up to the first that fails; a result each.
  absl::StatusOr<std::vector<mysql::Result>> Run(const std::string& statements);
  // Of the last Run: the server's error number, 0: none.
  unsigned error() const { return error_; }

 private:
  explicit SqlSession(mysql::Handle handle) : handle_(std::move(handle)) {}

  mysql::Handle handle_;
  unsigned error_ = 0;
};

// A MariaDB server of a test's own, on a free port of 127.0.0.1, with the account "locus" (password
// "s3cret", all rights on databases locus_%) and the account "root" without a password.
// Thread safety: none.
class MariadbServer {
 public:
  struct Settings {
    uint16_t server_id = 1;
    std::vector<std::string> lines = {};  // more of my.cnf, without leading dashes
    std::optional<uint16_t> port = {};
    bool make_accounts = true;  // false: root only
    // Started by root it becomes user mysql, not root: rsync, by which a Galera node takes
    // another's state, does not write as root.
    bool as_mysql = false;
  };
  explicit MariadbServer(Settings settings);
  MariadbServer() : MariadbServer(Settings{}) {}

  // Creates the data directory where there is none, and starts. More arguments for mariadbd.
  bool Start(const std::vector<std::string>& arguments = {});
  void KillHard() { server_->KillHard(); }
  // kill -9 only; also from another process.
  void SignalKill() const { kill(server_->pid(), SIGKILL); }
  void Stop() { server_->Stop(); }
  void Stall() { server_->Stall(); }
  void Resume() { server_->Resume(); }
  // Kills it and deletes all it knew; Start begins with nothing.
  void Empty();

  uint16_t port() const { return port_; }
  std::string path(const std::string& name) const { return directory_ / name; }
  std::string LogTail() const { return server_->LogTail(); }

  // As root, without a database; fails the test when the server does.
  std::vector<mysql::Result> Sql(const std::string& statements);
  absl::StatusOr<std::vector<mysql::Result>> TrySql(const std::string& statements,
                                                    absl::Duration timeout = absl::Seconds(5));
  // The first column of the first row.
  std::string Value(const std::string& query);

  // For `database` by the account "locus"; makes the database.
  MysqlOptions OptionsFor(const std::string& database);
  // As OptionsFor, but for an account that the server does not have yet.
  MysqlOptions Account(const std::string& database) const;

 private:
  // The data directory that others are copies of; empty: none can be kept.
  static std::string PreparedData();
  void WriteConfig();
  bool Install();
  bool MakeData();
  bool Answers();

  TemporaryDirectory directory_;
  Settings settings_;
  uint16_t port_;
  std::unique_ptr<PrivateServer> server_;
};

// A program of the packages, such as mariadb-dump: its exit code; output goes to `out`.
int RunProgram(const std::vector<std::string>& words, const std::string& out = "/dev/null",
               const std::string& in = "/dev/null");

// The server that the tests of a program share; started at the first call.
MariadbServer& SharedMariadb();
// A database on it that no other test uses.
MysqlOptions FreshMariadbDatabase();

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_MARIADB_SERVER_H_
