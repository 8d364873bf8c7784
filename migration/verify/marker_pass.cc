// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/marker_pass.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "migration/cut_over/handover.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "migration/mysql/primary.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::ParseDecimal;
using internal::Quoted;
using internal::Side;
using internal::SqlText;
using SteadyClock = std::chrono::steady_clock;

static_assert(static_cast<int>(Side::kSource) == 0 && static_cast<int>(Side::kTarget) == 1,
              "sides number the directions of checkpoints");

namespace {

// How often a checkpoint is read.
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

absl::StatusOr<std::unique_ptr<MarkerPass>> MarkerPass::Open(const MysqlOptions& source,
                                                             const MysqlOptions& target,
                                                             const std::string& move) {
  std::unique_ptr<MarkerPass> pass(new MarkerPass(move));
  for (const MysqlOptions* options : {&source, &target}) {
    Shard& shard = pass->shards_[options == &source ? 0 : 1];
    LOCUS_ASSIGN_OR_RETURN(shard.handle, LogInToPrimary(*options, shard.place));
    shard.timeout = options->timeout;
    LOCUS_RETURN_IF_ERROR(pass->Ask(shard,
                                    "SET NAMES binary, autocommit = 1,"
                                    " tx_isolation = 'READ-COMMITTED', sql_mode = ''",
                                    kNoRows)
                              .status());
  }
  for (size_t side : {0, 1}) {
    LOCUS_RETURN_IF_ERROR(pass->Passed(side).status());
    LOCUS_RETURN_IF_ERROR(pass->Raise(pass->shards_[side]).status());
  }
  return pass;
}

absl::StatusOr<Result> MarkerPass::Ask(Shard& shard, const std::string& statement,
                                       const Shape& shape) {
  Answer answer = mysql::Ask(
      shard.handle.get(), shard.place,
      {statement, {&shape, 1}, SteadyClock::now() + absl::ToChronoNanoseconds(shard.timeout)});
  LOCUS_RETURN_IF_ERROR(answer.results.status());
  return std::move((*answer.results)[0]);
}

absl::StatusOr<uint64_t> MarkerPass::Raise(Shard& shard) {
  // LAST_INSERT_ID gives back what this statement wrote, even if others raise the ping meanwhile.
  LOCUS_ASSIGN_OR_RETURN(
      Result raised,
      Ask(shard,
          absl::StrCat("UPDATE ", kRuns,
                       " SET ping = LAST_INSERT_ID(ping + 1) WHERE move = ", SqlText(move_)),
          kNoRows));
  if (raised.affected == 1) return raised.insert_id;
  return absl::FailedPreconditionError(absl::StrCat(
      "mariadb ", shard.place, " has no move ", Quoted(move_), " in ", kRuns, ": no stream runs"));
}

absl::StatusOr<uint64_t> MarkerPass::Passed(size_t recipient) {
  Shard& shard = shards_[recipient];
  LOCUS_ASSIGN_OR_RETURN(Result found, Ask(shard,
                                           absl::StrCat("SELECT ping FROM ", kCheckpoints,
                                                        " WHERE move = ", SqlText(move_),
                                                        " AND direction = ", recipient),
                                           AtMostOneRow(1)));
  if (!found.rows.empty() && found.rows[0][0]) {
    if (auto ping = ParseDecimal(*found.rows[0][0], UINT64_MAX)) return *ping;
  }
  return absl::FailedPreconditionError(absl::StrCat("mariadb ", shard.place, " has no move ",
                                                    Quoted(move_), " in ", kCheckpoints,
                                                    ": no stream to it has begun"));
}

absl::Status MarkerPass::operator()(TimePoint deadline) {
  std::array<uint64_t, 2> wanted;  // by recipient
  for (size_t recipient : {0, 1}) {
    LOCUS_ASSIGN_OR_RETURN(wanted[recipient], Raise(shards_[1 - recipient]));
  }
  for (size_t recipient : {0, 1}) {
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(uint64_t passed, Passed(recipient));
      if (passed >= wanted[recipient]) break;
      const TimePoint now = SteadyClock::now();
      if (now >= deadline) {
        return absl::DeadlineExceededError(
            absl::StrCat("the stream of move ", Quoted(move_), " to ", shards_[recipient].place,
                         " has not passed ping ", wanted[recipient], "; it is at ", passed,
                         ": is `locus move run` running, and how far does it lag?"));
      }
      std::this_thread::sleep_until(std::min<TimePoint>(deadline, now + kPause));
    }
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
