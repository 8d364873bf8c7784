// SPDX-License-Identifier: Apache-2.0
#include "migration/run/shard_link.h"

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

using SteadyClock = std::chrono::steady_clock;

absl::StatusOr<std::unique_ptr<ShardLink>> ShardLink::Create(const MysqlOptions& server,
                                                             Connection::Access access) {
  LOCUS_RETURN_IF_ERROR(server.Check());
  LOCUS_ASSIGN_OR_RETURN(internal::SecretBytes password,
                         internal::SecretBytes::Allocate(server.password.size() + 1));
  internal::CopySecret(server.password.data(), password.data(), server.password.size());
  return std::unique_ptr<ShardLink>(
      new ShardLink(WithoutPassword(server), std::move(password), access));
}

MysqlOptions ShardLink::Options() const {
  MysqlOptions options = server_;
  options.password = password_.data();
  return options;
}

FenceOptions FenceOptionsOf(const Move& move) {
  FenceOptions options;
  for (const MovedTable& table : move.tables) options.tables.push_back(table.guard);
  options.movers = move.movers;
  return options;
}

Move WithoutPasswords(Move move) {
  for (MoveShard* shard : {&move.source, &move.target}) {
    shard->server = WithoutPassword(std::move(shard->server));
  }
  return move;
}

std::string ShardLink::place() const {
  return connection_ ? connection_->place() : LoginOf(server_, server_.hosts.front()).place();
}

absl::Status ShardLink::Connect() {
  if (connection_ && !connection_->spent() && !connection_->Stale()) return absl::OkStatus();
  uint64_t lost = 0;
  std::string lost_place;
  if (connection_ && connection_->spent()) {
    lost = connection_->session();
    lost_place = connection_->place();
  }
  connection_ = nullptr;
  absl::Status last;
  for (const MysqlOptions::Host& host : server_.hosts) {
    auto opened = Connection::Open(
        server_, host, password_.data(), access_,
        SteadyClock::now() + absl::ToChronoNanoseconds(server_.connect_timeout + server_.timeout));
    if (opened.ok()) {
      connection_ = *std::move(opened);
      return lost == 0 ? absl::OkStatus() : EndSession(lost, lost_place);
    }
    last = opened.status();
  }
  return last;
}

absl::StatusOr<std::vector<Result>> ShardLink::Run(const std::string& statements,
                                                   std::initializer_list<Shape> shapes) {
  error_ = 0;
  conflict_ = false;
  const int before = odd_;  // connecting calls this as well
  if (before_statement_) before_statement_(statements);
  if (in_transaction_ || in_session_) {
    // On another connection the statement would be committed by itself, or without the locks.
    if (!connection_ || connection_->spent() || connection_->Stale()) {
      return absl::UnavailableError(
          absl::StrCat("mariadb ", place(), ": the connection broke inside a ",
                       in_transaction_ ? "transaction" : "session that has locks"));
    }
  } else {
    LOCUS_RETURN_IF_ERROR(Connect());
  }
  // The server gives up first; its error arrives up to a second later, which Connection knows.
  connection_->set_deadline(SteadyClock::now() + absl::ToChronoNanoseconds(server_.timeout) +
                            std::chrono::seconds(2));
  auto results = connection_->Run(statements, shapes);
  error_ = connection_->error();
  conflict_ = connection_->conflict();
  // A result of another shape. A broken connection may cause it as well, so it counts against the
  // server only if the next connections return it again.
  const bool odd = absl::IsFailedPrecondition(results.status()) && error_ == 0;
  odd_ = odd ? before + 1 : 0;
  if (odd && odd_ < kMostOdd) return absl::UnavailableError(results.status().message());
  return results;
}

absl::Status ShardLink::EndSession(uint64_t session, const std::string& place) {
  // Only sessions of this account: a server counts from 1 again when it starts, so the number may
  // now be another account's.
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      Run(absl::StrCat("SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ", session,
                       " AND USER = SUBSTRING_INDEX(USER(), '@', 1) AND COMMAND = 'Query'"),
          {AtMostOneRow(1)}));
  if (results[0].rows.empty() || this->place() != place) return absl::OkStatus();
  // The session may have ended by itself meanwhile.
  Run(absl::StrCat("KILL ", session)).IgnoreError();
  return absl::OkStatus();
}

void ShardLink::EndLostSession() {
  if (connection_ && connection_->spent()) Connect().IgnoreError();
}

absl::Status ShardLink::CheckPrimary() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results,
                         Run("SELECT @@GLOBAL.read_only", {OneRow(1)}));
  if (results[0].rows[0][0] == "0") return absl::OkStatus();
  const std::string old = place();
  connection_ = nullptr;
  return absl::UnavailableError(absl::StrCat("mariadb ", old, ": the server is read-only"));
}

absl::Status ShardLink::InSession(const std::function<absl::Status()>& work) {
  in_session_ = true;
  const absl::Status status = work();
  in_session_ = false;
  return status;
}

absl::Status ShardLink::Transact(const std::function<absl::Status()>& work) {
  LOCUS_RETURN_IF_ERROR(Run("START TRANSACTION").status());
  in_transaction_ = true;
  absl::Status status = work();
  if (status.ok()) {
    status = Run("COMMIT").status();
  } else {
    // The caller asks for the error of the work's last statement, not of the ROLLBACK.
    const unsigned error = error_;
    const bool conflict = conflict_;
    Run("ROLLBACK").IgnoreError();
    error_ = error;
    conflict_ = conflict;
  }
  in_transaction_ = false;
  return status;
}

}  // namespace locus::mysql
