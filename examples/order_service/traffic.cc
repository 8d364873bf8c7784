// SPDX-License-Identifier: Apache-2.0
#include "traffic.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace shop {
namespace {

using Outcome = Written::Outcome;
using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMostGone = 50;
// Orders of one transaction of InsertMany.
constexpr uint64_t kTogether = 100;
// A client that is refused does not try the next order at once.
constexpr std::chrono::milliseconds kAfterRefusal{10};

template <typename T>
T Saturated(uint64_t value) {
  return static_cast<T>(std::min<uint64_t>(value, std::numeric_limits<T>::max()));
}

}  // namespace

// At the rate of the options; behind after a wait, it does not catch up by more than a second.
void Traffic::WaitForTurn() {
  if (options_.writes_a_second <= 0) return;
  const std::chrono::duration<double> due(static_cast<double>(writes_) / options_.writes_a_second);
  const auto turn = begun_ + std::chrono::duration_cast<SteadyClock::duration>(due);
  const auto now = SteadyClock::now();
  if (turn + std::chrono::seconds(1) < now) begun_ += now - turn - std::chrono::seconds(1);
  constexpr std::chrono::milliseconds kGlance{50};
  while (!parts_.stop && SteadyClock::now() < turn) {
    std::this_thread::sleep_until(std::min(turn, SteadyClock::now() + kGlance));
  }
}

absl::Status Traffic::Run() {
  const uint64_t bulk = std::min(options_.bulk, options_.orders);
  while (!parts_.stop && inserted_ < bulk) {
    if (auto status = InsertMany(); !status.ok()) return status;
  }
  begun_ = SteadyClock::now();
  while (!parts_.stop && inserted_ < options_.orders) {
    WaitForTurn();
    ++writes_;
    const bool inserts = open_.empty() || random_() % 5 < 2;
    absl::Status status = inserts ? Insert() : ChangeOne();
    if (status.ok() && random_() % 4 == 0) status = ReadOne();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

const BuyerRow& Traffic::NextBuyer() {
  return parts_
      .buyers[(options_.first_buyer + buyers_++ * options_.buyer_stride) % parts_.buyers.size()];
}

absl::StatusOr<Change> Traffic::NewOrderOf(const BuyerRow& buyer) {
  ++inserted_;
  auto id = parts_.ids.Next(locus::BuyerKey::Uint64(buyer.buyer), absl::Seconds(30));
  if (!id.ok()) return id.status();
  auto no = parts_.codec.Encode(*id);
  if (!no.ok()) return no.status();
  const std::string created =
      absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::Now(), absl::UTCTimeZone());
  return NewOrder(*id, no->ToBytes(), buyer, created, parts_.store.style(), random_);
}

void Traffic::GoOnWith(Order order) {
  open_.push_back(std::move(order));
  if (open_.size() <= options_.most_open) return;
  // One of them stays as it is from here on.
  std::swap(open_[random_() % open_.size()], open_.back());
  open_.pop_back();
}

absl::Status Traffic::Insert() {
  auto change = NewOrderOf(NextBuyer());
  if (!change.ok()) return change.status();
  auto outcome = Perform(*change);
  if (!outcome.ok()) return outcome.status();
  if (*outcome == Outcome::kAcknowledged) GoOnWith(*std::move(change->after));
  return absl::OkStatus();
}

absl::Status Traffic::InsertMany() {
  const BuyerRow& buyer = NextBuyer();
  const uint64_t left = std::min(options_.bulk, options_.orders) - inserted_;
  std::vector<Change> changes;
  while (changes.size() < std::min(left, kTogether)) {
    auto change = NewOrderOf(buyer);
    if (!change.ok()) return change.status();
    changes.push_back(*std::move(change));
  }
  auto outcome = Perform(Together(changes), changes);
  if (!outcome.ok()) return outcome.status();
  if (*outcome != Outcome::kAcknowledged) return absl::OkStatus();
  for (Change& change : changes) GoOnWith(*std::move(change.after));
  return absl::OkStatus();
}

absl::Status Traffic::ChangeOne() {
  Order& order = open_[random_() % open_.size()];
  Change change = NextChange(order, parts_.store.style(), random_);
  auto outcome = Perform(change);
  if (!outcome.ok()) return outcome.status();
  const bool stored = *outcome == Outcome::kAcknowledged;
  // A client that follows no fence gives the order up, and so does a client that does not know its
  // state.
  const bool goes_on =
      stored || (*outcome == Outcome::kRefused && parts_.store.style() == Style::kTransactions);
  if (stored && change.after) {
    order = *std::move(change.after);
  } else if (stored || !goes_on) {
    std::swap(order, open_.back());
    open_.pop_back();
  }
  if (stored && change.op == Op::kDelete) {
    gone_.push_back(change.id);
    if (gone_.size() > kMostGone) gone_.pop_front();
  }
  return absl::OkStatus();
}

absl::StatusOr<Outcome> Traffic::Perform(const Change& change) {
  return Perform(change, {&change, 1});
}

absl::StatusOr<Outcome> Traffic::Perform(const Change& write, std::span<const Change> changes) {
  for (const Change& change : changes) {
    auto recorded = parts_.recorder.Append({.what = Record::What::kIntent,
                                            .op = change.op,
                                            .order = static_cast<uint64_t>(*change.id.ToInt64()),
                                            .state = change.state});
    if (!recorded.ok()) return recorded;
  }
  const SteadyClock::time_point begun = SteadyClock::now();
  const Written written = parts_.store.Write(write);
  const absl::Duration took = absl::FromChrono(SteadyClock::now() - begun);
  for (const Change& change : changes) {
    if (auto recorded = RecordOutcome(written, took, change); !recorded.ok()) return recorded;
  }
  if (written.outcome == Outcome::kRefused) std::this_thread::sleep_for(kAfterRefusal);
  return written.outcome;
}

absl::Status Traffic::RecordOutcome(const Written& written, absl::Duration took,
                                    const Change& change) {
  Record record{
      .op = change.op,
      .refusals = Saturated<uint16_t>(written.refusals),
      .waited = Saturated<uint32_t>(static_cast<uint64_t>(absl::ToInt64Microseconds(took))),
      .order = static_cast<uint64_t>(*change.id.ToInt64()),
      .state = change.state};
  for (uint64_t i = 0; i < written.unknown; ++i) {
    Record lost{.what = Record::What::kUnknown, .op = change.op, .order = record.order};
    if (auto recorded = parts_.recorder.Append(lost); !recorded.ok()) return recorded;
  }
  switch (written.outcome) {
    case Outcome::kAcknowledged:
      record.what = Record::What::kAcknowledged;
      break;
    case Outcome::kRefused:
      record.what = Record::What::kRefused;
      break;
    case Outcome::kOpen:
      parts_.statistics.Count(written, false, took);
      return absl::OkStatus();  // the intent says it all
    case Outcome::kContradicted:
      record.what = Record::What::kContradiction;
      record.state = written.found;
  }
  if (auto recorded = parts_.recorder.Append(record); !recorded.ok()) return recorded;
  parts_.statistics.Count(written, change.op == Op::kInsert, took);
  return absl::OkStatus();
}

absl::Status Traffic::ReadOne() {
  if (parts_.reader == nullptr) return absl::OkStatus();
  if (!gone_.empty() && random_() % 8 == 0) {
    return ReadBack(gone_[random_() % gone_.size()], {});
  }
  if (open_.empty()) return absl::OkStatus();
  // Often the newest order: a stale read would miss the write that was acknowledged a moment ago.
  const Order& order = random_() % 2 == 0 ? open_.back() : open_[random_() % open_.size()];
  return ReadBack(order.id, StateOf(order));
}

absl::Status Traffic::ReadBack(const locus::OrderId& id, const OrderState& acknowledged) {
  auto read = parts_.reader->Read(id);
  parts_.statistics.CountRead(read.ok(), read.ok() && read->state != acknowledged);
  if (!read.ok()) return absl::OkStatus();
  return parts_.recorder.Append(
      {.what = read->fenced ? Record::What::kRead : Record::What::kUnfencedRead,
       .order = static_cast<uint64_t>(*id.ToInt64()),
       .state = read->state});
}

}  // namespace shop
