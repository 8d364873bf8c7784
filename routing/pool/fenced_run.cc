// SPDX-License-Identifier: Apache-2.0
#include "routing/pool/fenced_run.h"

#include <algorithm>
#include <array>
#include <thread>

#include "absl/strings/str_cat.h"
#include "routing/fence/fence_row.h"
#include "routing/pool/shard_failure.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/answer.h"
#include "src/engine/mysql/errors.h"

namespace locus::internal {
namespace {

using Kind = FencedCall::Kind;
using SteadyClock = std::chrono::steady_clock;

// The timeout of each of the library's own statements. COMMIT may wait for a replica's
// acknowledgement.
constexpr std::chrono::seconds kOwnStatement{10};
constexpr Backoff::Policy kPauses{absl::Milliseconds(5), absl::Milliseconds(200), 0.5};

absl::StatusOr<std::vector<mysql::Result>> Ask(ShardConnection& connection,
                                               const std::string& statement,
                                               const mysql::Shape& shape) {
  mysql::Answer answer = mysql::Ask(connection.handle(), connection.place(),
                                    {statement, {&shape, 1}, SteadyClock::now() + kOwnStatement});
  if (answer.spent) connection.Spoil();
  if (!answer.results.ok() && answer.error != 0) return ShardErrorOf(connection);
  return std::move(answer.results);
}

struct FoundFence {
  std::optional<FenceRow> row;
  uint32_t server_id = 0;
};

absl::StatusOr<FoundFence> ReadFenceRow(const mysql::Result& result, const std::string& place) {
  FoundFence found;
  if (result.rows.empty()) return found;
  const mysql::Result::Row& row = result.rows[0];
  std::array<uint64_t, kFenceColumns> numbers{};
  for (size_t i : {0, 1, 2, 3, 4, 5, 7}) {
    LOCUS_ASSIGN_OR_RETURN(int64_t number, mysql::NumberIn(row, i, place));
    // Of the first four, the columns are SMALLINT; server_id has 32 bits.
    const int64_t most = i < 4 ? 65535 : i == 4 ? INT64_MAX : UINT32_MAX;
    if (number < 0 || number > most) {
      return absl::DataLossError(absl::StrCat(place, ": locus_fence has ", number, " in column ", i,
                                              ", at most ", most, " is possible"));
    }
    numbers[i] = static_cast<uint64_t>(number);
  }
  auto small = [&](size_t i) { return static_cast<uint32_t>(numbers[i]); };
  found.row =
      FenceRow{small(0), small(1), small(2), small(3), numbers[4], small(5), row[6].value_or("")};
  found.server_id = small(7);
  return found;
}

// Orders that wait for one another's probes: those of a move, or of a vnode whose move the table
// does not have yet.
uint64_t BandOf(const RoutingTable& table, ShardGene gene) {
  const VnodeMove* move = table.MoveOf(gene);
  if (move == nullptr) return uint64_t{1} << 32 | gene.value();
  return uint64_t{move->first} << 16 | move->last;
}

const Shard* ShardNamed(const RoutingTable& table, const std::string& name) {
  auto found = std::find_if(table.shards().begin(), table.shards().end(),
                            [&](const Shard& shard) { return shard.name == name; });
  return found == table.shards().end() ? nullptr : &*found;
}

}  // namespace

FencedRun::FencedRun(FencedContext& context, const OrderId& id, FencedCall call, TimePoint deadline,
                     const FencedTransactions::Work& work)
    : context_(context), id_(id), call_(call), deadline_(deadline), work_(work), pauses_(kPauses) {}

absl::Status FencedRun::Run() {
  while (true) {
    // Read before routing: the attempt goes by the table of this epoch or of a later one.
    const uint64_t epoch = context_.router.epoch();
    const RoutedShard shard = next_ ? *next_ : context_.router.Route(id_);
    next_.reset();
    ++context_.counters.attempts;
    const absl::Status status = Attempt(shard, epoch);
    if (status.ok() || absl::IsUnknown(status)) return status;
    if (absl::IsNotFound(status)) {
      if (call_.fence_first) return status;
      // This shard may no longer have the order, or not yet.
      ++context_.counters.rereads;
      call_ = {.kind = call_.kind == Kind::kRead ? Kind::kRead : Kind::kTransaction,
               .fence_first = true};
      checking_ = true;
      next_ = shard;
      continue;
    }
    LOCUS_RETURN_IF_ERROR(AfterAttempt(shard, epoch, status));
  }
}

absl::Status FencedRun::AfterAttempt(const RoutedShard& shard, uint64_t epoch,
                                     const absl::Status& status) {
  if (auto refusal = FenceRefusalOf(status)) {
    ++context_.counters.refusals;
    refused_ = status;
    return Follow(shard, *refusal, status);
  }
  refused_by_.clear();
  // The time ran out between two shards: the reason for leaving the first says more.
  if (absl::IsDeadlineExceeded(status) && !working_ && !refused_.ok()) return TimeIsUp(refused_);
  if (LostConflict(status)) {
    ++context_.counters.conflicts;
    next_ = shard;
    return Pause(status);
  }
  // A server that was promoted accepts writes once its fence is bound to it. A transaction whose
  // connection broke before COMMIT was rolled back.
  if (IsUnbound(status) || AnswerLost(status)) return Pause(status);
  if (working_ || !absl::IsAborted(status)) return status;
  // The pools know of a newer table.
  LOCUS_RETURN_IF_ERROR(Pause(status));
  absl::Status newer = context_.router.Refresh(epoch + 1, deadline_);
  return absl::IsDeadlineExceeded(newer) ? TimeIsUp(status) : newer;
}

absl::Status FencedRun::Follow(const RoutedShard& shard, const FenceRefusal& refusal,
                               const absl::Status& status) {
  if (SteadyClock::now() >= deadline_) return TimeIsUp(status);
  refused_by_.push_back(shard);
  const std::shared_ptr<const RoutingTable> table = context_.router.Table();
  if (table == nullptr) return status;  // a forked child
  const Shard* other = ShardNamed(*table, refusal.other);
  if (other == nullptr) {
    refused_by_.clear();
    absl::Status newer = context_.router.RefreshMove(
        id_.gene(), refusal.step,
        std::min(deadline_, SteadyClock::now() +
                                absl::ToChronoNanoseconds(pauses_.Next(RandomWord().value_or(0)))));
    if (!newer.ok() && !absl::IsDeadlineExceeded(newer)) return newer;
    // The table knew the step all along, so nothing has been waited for.
    const bool waited = !newer.ok() || context_.router.epoch() != table->epoch();
    return waited ? absl::OkStatus() : Pause(status);
  }
  const bool asked = std::any_of(refused_by_.begin(), refused_by_.end(),
                                 [&](const RoutedShard& one) { return one.id == other->id; });
  if (asked) return WaitForBand(*table, status);
  next_ = RoutedShard(*other);
  return absl::OkStatus();
}

// Every shard that was asked names another one of them: the order is between two of them.
absl::Status FencedRun::WaitForBand(const RoutingTable& table, const absl::Status& status) {
  const uint64_t epoch = table.epoch();
  const std::optional<uint32_t> accepting = context_.probes.Wait(
      BandOf(table, id_.gene()), deadline_, [this, epoch] { return Probe(epoch); });
  if (!accepting) return TimeIsUp(status);
  for (const RoutedShard& shard : refused_by_) {
    if (shard.id == *accepting) next_ = shard;
  }
  refused_by_.clear();
  return absl::OkStatus();
}

std::optional<uint32_t> FencedRun::Probe(uint64_t epoch) {
  for (const RoutedShard& shard : refused_by_) {
    absl::StatusOr<ShardConnection> connection = context_.pools.Take(shard, epoch, deadline_);
    if (connection.ok() && AskFence(*connection, /*locking=*/false).ok()) return shard.id;
  }
  return std::nullopt;
}

absl::Status FencedRun::Pause(const absl::Status& status) {
  const TimePoint next =
      SteadyClock::now() + absl::ToChronoNanoseconds(pauses_.Next(RandomWord().value_or(0)));
  if (next >= deadline_) return TimeIsUp(status);
  std::this_thread::sleep_until(next);
  return absl::OkStatus();
}

absl::Status FencedRun::TimeIsUp(const absl::Status& status) const {
  return absl::AbortedError(
      absl::StrCat("order ", id_.ToString(),
                   " was not accepted before the deadline; the last answer: ", status.message()));
}

absl::Status FencedRun::Attempt(const RoutedShard& shard, uint64_t epoch) {
  working_ = false;
  LOCUS_ASSIGN_OR_RETURN(ShardConnection connection, context_.pools.Take(shard, epoch, deadline_));
  working_ = true;
  const bool transaction = call_.kind == Kind::kTransaction || call_.fence_first;
  if (transaction) LOCUS_RETURN_IF_ERROR(Begin(connection));
  if (call_.fence_first) LOCUS_RETURN_IF_ERROR(LockFence(connection));
  absl::Status status = work_(connection);
  if (!transaction && call_.kind == Kind::kStatement && AnswerLost(status)) {
    return UnknownCommit(status);
  }
  // Giving the connection back rolls back.
  if (!status.ok() || !transaction) return status;
  return Commit(connection);
}

absl::Status FencedRun::Begin(ShardConnection& connection) {
  const auto left = std::chrono::floor<std::chrono::seconds>(deadline_ - SteadyClock::now());
  return Ask(connection,
             absl::StrCat("SET autocommit = 0, innodb_lock_wait_timeout ="
                          " LEAST(@@innodb_lock_wait_timeout, ",
                          std::clamp<int64_t>(left.count(), 1, 3600), ")"),
             mysql::kNoRows)
      .status();
}

absl::Status FencedRun::Commit(ShardConnection& connection) {
  mysql::Answer answer =
      mysql::Ask(connection.handle(), connection.place(),
                 {"COMMIT", {&mysql::kNoRows, 1}, SteadyClock::now() + kOwnStatement});
  if (answer.spent) connection.Spoil();
  // A transaction that only read has nothing to lose.
  if (answer.results.ok() || call_.kind == Kind::kRead) return absl::OkStatus();
  // It was not sent, and giving the connection back rolls back.
  if (answer.error == mysql::kOutOfSync) {
    return absl::FailedPreconditionError(absl::StrCat(
        "order ", id_.ToString(), ": nothing was committed, because the work left a result of ",
        connection.place(), " unread; read or free every result in the work"));
  }
  // An error of the server on a connection that stays usable says that it rolled back.
  if (answer.error != 0 && !answer.spent) return ShardErrorOf(connection);
  return UnknownCommit(answer.results.status());
}

absl::Status FencedRun::UnknownCommit(const absl::Status& lost) {
  ++context_.counters.unknown_commits;
  return absl::UnknownError(absl::StrCat("order ", id_.ToString(),
                                         ": the answer to the commit was lost, the work may be "
                                         "stored; repeat it with the same order ID: ",
                                         lost.message()));
}

absl::Status FencedRun::LockFence(ShardConnection& connection) {
  absl::Status status = AskFence(connection, /*locking=*/true);
  if (!IsNoSuchTable(status)) return status;
  // A shard that never took part in a move has no fence to ask, so the result of the work is final.
  if (checking_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      connection.place(), " has no table locus_fence, which fence_first needs; install the fence"));
}

absl::Status FencedRun::AskFence(ShardConnection& connection, bool locking) {
  auto results =
      Ask(connection, SelectFence(id_.gene(), locking), mysql::AtMostOneRow(kFenceColumns));
  // The fence was installed by an earlier version, or the account may not read the map.
  const bool mapped = results.ok()
                          ? !(*results)[0].rows.empty()
                          : !IsNoSuchTable(results.status()) && !IsTableDenied(results.status());
  if (!mapped) {
    results = Ask(connection, SelectFenceByRange(id_.gene(), locking),
                  mysql::AtMostOneRow(kFenceColumns));
  }
  LOCUS_RETURN_IF_ERROR(results.status());
  LOCUS_ASSIGN_OR_RETURN(FoundFence found, ReadFenceRow((*results)[0], connection.place()));
  const FenceVerdict verdict = JudgeFence(found.row, found.server_id, id_.gene(), id_.cohort());
  if (verdict.kind == FenceVerdict::Kind::kAccepted) return absl::OkStatus();
  constexpr unsigned kSignalled = 1644;  // as a guard's
  return ShardFailure(verdict.kind == FenceVerdict::Kind::kRefused ? absl::StatusCode::kAborted
                                                                   : absl::StatusCode::kUnavailable,
                      connection.place(), kSignalled, verdict.message);
}

}  // namespace locus::internal
