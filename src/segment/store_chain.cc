// SPDX-License-Identifier: Apache-2.0
#include "src/segment/store_chain.h"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

namespace locus::internal {
namespace {

// Engines may be the user's own, so a reply is checked before it can spoil the counters.
absl::StatusOr<SegmentReply> Checked(std::span<const SegmentRequest> requests, SegmentReply reply) {
  bool good = reply.grants.size() == requests.size();
  for (size_t i = 0; good && i < requests.size(); ++i) {
    const Segment& segment = reply.grants[i].segment;
    good = segment.length == 0 ||
           (segment.first % segment_rules::kUnit == 0 &&
            segment.length % segment_rules::kUnit == 0 && std::has_single_bit(segment.length) &&
            segment.first >= requests[i].seen && segment.first < segment_rules::kEndOfSequences &&
            segment.length <= segment_rules::kEndOfSequences - segment.first);
  }
  if (good) return reply;
  return absl::DataLossError(
      "the store granted a segment that was not requested, or that overlaps an earlier one");
}

}  // namespace

StoreChain::StoreChain(Assignment assignment, const SpaceOptions& space,
                       const OrderIdGenerator::Options& options, Counters& counters,
                       ResultSignal& loaded)
    : assigned_(std::move(assignment)),
      space_options_(space),
      options_(options),
      loaded_(loaded),
      admitted_(assigned_.admitted),
      loader_(space, options.horizon, counters, std::random_device()(), assigned_.first_section,
              assigned_.last_section) {
  auto job = [this] { return Load(); };
  driver_ = options.executor == nullptr ? LoadDriver::OnThread(job)
                                        : LoadDriver::OnExecutor(*options.executor, job);
}

absl::Status StoreChain::Explain(absl::StatusCode code) const {
  MutexLock lock(mutex_);
  if (code == absl::StatusCode::kUnavailable) code = absl::StatusCode::kDeadlineExceeded;
  std::string of =
      assigned_.name.empty() ? "" : absl::StrCat("store ", Quoted(assigned_.name), ": ");
  if (!last_error_.ok()) return absl::Status(code, absl::StrCat(of, last_error_.message()));
  if (code == absl::StatusCode::kFailedPrecondition) return absl::Status(code, of);
  return absl::DeadlineExceededError(absl::StrCat(
      of, "space ", assigned_.space.str(), ": no sequence in time",
      loader_.lead_used_up() ? "; a section's allocations are max_lead ahead of the floor, which "
                               "rises with time"
                             : ""));
}

StoreStats StoreChain::Stats() const {
  StoreStats stats;
  stats.name = assigned_.name;
  stats.first_section = assigned_.first_section;
  stats.last_section = assigned_.last_section;
  absl::Duration now = options_.clock->SinceBoot();
  MutexLock lock(mutex_);
  const SegmentLoader::Totals& totals = loader_.totals();
  stats.allocations = totals.granted;
  stats.store_calls = store_calls_;
  stats.store_failures = store_failures_;
  stats.losses = totals.losses;
  stats.starved = totals.starved;
  stats.first_uses = totals.first_uses;
  stats.store_latency = store_latency_;
  stats.clock_offset = clock_offset_;
  stats.autonomy = loader_.Autonomy(now);
  if (totals.granted > 0) stats.lead = totals.lead;
  stats.headroom = loader_.Headroom(now);
  if (call_began_) stats.stalled = std::max(now - *call_began_, absl::ZeroDuration());
  // A copy of its own: the packaged Abseil counts references where TSan cannot see it.
  stats.last_error = absl::Status(last_error_.code(), last_error_.message());
  return stats;
}

uint64_t StoreChain::dropped() const {
  MutexLock lock(mutex_);
  return loader_.totals().dropped;
}

// One pass of the loader, on its thread.
absl::Duration StoreChain::Load() {
  std::vector<SegmentRequest> requests;
  uint64_t starved;
  uint64_t first_uses;
  bool moved_on;
  {
    MutexLock lock(mutex_);
    absl::Duration now = options_.clock->SinceBoot();
    const SegmentLoader::Totals before = loader_.totals();
    requests = loader_.Collect(now);
    starved = loader_.totals().starved - before.starved;
    first_uses = loader_.totals().first_uses - before.first_uses;
    moved_on = loader_.totals().moved_on != before.moved_on;
    if (!requests.empty()) call_began_ = now;
  }
  // Callers that found nothing while the loader was moving on get no other signal, for as long as
  // the store does not answer.
  if (moved_on) loaded_.NotifyIfAwaited();
  if (first_uses > 0) {
    Report(
        {.kind = GeneratorEvent::Kind::kFirstUse, .sections = static_cast<uint32_t>(first_uses)});
  }
  if (starved > 0) {
    Report({.kind = GeneratorEvent::Kind::kStarved, .sections = static_cast<uint32_t>(starved)});
  }
  if (!requests.empty()) {
    // Without the lock: the store may stall, and Stats and the messages of errors need the lock.
    absl::StatusOr<SegmentReply> reply = Allocate(requests);
    if (reply.ok()) {
      Granted(requests, *reply);
    } else {
      Failed(requests, reply.status());
    }
  }
  MutexLock lock(mutex_);
  return std::max(absl::ZeroDuration(), loader_.NextDue() - options_.clock->SinceBoot());
}

absl::StatusOr<SegmentReply> StoreChain::Allocate(std::span<const SegmentRequest> requests) {
  if (!admitted_) {
    LOCUS_RETURN_IF_ERROR(assigned_.admit());
    admitted_ = true;
  }
  absl::Duration began = options_.clock->SinceBoot();
  absl::Time sent_at = options_.clock->Now();
  absl::StatusOr<SegmentReply> reply =
      assigned_.store->Allocate(assigned_.space, space_options_, requests, sent_at);
  absl::Duration took = std::max(options_.clock->SinceBoot() - began, absl::ZeroDuration());
  // The space is gone. It may come back before its layout is complete, so admit() checks it again.
  if (absl::IsNotFound(reply.status())) admitted_ = !assigned_.admit;
  MutexLock lock(mutex_);
  store_latency_.Add(took);
  if (!reply.ok()) return reply;
  // The store read its clock at some moment of the call; half of it is the best guess.
  clock_offset_ = reply->granted_at - (sent_at + took / 2);
  return Checked(requests, *std::move(reply));
}

void StoreChain::Granted(std::span<const SegmentRequest> requests, const SegmentReply& reply) {
  GeneratorEvent allocated{.kind = GeneratorEvent::Kind::kAllocated};
  for (size_t i = 0; i < requests.size(); ++i) {
    if (reply.grants[i].segment.length == 0) continue;
    ++allocated.sections;
    if (options_.on_event) {
      allocated.ranges.push_back({requests[i].section, reply.grants[i].segment});
    }
  }
  {
    MutexLock lock(mutex_);
    ++store_calls_;
    call_began_.reset();
    last_error_ = absl::OkStatus();
    refused_ = false;
    loader_.Granted(requests, reply, options_.clock->SinceBoot());
  }
  // Callers first, then the event hook, which may take its time.
  loaded_.Notify();
  if (reply.loss_noticed) Report({.kind = GeneratorEvent::Kind::kLossNoticed});
  auto refused = static_cast<uint32_t>(requests.size()) - allocated.sections;
  if (allocated.sections > 0) Report(std::move(allocated));
  if (refused > 0) Report({.kind = GeneratorEvent::Kind::kLeadUsedUp, .sections = refused});
}

void StoreChain::Failed(std::span<const SegmentRequest> requests, const absl::Status& status) {
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
  loaded_.Notify();
  Report({.kind = GeneratorEvent::Kind::kStoreFailed,
          .status = status,
          .sections = static_cast<uint32_t>(requests.size())});
}

void StoreChain::Report(GeneratorEvent event) {
  if (!options_.on_event) return;
  event.store = assigned_.name;
  options_.on_event(event);
}

}  // namespace locus::internal
