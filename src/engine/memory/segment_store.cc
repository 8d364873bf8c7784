// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "locus/engine/memory.h"
#include "src/base/check.h"
#include "src/base/mutex.h"
#include "src/lease/lease_rules.h"

namespace locus {
namespace {

struct Section {
  uint64_t head = 0;
  absl::Time granted_at;
};

struct Space {
  SpaceOptions options;
  uint64_t base = 0;
  uint64_t losses = 0;
  uint64_t identity = 0;  // of the store, as this space saw it last
  std::map<uint16_t, Section> sections;

  void RaiseBase(absl::Time now, uint64_t at_least) {
    base = lease_rules::BaseAfterLoss(options, base, now, at_least);
    ++losses;
  }
};

}  // namespace

class MemorySegmentStore::Backup {
 public:
  std::map<SpaceName, Space> spaces;
};

struct MemorySegmentStore::Rep {
  explicit Rep(Clock& clock_in) : clock(clock_in) {}

  absl::StatusOr<Space*> Find(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    auto it = state.spaces.find(name);
    if (it == state.spaces.end()) {
      return absl::NotFoundError(absl::StrCat("the memory store has no space ", name.str()));
    }
    return &it->second;
  }

  Clock& clock;
  Mutex mutex;
  Backup state ABSL_GUARDED_BY(mutex);
  uint64_t identity ABSL_GUARDED_BY(mutex) = 1;
};

MemorySegmentStore::MemorySegmentStore(Clock& clock) : rep_(std::make_unique<Rep>(clock)) {}
MemorySegmentStore::~MemorySegmentStore() = default;

absl::Status MemorySegmentStore::Create(const SpaceName& space, const SpaceOptions& options,
                                        absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckOptions(options));
  MutexLock lock(rep_->mutex);
  auto it = rep_->state.spaces.find(space);
  if (it != rep_->state.spaces.end()) {
    return lease_rules::CheckSameOptions(space, it->second.options, options);
  }
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(options, caller_now, now));
  Space& created = rep_->state.spaces[space];
  created.options = options;
  created.identity = rep_->identity;
  created.RaiseBase(now, 0);
  return absl::OkStatus();
}

absl::StatusOr<SpaceOptions> MemorySegmentStore::Open(const SpaceName& space) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(Space * found, rep_->Find(space));
  return found->options;
}

absl::StatusOr<LeaseReply> MemorySegmentStore::Lease(const SpaceName& space,
                                                     std::span<const LeaseRequest> requests,
                                                     absl::Time caller_now) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(Space * found, rep_->Find(space));
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckRequests(found->options, requests));
  LeaseReply reply;
  reply.granted_at = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(found->options, caller_now, reply.granted_at));

  uint64_t lost_up_to = 0;
  for (const LeaseRequest& request : requests) {
    auto it = found->sections.find(request.section);
    uint64_t head = it == found->sections.end() ? 0 : it->second.head;
    if (lease_rules::ShowsLoss(request.seen, found->base, head)) {
      lost_up_to = std::max(lost_up_to, request.seen);
    }
  }
  reply.loss_noticed = lost_up_to > 0 || found->identity != rep_->identity;
  if (reply.loss_noticed) {
    found->RaiseBase(reply.granted_at, lost_up_to);
    found->identity = rep_->identity;
  }
  for (const LeaseRequest& request : requests) {
    Section& section = found->sections[request.section];
    lease_rules::Decision decision =
        lease_rules::Decide(found->options, found->base, section.head, reply.granted_at, request);
    if (decision.grant.segment.length > 0) section = {decision.head, reply.granted_at};
    reply.grants.push_back(decision.grant);
  }
  return reply;
}

absl::StatusOr<SpaceView> MemorySegmentStore::Show(const SpaceName& space, absl::Time) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(Space * found, rep_->Find(space));
  SpaceView view{found->options, found->base, found->losses, rep_->clock.Now(), {}};
  uint64_t floor = lease_rules::Floor(view.options, view.now);
  for (const auto& [number, section] : found->sections) {
    view.sections.push_back(
        {number, section.head,
         lease_rules::FloorTime(view.options, static_cast<int64_t>(section.head - floor)),
         section.granted_at});
  }
  return view;
}

absl::Status MemorySegmentStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(Space * found, rep_->Find(space));
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(found->options, caller_now, now));
  found->RaiseBase(now, 0);
  return absl::OkStatus();
}

absl::Status MemorySegmentStore::Raise(const SpaceName& space, uint64_t to, absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckRaise(to));
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(Space * found, rep_->Find(space));
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(found->options, caller_now, rep_->clock.Now()));
  found->base = std::max(found->base, to);
  return absl::OkStatus();
}

std::shared_ptr<const MemorySegmentStore::Backup> MemorySegmentStore::TakeBackup() const {
  MutexLock lock(rep_->mutex);
  return std::make_shared<const Backup>(rep_->state);
}

void MemorySegmentStore::PutBack(const Backup& backup, Rewind rewind) {
  MutexLock lock(rep_->mutex);
  rep_->state = backup;
  if (rewind == Rewind::kNewIdentity) ++rep_->identity;
}

}  // namespace locus
