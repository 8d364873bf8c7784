// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/router.h"
#include "routing/router/router_rep.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
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
  if (clock == nullptr) return absl::InvalidArgumentError("a router needs a clock");
  LOCUS_RETURN_IF_ERROR(
      CheckBetween("open_timeout", open_timeout, absl::ZeroDuration(), absl::Hours(1)));
  LOCUS_RETURN_IF_ERROR(
      CheckBetween("confirm_every", confirm_every, absl::Milliseconds(100), absl::Hours(1)));
  return CheckBetween("longest_pause", longest_pause, FollowRules::kFirstPause, absl::Hours(1));
}

absl::StatusOr<std::unique_ptr<Router>> Router::Open(std::unique_ptr<TableSource> source,
                                                     RouterOptions options) {
  if (source == nullptr) return absl::InvalidArgumentError("a router that follows needs a source");
  LOCUS_RETURN_IF_ERROR(options.Check());
  auto rep = std::make_unique<Rep>(*options.clock, /*keeps_table=*/true);
  auto offer = [rep = rep.get()](const RoutingTable& table) { return rep->Offer(table); };
  auto follower =
      std::make_unique<TableFollower>(std::move(source), std::move(options), std::move(offer));
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
  if (forked()) {
    return absl::FailedPreconditionError(
        "this is a forked child: tables are followed by the process that made the router");
  }
  if (follower_ != nullptr) follower_->Look();
  auto in_force = [&]() -> absl::StatusOr<uint64_t> {
    uint64_t now = epoch();
    if (now >= min_epoch) return now;
    return absl::Status(absl::StatusCode::kUnavailable, "");
  };
  absl::StatusOr<uint64_t> reached = installed_.Await(deadline, in_force);
  if (reached.ok()) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("epoch ", min_epoch, " is not in force in time, ", epoch(), " is; ",
                   follower_ == nullptr ? "the router has no source" : follower_->LastWord()));
}

RouterStats Router::Rep::Stats() const {
  RouterStats stats;
  stats.epoch = epoch();
  if (forked()) return stats;  // whoever held the locks is not here
  {
    MutexLock lock(mutex_);
    stats.epoch = epoch();
    stats.installed_at = installed_at_;
    stats.installs = installs_;
  }
  if (follower_ != nullptr) follower_->Fill(stats.epoch, stats);
  return stats;
}

absl::Status Router::Refresh(uint64_t min_epoch, std::chrono::steady_clock::time_point deadline) {
  if (epoch() >= min_epoch) return absl::OkStatus();
  return rep_->Refresh(min_epoch, deadline);
}

RouterStats Router::Stats() const { return rep_->Stats(); }

}  // namespace locus
