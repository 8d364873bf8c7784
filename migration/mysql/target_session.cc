// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/target_session.h"

#include <mysql.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/mysql/primary.h"

namespace locus::mysql {

namespace {

std::string SqlModeOf(bool strict) {
  return absl::StrCat("sql_mode = '", strict ? "STRICT_ALL_TABLES," : "",
                      "ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'");
}

}  // namespace

absl::StatusOr<std::unique_ptr<TargetSession>> TargetSession::Open(const MysqlOptions& server) {
  std::string place;
  LOCUS_ASSIGN_OR_RETURN(Handle handle, LogInToPrimary(server, place));
  std::unique_ptr<TargetSession> session(
      new TargetSession(std::move(handle), std::move(place), server.timeout));
  // Rows of one order come in any order: a child by the stream before its parent by the copy. The
  // other shard has checked what they refer to, and an order's rows move together.
  // A wait for a lock ends before the client library takes the server for dead.
  LOCUS_RETURN_IF_ERROR(session->Run(
      absl::StrCat("SET NAMES binary, time_zone = '+00:00', ", SqlModeOf(true),
                   ", autocommit = 1, tx_isolation = 'READ-COMMITTED', foreign_key_checks = 0,"
                   " innodb_lock_wait_timeout = LEAST(@@innodb_lock_wait_timeout, ",
                   std::max(1u, WholeSeconds(server.timeout) - 1),
                   // A process that is stopped, or cut off, inside a transaction must not keep rows
                   // and fences locked for as long as TCP takes to notice.
                   "), idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0,"
                   " idle_transaction_timeout = ",
                   WholeSeconds(server.timeout) + 1)));
  LOCUS_ASSIGN_OR_RETURN(Result packet, session->Query("SELECT @@max_allowed_packet", OneRow(1)));
  LOCUS_ASSIGN_OR_RETURN(const int64_t bytes, NumberIn(packet.rows[0], 0, session->place_));
  session->max_packet_ = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  return session;
}

absl::Status TargetSession::SetStrict(bool strict) {
  // Until the server has answered, the mode is not known.
  strict_ = false;
  LOCUS_RETURN_IF_ERROR(Run(absl::StrCat("SET ", SqlModeOf(strict))));
  strict_ = strict;
  return absl::OkStatus();
}

uint64_t TargetSession::session() const { return mysql_thread_id(handle_.get()); }

absl::StatusOr<Result> TargetSession::Query(const std::string& statement, const Shape& shape) {
  Answer answer = Ask(handle_.get(), place_,
                      {statement,
                       {&shape, 1},
                       std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(timeout_)});
  conflict_ = answer.conflict;
  error_ = answer.error;
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  return std::move((*answer.results)[0]);
}

}  // namespace locus::mysql
