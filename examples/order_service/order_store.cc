// SPDX-License-Identifier: Apache-2.0
#include "order_store.h"

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/shard_error.h"
#include "shard_rows.h"

namespace shop {
namespace {

using Kind = locus::FencedCall::Kind;
using Outcome = Written::Outcome;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kDeadline{3};
constexpr std::chrono::seconds kPatienceAtTheEnd{10};
constexpr std::chrono::milliseconds kPause{20};

// The statements of a change, up to the first that fails. NOT_FOUND: the order has another version.
// DATA_LOSS: it has the version, but not the rows that belong to it.
absl::Status RunStatements(locus::ShardConnection& connection, const Change& change) {
  for (const Change::Statement& statement : change.statements) {
    auto affected = Execute(connection, statement.text);
    if (!affected.ok()) return affected.status();
    if (!statement.affects || *affected == *statement.affects) continue;
    if (&statement == &change.statements.front()) {
      return absl::NotFoundError(
          absl::StrCat("order ", change.id.ToString(), " has no version ", change.before.version));
    }
    return absl::DataLossError(absl::StrCat("order ", change.id.ToString(), ": ", *affected,
                                            " rows changed, ", *statement.affects, " expected, by ",
                                            statement.text));
  }
  return absl::OkStatus();
}

}  // namespace

bool FencedStore::GiveUp(SteadyClock::time_point begun) const {
  const auto took = SteadyClock::now() - begun;
  return took > patience_ || (stop_ && took > kPatienceAtTheEnd);
}

Written FencedStore::Write(const Change& change) {
  Written written;
  const SteadyClock::time_point begun = SteadyClock::now();
  const Kind kind = change.statements.size() == 1 ? Kind::kStatement : Kind::kTransaction;
  while (true) {
    auto work = [&](locus::ShardConnection& connection) {
      absl::Status status = RunStatements(connection, change);
      if (locus::FenceRefusalOf(status)) ++written.refusals;
      return status;
    };
    written.status = fenced_.Run(change.id, {.kind = kind}, SteadyClock::now() + kDeadline, work);
    if (written.status.ok()) {
      written.outcome = Outcome::kAcknowledged;
      return written;
    }
    if (absl::IsNotFound(written.status) || absl::IsAlreadyExists(written.status)) {
      Resolve(change, written);
      return written;
    }
    if (absl::IsDataLoss(written.status)) {
      written.outcome = Outcome::kContradicted;
      return written;
    }
    if (absl::IsUnknown(written.status)) ++written.unknown;
    // Once an answer was lost, no later error says that the write was not stored.
    written.outcome = written.unknown > 0 ? Outcome::kOpen : Outcome::kRefused;
    if (written.outcome == Outcome::kRefused || GiveUp(begun)) return written;
    std::this_thread::sleep_for(kPause);
  }
}

// The same write again finds its own first attempt: the version has risen, or the key is taken.
// Repeating it, and not only reading, matters: an attempt that the server has not finished holds
// the row's lock, for which a write waits and a read does not.
void FencedStore::Resolve(const Change& change, Written& written) {
  const SteadyClock::time_point begun = SteadyClock::now();
  absl::StatusOr<ReadOrder> read = Read(change.id);
  while (!read.ok() && !GiveUp(begun)) {
    std::this_thread::sleep_for(kPause);
    read = Read(change.id);
  }
  if (!read.ok()) {
    written.outcome = written.unknown > 0 ? Outcome::kOpen : Outcome::kRefused;
    return;
  }
  written.found = read->state;
  const bool own = written.unknown > 0 && written.found == change.state;
  written.outcome = own ? Outcome::kAcknowledged : Outcome::kContradicted;
}

absl::StatusOr<ReadOrder> FencedStore::Read(const locus::OrderId& id) {
  ReadOrder read;
  auto work = [&](locus::ShardConnection& connection) {
    auto state = SelectOrder(connection, id);
    if (!state.ok()) return state.status();
    read.state = *state;
    return absl::OkStatus();
  };
  auto run = [&] {
    return fenced_.Run(id, {.kind = Kind::kRead, .fence_first = read.fenced},
                       SteadyClock::now() + kDeadline, work);
  };
  absl::Status status = run();
  if (absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "locus_fence")) {
    read.fenced = false;
    status = run();
  }
  if (!status.ok()) return status;
  return read;
}

Written PlainStore::Write(const Change& change) {
  Written written;
  auto connection = pools_.Take(router_.Route(change.id), SteadyClock::now() + kDeadline);
  if (!connection.ok()) {
    written.status = connection.status();
    return written;
  }
  written.status = RunStatements(*connection, change);
  if (written.status.ok()) written.outcome = Outcome::kAcknowledged;
  // To its customer the order is "not written". The record must not say so.
  if (locus::AnswerLost(written.status)) written.outcome = Outcome::kOpen;
  if (locus::FenceRefusalOf(written.status)) ++written.refusals;
  return written;
}

}  // namespace shop
