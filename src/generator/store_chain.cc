// SPDX-License-Identifier: Apache-2.0
#include "src/generator/store_chain.h"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/text.h"
#include "src/lease/lease_rules.h"

namespace locus {
namespace {

// Engines may be the user's own: what would spoil the counters is not taken from them.
absl::StatusOr<LeaseReply> Checked(std::span<const LeaseRequest> requests, LeaseReply reply) {
  bool good = reply.grants.size() == requests.size();
  for (size_t i = 0; good && i < requests.size(); ++i) {
    const Segment& segment = reply.grants[i].segment;
    good = segment.length == 0 ||
           (segment.first % lease_rules::kUnit == 0 && segment.length % lease_rules::kUnit == 0 &&
            std::has_single_bit(segment.length) && segment.first >= requests[i].seen &&
            segment.first < lease_rules::kEndOfSequences &&
            segment.length <= lease_rules::kEndOfSequences - segment.first);
  }
  if (good) return reply;
  return absl::DataLossError("the store granted what was not asked for, or twice");
}

}  // namespace

StoreChain::StoreChain(Place place, const SpaceOptions& space,
                       const OrderIdGenerator::Options& options, Counters& counters, News& news)
    : place_(std::move(place)),
      space_options_(space),
      options_(options),
      news_(news),
      admitted_(place_.admitted),
      loader_(space, options.horizon, counters, std::random_device()(), place_.first_section,
              place_.last_section) {
  auto job = [this] { return Load(); };
  driver_ = options.executor == nullptr ? LoadDriver::OnThread(job)
                                        : LoadDriver::OnExecutor(*options.executor, job);
}

absl::Status StoreChain::Explain(absl::StatusCode code) const {
  MutexLock lock(mutex_);
  if (code == absl::StatusCode::kUnavailable) code = absl::StatusCode::kDeadlineExceeded;
  std::string of = place_.name.empty() ? "" : absl::StrCat("store ", Quoted(place_.name), ": ");
  if (!last_error_.ok()) return absl::Status(code, absl::StrCat(of, last_error_.message()));
  if (code == absl::StatusCode::kFailedPrecondition) return absl::Status(code, of);
  return absl::DeadlineExceededError(absl::StrCat(
      of, "space ", place_.space.str(), ": no sequence in time",
      loader_.lead_used_up() ? "; a section's leases are max_lead ahead of the floor, which "
                               "rises with time"
                             : ""));
}

StoreStats StoreChain::Stats() const {
  StoreStats stats;
  stats.name = place_.name;
  stats.first_section = place_.first_section;
  stats.last_section = place_.last_section;
  absl::Duration now = options_.clock->SinceBoot();
  MutexLock lock(mutex_);
  const SegmentLoader::Totals& totals = loader_.totals();
  stats.leases = totals.granted;
  stats.store_calls = store_calls_;
  stats.store_failures = store_failures_;
  stats.losses = totals.losses;
  stats.starved = totals.starved;
  stats.autonomy = loader_.Autonomy(now);
  if (totals.granted > 0) stats.lead = totals.lead;
  if (call_began_) stats.stalled = std::max(now - *call_began_, absl::ZeroDuration());
  // Not shared with the loading thread: the packaged Abseil counts references where TSan cannot
  // see.
  stats.last_error = absl::Status(last_error_.code(), last_error_.message());
  return stats;
}

uint64_t StoreChain::dropped() const {
  MutexLock lock(mutex_);
  return loader_.totals().dropped;
}

// One pass of the loader, on its thread.
absl::Duration StoreChain::Load() {
  std::vector<LeaseRequest> requests;
  uint64_t starved_before;
  uint64_t starved;
  {
    MutexLock lock(mutex_);
    absl::Duration now = options_.clock->SinceBoot();
    starved_before = loader_.totals().starved;
    requests = loader_.Collect(now);
    starved = loader_.totals().starved - starved_before;
    if (!requests.empty()) call_began_ = now;
  }
  if (starved > 0) Tell(GeneratorEvent::Kind::kStarved, static_cast<uint32_t>(starved));
  if (!requests.empty()) {
    absl::StatusOr<LeaseReply> reply = Lease(requests);
    if (reply.ok()) {
      Granted(requests, *reply);
    } else {
      Failed(requests, reply.status());
    }
  }
  MutexLock lock(mutex_);
  return std::max(absl::ZeroDuration(), loader_.NextDue() - options_.clock->SinceBoot());
}

absl::StatusOr<LeaseReply> StoreChain::Lease(std::span<const LeaseRequest> requests) {
  if (!admitted_) {
    LOCUS_RETURN_IF_ERROR(place_.admit());
    admitted_ = true;
  }
  absl::StatusOr<LeaseReply> reply =
      place_.store->Lease(place_.space, space_options_, requests, options_.clock->Now());
  if (absl::IsNotFound(reply.status())) admitted_ = !place_.admit;
  return reply.ok() ? Checked(requests, *std::move(reply)) : reply;
}

void StoreChain::Granted(std::span<const LeaseRequest> requests, const LeaseReply& reply) {
  uint32_t granted = 0;
  for (const LeaseGrant& grant : reply.grants) granted += grant.segment.length > 0;
  {
    MutexLock lock(mutex_);
    ++store_calls_;
    call_began_.reset();
    last_error_ = absl::OkStatus();
    refused_ = false;
    loader_.Granted(requests, reply, options_.clock->SinceBoot());
  }
  news_.Announce();
  if (reply.loss_noticed) Tell(GeneratorEvent::Kind::kLossNoticed, 0);
  if (granted > 0) Tell(GeneratorEvent::Kind::kLeased, granted);
  auto refused = static_cast<uint32_t>(requests.size()) - granted;
  if (refused > 0) Tell(GeneratorEvent::Kind::kLeadUsedUp, refused);
}

void StoreChain::Failed(std::span<const LeaseRequest> requests, const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    ++store_calls_;
    ++store_failures_;
    call_began_.reset();
    last_error_ = status;
    // Data that contradicts itself needs repair just the same.
    refused_ = absl::IsFailedPrecondition(status) || absl::IsDataLoss(status) ||
               absl::IsNotFound(status) || absl::IsInvalidArgument(status);
    if (refused_) last_error_ = absl::FailedPreconditionError(status.message());
    loader_.Failed(requests, options_.clock->SinceBoot());
  }
  news_.Announce();
  Tell(GeneratorEvent::Kind::kStoreFailed, static_cast<uint32_t>(requests.size()), status);
}

void StoreChain::Tell(GeneratorEvent::Kind kind, uint32_t sections, absl::Status status) {
  if (options_.on_event) {
    options_.on_event({kind, std::move(status), sections, place_.name});
  }
}

}  // namespace locus
