// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/router.h"
#include "routing/router/router_rep.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::FollowRules;
using internal::MutexLock;
using internal::TableFollower;
using internal::ToAbsl;

namespace {

absl::Status CheckBetween(std::string_view option, absl::Duration value, absl::Duration least,
                          absl::Duration most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(option), " ", absl::FormatDuration(value),
                                                 " is not between ", absl::FormatDuration(least),
                                                 " and ", absl::FormatDuration(most)));
}

}  // namespace

absl::Status RouterOptions::Check() const {
  if (clock == nullptr) return absl::InvalidArgumentError("clock is nullptr");
  LOCUS_RETURN_IF_ERROR(
      CheckBetween("open_timeout", open_timeout, absl::ZeroDuration(), absl::Hours(1)));
  LOCUS_RETURN_IF_ERROR(
      CheckBetween("confirm_every", confirm_every, absl::Milliseconds(100), absl::Hours(1)));
  return CheckBetween("longest_pause", longest_pause, FollowRules::kFirstPause, absl::Hours(1));
}

absl::StatusOr<std::unique_ptr<Router>> Router::Open(std::unique_ptr<TableSource> source,
                                                     RouterOptions options) {
  if (source == nullptr) return absl::InvalidArgumentError("source is nullptr");
  LOCUS_RETURN_IF_ERROR(options.Check());
  auto rep = std::make_unique<Rep>(*options.clock);
  auto offer = [rep = rep.get()](std::shared_ptr<const RoutingTable> table) {
    return rep->Offer(std::move(table));
  };
  auto follower =
      std::make_unique<TableFollower>(std::move(source), std::move(options), std::move(offer),
                                      [rep = rep.get()] { return rep->waiting(); });
  LOCUS_RETURN_IF_ERROR(follower->Open());
  LOCUS_RETURN_IF_ERROR(rep->Follow(std::move(follower)));
  return std::unique_ptr<Router>(new Router(std::move(rep)));
}

absl::Status Router::Rep::Follow(std::unique_ptr<TableFollower> follower) {
  {
    MutexLock lock(mutex_);
    installs_ = 1;
  }
  follower_ = std::move(follower);
  return follower_->Start();
}

absl::Status Router::Rep::Refresh(uint64_t min_epoch,
                                  std::chrono::steady_clock::time_point deadline) {
  LOCUS_RETURN_IF_ERROR(process_.Check("a router that follows tables"));
  refreshes_.fetch_add(1, std::memory_order_relaxed);
  auto want = [this] {
    if (follower_ != nullptr) follower_->Want();
  };
  if (waiters_.Wait(min_epoch, deadline, want)) return absl::OkStatus();
  refresh_timeouts_.fetch_add(1, std::memory_order_relaxed);
  return absl::DeadlineExceededError(absl::StrCat(
      "epoch ", min_epoch, " was not in force by the deadline, epoch ", epoch(), " is; ",
      follower_ == nullptr ? "the router has no source" : follower_->LastAnswer()));
}

RouterStats Router::Rep::Stats() const {
  RouterStats stats;
  stats.epoch = epoch();
  if (forked()) return stats;  // a lock may be held by a thread that this process does not have
  {
    MutexLock lock(mutex_);
    stats.epoch = epoch();
    stats.installed_at = installed_at_;
    stats.installs = installs_;
    stats.descriptions = description_count_;
    stats.max_descriptions = kMaxDescriptions;
  }
  stats.refreshes = refreshes_.load(std::memory_order_relaxed);
  stats.refresh_timeouts = refresh_timeouts_.load(std::memory_order_relaxed);
  stats.refreshing = waiters_.waiting();
  if (follower_ != nullptr) follower_->Fill(stats.epoch, stats);
  return stats;
}

std::shared_ptr<const RoutingTable> Router::Rep::Table() const {
  if (forked()) return nullptr;
  MutexLock lock(mutex_);
  return in_force_;
}

absl::Status Router::Refresh(uint64_t min_epoch, std::chrono::steady_clock::time_point deadline) {
  if (epoch() >= min_epoch) return absl::OkStatus();
  return rep_->Refresh(min_epoch, deadline);
}

absl::Status Router::RefreshMove(ShardGene gene, uint64_t step,
                                 std::chrono::steady_clock::time_point deadline) {
  const uint64_t epoch_at_call = epoch();
  while (true) {
    const std::shared_ptr<const RoutingTable> table = Table();
    // A forked child gets no table here; the Refresh below returns the error.
    const VnodeMove* move = table == nullptr ? nullptr : table->MoveOf(gene);
    if (table != nullptr &&
        (move == nullptr ? table->epoch() > epoch_at_call : move->step >= step)) {
      return absl::OkStatus();
    }
    const uint64_t seen = table == nullptr ? epoch_at_call : table->epoch();
    LOCUS_RETURN_IF_ERROR(rep_->Refresh(seen + 1, deadline));
  }
}

RouterStats Router::Stats() const { return rep_->Stats(); }

std::shared_ptr<const RoutingTable> Router::Table() const { return rep_->Table(); }

}  // namespace locus
