// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/marker_tables.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "src/base/os/check.h"
#include "src/base/run/backoff.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/answer.h"

namespace locus::mysql {

using internal::Backoff;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr char kTakenOverUrl[] = "locus/run_taken_over";

}  // namespace

std::vector<std::string> CreateMarkerTables() {
  const std::string name = " CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,\n";
  const std::string head = "CREATE TABLE IF NOT EXISTS ";
  return {absl::StrCat(head, kCheckpoints, " (\n  move VARCHAR(64)", name,
                       "  direction TINYINT UNSIGNED NOT NULL,\n"
                       "  run BIGINT UNSIGNED NOT NULL,\n"
                       "  position TEXT CHARACTER SET ascii NOT NULL,\n"
                       "  bands TEXT CHARACTER SET ascii NOT NULL,\n"
                       "  ping BIGINT UNSIGNED NOT NULL DEFAULT 0,\n"
                       "  counter BIGINT UNSIGNED NOT NULL,\n"
                       "  PRIMARY KEY (move, direction)\n"
                       ") ENGINE = InnoDB"),
          absl::StrCat(head, kCopies, " (\n  move VARCHAR(64)", name, "  tbl VARCHAR(64)", name,
                       "  run BIGINT UNSIGNED NOT NULL,\n"
                       "  position TEXT CHARACTER SET ascii NOT NULL,\n"
                       "  counter BIGINT UNSIGNED NOT NULL,\n"
                       "  PRIMARY KEY (move, tbl)\n"
                       ") ENGINE = InnoDB"),
          absl::StrCat(head, kRuns, " (\n  move VARCHAR(64)", name,
                       "  run BIGINT UNSIGNED NOT NULL,\n"
                       "  ping BIGINT UNSIGNED NOT NULL,\n"
                       "  counter BIGINT UNSIGNED NOT NULL,\n"
                       "  PRIMARY KEY (move)\n"
                       ") ENGINE = InnoDB")};
}

absl::Status TakenOver(const std::string& place, const std::string& move) {
  absl::Status status = absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", place, ": another `locus move run` took over move ", internal::Quoted(move)));
  status.SetPayload(kTakenOverUrl, absl::Cord());
  return status;
}

bool IsTakenOver(const absl::Status& status) {
  return status.GetPayload(kTakenOverUrl).has_value();
}

absl::Status TakeOverRun(st_mysql* handle, const std::string& place, const std::string& move,
                         uint64_t run, absl::Duration patience) {
  // The server must give up a lock before this process gives up the server. Otherwise the session
  // would go on waiting, and keep its rows locked.
  constexpr char kBriefly[] = "SET STATEMENT innodb_lock_wait_timeout = 1 FOR ";
  constexpr std::chrono::seconds kAnswer{10};
  const auto give_up = SteadyClock::now() + absl::ToChronoNanoseconds(patience);
  bool again = false;
  auto do_all = [&](const std::vector<std::string>& statements) -> absl::Status {
    for (const std::string& statement : statements) {
      Answer answer = Ask(handle, place, {statement, {&kNoRows, 1}, SteadyClock::now() + kAnswer});
      again = answer.conflict;
      LOCUS_RETURN_IF_ERROR(answer.results.status());
    }
    return absl::OkStatus();
  };
  // If this process is stopped inside the transaction, others wait no longer than this.
  LOCUS_RETURN_IF_ERROR(
      do_all({"SET idle_readonly_transaction_timeout = 0, idle_write_transaction_timeout = 0,"
              " idle_transaction_timeout = 10"}));
  LOCUS_RETURN_IF_ERROR(do_all(CreateMarkerTables()));
  const std::string set = absl::StrCat(" SET run = ", run, ", counter = counter + 1 WHERE move = ");
  // locus_run first: the tools read its row before they make a row of the others.
  const std::vector<std::string> statements = {
      "START TRANSACTION",
      absl::StrCat(kBriefly, "INSERT INTO ", kRuns, " (move, run, ping, counter) VALUES (",
                   SqlText(move), ", ", run,
                   ", 0, 1) ON DUPLICATE KEY UPDATE run = VALUES(run),"
                   " counter = counter + 1"),
      absl::StrCat(kBriefly, "UPDATE ", kCheckpoints, set, SqlText(move)),
      absl::StrCat(kBriefly, "UPDATE ", kCopies, set, SqlText(move)), "COMMIT"};
  Backoff pauses({absl::Milliseconds(2), absl::Milliseconds(200), 0.5});
  while (true) {
    const absl::Status status = do_all(statements);
    if (status.ok()) return status;
    const bool repeat = again;
    do_all({"ROLLBACK"}).IgnoreError();
    if (!repeat || !SleepBeforeRetry(pauses, give_up)) return status;
  }
}

}  // namespace locus::mysql
