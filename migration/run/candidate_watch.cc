// SPDX-License-Identifier: Apache-2.0
#include "migration/run/candidate_watch.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/marker_tables.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::SqlText;
using stream::Change;
using stream::ChangeKind;
using stream::ChangeTransaction;

namespace {

// A column of a change, where the row has it.

const stream::Value* ColumnOf(const Change& change, const stream::Row& row, std::string_view name) {
  for (size_t i = 0; i < change.table->columns.size(); ++i) {
    if (change.table->columns[i].name == name) return &row[i];
  }
  return nullptr;
}

// The ping of the row where it is one of this run; 0: it is none.
uint64_t PingOf(const Change& change, const stream::Row& row, const std::string& move,
                uint64_t run) {
  const stream::Value* name = ColumnOf(change, row, "move");
  const stream::Value* number = ColumnOf(change, row, "run");
  const stream::Value* sent = ColumnOf(change, row, "ping");
  if (name == nullptr || number == nullptr || sent == nullptr) return 0;
  const auto* text = std::get_if<stream::Bytes>(name);
  if (text == nullptr || text->bytes != move) return 0;
  if (const auto* ours = std::get_if<uint64_t>(number); ours == nullptr || *ours != run) return 0;
  const auto* value = std::get_if<uint64_t>(sent);
  return value == nullptr ? 0 : *value;
}

// The ping of this run that the transaction is; 0: none.
absl::StatusOr<uint64_t> PingIn(ChangeTransaction& transaction, const std::string& move,
                                uint64_t run) {
  uint64_t ping = 0;
  if (!transaction.Names(kRuns)) return ping;
  Change change;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(bool more, transaction.Next(change));
    // A ping is a transaction of its own, so its first row is enough.
    if (!more || change.kind == ChangeKind::kStatement || change.table->table != kRuns) break;
    if (change.kind != ChangeKind::kUpdate) continue;
    // Taking the run over also changes the row, and leaves a ping there that candidates may have
    // confirmed long before.
    const uint64_t raised = PingOf(change, change.after, move, run);
    if (raised > PingOf(change, change.before, move, run)) ping = raised;
  }
  LOCUS_RETURN_IF_ERROR(transaction.Rewind());
  return ping;
}

}  // namespace

std::string PlaceOfCandidate(const MysqlOptions& candidate) {
  return absl::StrCat(candidate.hosts.front().name, ":", candidate.hosts.front().port);
}

absl::StatusOr<std::vector<Candidate>> CandidatesAt(const std::vector<MysqlOptions>& servers) {
  std::vector<Candidate> candidates;
  for (const MysqlOptions& server : servers) {
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link,
                           ShardLink::Create(server, Connection::Access::kRead));
    candidates.push_back({PlaceOfCandidate(server), std::move(link)});
  }
  return candidates;
}

absl::StatusOr<uint64_t> RaisePing(ShardLink& shard, const std::string& move, uint64_t run) {
  LOCUS_ASSIGN_OR_RETURN(
      std::vector<Result> results,
      shard.Run(absl::StrCat("UPDATE locus_run SET ping = LAST_INSERT_ID(ping + 1) WHERE move = ",
                             SqlText(move), " AND run = ", run),
                {kNoRows}));
  if (results[0].affected != 1) return TakenOver(shard.place(), move);
  return results[0].insert_id;
}

absl::Status CandidateWatch::Add(ChangeTransaction transaction) {
  LOCUS_ASSIGN_OR_RETURN(uint64_t ping, PingIn(transaction, move_, run_));
  held_bytes_ += transaction.bytes();
  held_.push_back({std::move(transaction), ping});
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CandidateWatch::Confirmed() {
  uint64_t confirmed = UINT64_MAX;
  for (const std::unique_ptr<ShardLink>& link : links_) {
    auto asked = link->Run(absl::StrCat("SELECT ping FROM locus_run WHERE move = ", SqlText(move_),
                                        " AND run = ", run_),
                           {AtMostOneRow(1)});
    // No row, or no table: the candidate has not yet received the beginning of this run.
    if (!asked.ok() && link->error() == kNoSuchTable) return 0;
    LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results, std::move(asked));
    const auto& rows = results[0].rows;
    const auto ping = rows.empty() ? std::optional<uint64_t>(0)
                                   : internal::ParseDecimal(rows[0][0].value_or(""), UINT64_MAX);
    if (!ping) {
      return absl::DataLossError(
          absl::StrCat("mariadb ", link->place(), ": locus_run has no number for ping"));
    }
    confirmed = std::min(confirmed, *ping);
  }
  return confirmed;
}

absl::Status CandidateWatch::WaitForAll(ShardLink& shard, const std::atomic<bool>& stop) {
  if (links_.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(const uint64_t ping, RaisePing(shard, move_, run_));
  while (!stop) {
    LOCUS_ASSIGN_OR_RETURN(const uint64_t confirmed, Confirmed());
    if (confirmed >= ping) return absl::OkStatus();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return absl::CancelledError("the wait for failover candidates is to end");
}

absl::StatusOr<std::vector<ChangeTransaction>> CandidateWatch::Release() {
  std::vector<ChangeTransaction> released;
  size_t count = held_.size();
  if (!links_.empty()) {
    const bool any =
        std::any_of(held_.begin(), held_.end(), [](const Held& one) { return one.ping > 0; });
    if (!any) return released;
    LOCUS_ASSIGN_OR_RETURN(uint64_t confirmed, Confirmed());
    while (count > 0 && (held_[count - 1].ping == 0 || held_[count - 1].ping > confirmed)) --count;
  }
  for (; count > 0; --count) {
    held_bytes_ -= held_.front().transaction.bytes();
    released.push_back(std::move(held_.front().transaction));
    held_.pop_front();
  }
  return released;
}

}  // namespace locus::mysql
