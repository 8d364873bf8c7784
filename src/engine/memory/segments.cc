// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "absl/strings/str_cat.h"
#include "locus/engine/memory.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

struct Section {
  uint64_t head = 0;
  absl::Time granted_at;
};

struct MemorySpace : segment::Space {
  uint64_t identity = 0;  // the store's, as last recorded by this space
  std::map<uint16_t, Section> sections;
};

}  // namespace

class MemorySegmentStore::Backup {
 public:
  std::map<SpaceName, MemorySpace> spaces;
};

struct MemorySegmentStore::Rep {
  explicit Rep(Clock& clock_in) : clock(clock_in) {}

  absl::StatusOr<MemorySpace*> Find(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
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

std::string_view ToString(MemorySegmentStore::Rewind rewind) {
  switch (rewind) {
    case MemorySegmentStore::Rewind::kNewIdentity:
      return "new_identity";
    case MemorySegmentStore::Rewind::kSilent:
      return "silent";
  }
  return "unknown";
}

MemorySegmentStore::MemorySegmentStore(Clock& clock) : rep_(std::make_unique<Rep>(clock)) {}
MemorySegmentStore::~MemorySegmentStore() = default;

absl::Status MemorySegmentStore::Create(const SpaceName& space, const SpaceOptions& options,
                                        absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
  MutexLock lock(rep_->mutex);
  auto it = rep_->state.spaces.find(space);
  if (it != rep_->state.spaces.end()) {
    return segment_rules::CheckSameOptions(space, it->second.options, options);
  }
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(options, caller_now, now));
  MemorySpace& created = rep_->state.spaces[space];
  created.options = options;
  created.identity = rep_->identity;
  segment::NoteLoss(created, now);
  return absl::OkStatus();
}

absl::StatusOr<SpaceOptions> MemorySegmentStore::ReadOptions(const SpaceName& space) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(MemorySpace * found, rep_->Find(space));
  return found->options;
}

absl::StatusOr<SegmentReply> MemorySegmentStore::Allocate(const SpaceName& space,
                                                          const SpaceOptions& options,
                                                          std::span<const SegmentRequest> requests,
                                                          absl::Time caller_now) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(MemorySpace * found, rep_->Find(space));
  LOCUS_RETURN_IF_ERROR(segment::Admit(space, found->options, options, requests));
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(options, caller_now, now));

  segment::State state{*found, {}, found->identity != rep_->identity};
  for (const SegmentRequest& request : requests) {
    auto it = found->sections.find(request.section);
    state.heads.push_back(it == found->sections.end() ? 0 : it->second.head);
  }
  segment::Outcome outcome = segment::Plan(state, requests, now);
  static_cast<segment::Space&>(*found) = outcome.space;
  found->identity = rep_->identity;
  for (const segment::Outcome::Head& head : outcome.heads) {
    found->sections[requests[head.request].section] = {head.after, now};
  }
  return std::move(outcome.reply);
}

absl::StatusOr<SpaceView> MemorySegmentStore::Show(const SpaceName& space, absl::Time) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(MemorySpace * found, rep_->Find(space));
  std::vector<SpaceView::Section> sections;
  for (const auto& [number, section] : found->sections) {
    sections.push_back({number, section.head, absl::ZeroDuration(), section.granted_at});
  }
  return segment::View(*found, rep_->clock.Now(), std::move(sections));
}

absl::Status MemorySegmentStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(MemorySpace * found, rep_->Find(space));
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(found->options, caller_now, now));
  segment::NoteLoss(*found, now);
  return absl::OkStatus();
}

absl::StatusOr<BaseRaise> MemorySegmentStore::Raise(const SpaceName& space, uint64_t to,
                                                    RaiseReach reach, absl::Time caller_now) {
  MutexLock lock(rep_->mutex);
  LOCUS_ASSIGN_OR_RETURN(MemorySpace * found, rep_->Find(space));
  absl::Time now = rep_->clock.Now();
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(found->options, caller_now, now));
  return segment::Raise(*found, to, reach, now);
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
