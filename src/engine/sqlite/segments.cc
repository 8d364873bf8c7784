// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/engine/sqlite/store_file.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

using sqlite::Identity;
using sqlite::Sidecar;
using sqlite::SpaceRow;
using sqlite::StoreRow;

// Which time counts as the store's clock if the caller's is behind the newest allocation.
enum class ClockTrust { kNewestAllocation, kOperatorsWord };

class VnodeSegmentStore final : public SqliteSegmentStore {
 public:
  VnodeSegmentStore(const std::string& path, const Options& options)
      : path_(path), file_(std::make_unique<sqlite::StoreFile>(path, options.busy_timeout)) {}
  ~VnodeSegmentStore() override {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    return file_->Connect(create);
  }

  absl::Status Create(const SpaceName& name, const SpaceOptions& options, absl::Time now) override {
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
    return Write(now, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::StatusOr<SpaceRow> {
      LOCUS_ASSIGN_OR_RETURN(std::optional<SpaceRow> found, file_->tables().Find(name));
      if (found) {
        LOCUS_RETURN_IF_ERROR(segment_rules::CheckSameOptions(name, found->options, options));
        return *found;
      }
      LOCUS_RETURN_IF_ERROR(CheckClock(options, now));
      LOCUS_RETURN_IF_ERROR(CheckRoomFor(name));
      SpaceRow space;
      space.name = name.str();
      space.options = options;
      NoteLoss(space, now);
      LOCUS_RETURN_IF_ERROR(file_->tables().Insert(space));
      return space;
    });
  }

  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& name) override {
    LOCUS_RETURN_IF_ERROR(CheckFork());
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_ASSIGN_OR_RETURN(SpaceRow space, Require(name));
    return space.options;
  }

  absl::StatusOr<SegmentReply> Allocate(const SpaceName& name, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time now) override {
    SegmentReply reply;
    auto allocation = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::StatusOr<SpaceRow> {
      LOCUS_ASSIGN_OR_RETURN(SpaceRow space, Require(name));
      LOCUS_RETURN_IF_ERROR(segment::Admit(name, space.options, options, requests));
      LOCUS_RETURN_IF_ERROR(CheckClock(options, now));
      LOCUS_ASSIGN_OR_RETURN(segment::State state, StateOf(space, requests));
      segment::Outcome outcome = segment::Plan(state, requests, now);
      LOCUS_RETURN_IF_ERROR(StoreOutcome(outcome, requests, space));
      reply = std::move(outcome.reply);
      reply.loss_noticed |= loss_noticed_;
      return space;
    };
    LOCUS_RETURN_IF_ERROR(Write(now, allocation));
    return reply;
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time now) override {
    LOCUS_RETURN_IF_ERROR(CheckFork());
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("BEGIN"));
    absl::StatusOr<SpaceView> view = Read(name, now);
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("COMMIT"));
    return view;
  }

  // Takes the operator's word that the clock is right now: if the newest allocation is ahead of it,
  // base is raised above all that the wrong clock could reach.
  absl::Status DeclareRestored(const SpaceName& name, absl::Time now) override {
    auto declare = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::StatusOr<SpaceRow> {
      LOCUS_ASSIGN_OR_RETURN(SpaceRow space, Require(name));
      LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(space.options, now, now));
      segment::NoteLoss(space, std::max(now, newest_grant_));
      newest_grant_ = now;
      LOCUS_RETURN_IF_ERROR(file_->tables().Update(space));
      return space;
    };
    return Write(now, declare, ClockTrust::kOperatorsWord);
  }

  absl::StatusOr<BaseRaise> Raise(const SpaceName& name, uint64_t to, RaiseReach reach,
                                  absl::Time now) override {
    BaseRaise raise;
    auto raise_base = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::StatusOr<SpaceRow> {
      LOCUS_ASSIGN_OR_RETURN(SpaceRow space, Require(name));
      LOCUS_RETURN_IF_ERROR(CheckClock(space.options, now));
      LOCUS_ASSIGN_OR_RETURN(raise, segment::Raise(space, to, reach, now));
      LOCUS_RETURN_IF_ERROR(file_->tables().Update(space));
      return space;
    };
    LOCUS_RETURN_IF_ERROR(Write(now, raise_base));
    return raise;
  }

 private:
  absl::Status CheckFork() const { return home_.Check("a store's handle"); }

  // Runs `body` in a transaction that compares the identities, and raises the generation in the
  // sidecar, then in the file. A kill between the two costs one false loss. `body` returns the
  // changed space.
  template <typename Body>
  absl::Status Write(absl::Time now, const Body& body,
                     ClockTrust trust = ClockTrust::kNewestAllocation) {
    LOCUS_RETURN_IF_ERROR(CheckFork());
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_->StillThere());
      LOCUS_RETURN_IF_ERROR(file_->LockSidecar());
      LOCUS_ASSIGN_OR_RETURN(StoreRow row, file_->tables().ReadStore());
      newest_grant_ = row.newest_grant;
      LOCUS_RETURN_IF_ERROR(ReadSidecar());
      LOCUS_ASSIGN_OR_RETURN(bool sums_agree, file_->tables().HeadSumsAgree());
      Identity identity = row.identity;
      loss_noticed_ = identity != beside_.identity || !sums_agree;
      if (loss_noticed_) {
        LOCUS_RETURN_IF_ERROR(RaiseAllBases(now, trust));
        identity.id = sqlite::RandomId();
      }
      LOCUS_ASSIGN_OR_RETURN(SpaceRow touched, body());
      ++identity.generation;
      LOCUS_RETURN_IF_ERROR(file_->tables().WriteStore({identity, newest_grant_}));
      beside_.identity = identity;
      NoteBeside(touched);
      return file_->sidecar().Write(beside_);
    };
    return file_->InTransaction(write);
  }

  absl::Status ReadSidecar() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(beside_, file_->sidecar().Read());
    bool complete = std::all_of(beside_.spaces.begin(), beside_.spaces.end(),
                                [](const auto& space) { return space.second.options.has_value(); });
    if (complete) return absl::OkStatus();
    // Written by an older locus, which kept no options beside the file.
    LOCUS_ASSIGN_OR_RETURN(std::vector<SpaceRow> spaces, file_->tables().AllSpaces());
    for (const SpaceRow& space : spaces) {
      auto beside = beside_.spaces.find(space.name);
      if (beside != beside_.spaces.end()) beside->second.options = space.options;
    }
    return absl::OkStatus();
  }

  // SQLite has no clock of its own, so the newest allocation stands in for one. A clock that is
  // ahead looks like time that has passed, so only one that is behind is refused.
  absl::Status CheckClock(const SpaceOptions& options, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(options, now, now));
    if (now >= newest_grant_ - segment_rules::kMaxClockDifference) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "this process's clock, ", absl::FormatTime(now, absl::UTCTimeZone()),
        ", is more than 60s behind the newest allocation of store ", path_, ", granted at ",
        absl::FormatTime(newest_grant_, absl::UTCTimeZone()),
        ": correct the clock; if it was ahead at that time, run `locus store restored`"));
  }

  // The sidecar names all spaces, and is rewritten by each allocation.
  absl::Status CheckRoomFor(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    bool known = beside_.spaces.count(name.str()) > 0;
    if (known || beside_.spaces.size() < sqlite::kMostSpaces) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("store ", path_, " holds, or once held, ", beside_.spaces.size(),
                     " spaces; one file holds at most ", sqlite::kMostSpaces, ": create space ",
                     name.str(), " in another file"));
  }

  // Raises base above all allocations of this file, and of the one that the sidecar remembers. That
  // one may have had a faster floor or a longer lead.
  void NoteLoss(SpaceRow& space, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    now = std::max(now, newest_grant_);
    uint64_t at_least = 0;
    auto beside = beside_.spaces.find(space.name);
    if (beside != beside_.spaces.end()) {
      const Sidecar::SpaceCopy& remembered = beside->second;
      space.base = std::max(space.base, remembered.base);
      if (remembered.options) {
        at_least = segment_rules::BaseAfterLoss(*remembered.options, remembered.base, now, 0);
      }
    }
    segment::NoteLoss(space, now, at_least);
  }

  // Any space may have lost allocations. Its sums may be wrong too, so they are computed again.
  absl::Status RaiseAllBases(absl::Time now, ClockTrust trust)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<SpaceRow> spaces, file_->tables().AllSpaces());
    for (SpaceRow& space : spaces) {
      if (trust == ClockTrust::kNewestAllocation) {
        LOCUS_RETURN_IF_ERROR(CheckClock(space.options, now));
      }
      NoteLoss(space, now);
      LOCUS_RETURN_IF_ERROR(file_->tables().SumHeads(space));
      LOCUS_RETURN_IF_ERROR(file_->tables().Update(space));
      NoteBeside(space);
    }
    return absl::OkStatus();
  }

  void NoteBeside(const SpaceRow& space) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    Sidecar::SpaceCopy& beside = beside_.spaces[space.name];
    beside.base = std::max(beside.base, space.base);
    beside.options = space.options;
  }

  absl::StatusOr<SpaceRow> Require(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<SpaceRow> space, file_->tables().Find(name));
    if (space) return *space;
    return absl::NotFoundError(absl::StrCat("store ", path_, " has no space ", name.str()));
  }

  absl::StatusOr<segment::State> StateOf(const SpaceRow& space,
                                         std::span<const SegmentRequest> requests)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    segment::State state{space, {}, false};  // a changed identity raised all bases before
    for (const SegmentRequest& request : requests) {
      LOCUS_ASSIGN_OR_RETURN(uint64_t head, file_->tables().HeadOf(space, request.section));
      state.heads.push_back(head);
    }
    return state;
  }

  absl::Status StoreOutcome(const segment::Outcome& outcome,
                            std::span<const SegmentRequest> requests, SpaceRow& space)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    static_cast<segment::Space&>(space) = outcome.space;
    newest_grant_ = std::max(newest_grant_, outcome.reply.granted_at);
    for (const segment::Outcome::Head& head : outcome.heads) {
      LOCUS_RETURN_IF_ERROR(file_->tables().StoreHead(space, requests[head.request].section,
                                                      head.after, outcome.reply.granted_at));
      space.head_sum_high += (head.after >> 32) - (head.before >> 32);
      space.head_sum_low += (head.after & UINT32_MAX) - (head.before & UINT32_MAX);
    }
    return file_->tables().Update(space);
  }

  absl::StatusOr<SpaceView> Read(const SpaceName& name, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(SpaceRow space, Require(name));
    LOCUS_ASSIGN_OR_RETURN(auto sections, file_->tables().Sections(space));
    return segment::View(space, now, std::move(sections));
  }

  const std::string path_;
  const internal::ForkGuard home_;
  Mutex mutex_;
  std::unique_ptr<sqlite::StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
  // Of the transaction under way.
  absl::Time newest_grant_ ABSL_GUARDED_BY(mutex_);
  bool loss_noticed_ ABSL_GUARDED_BY(mutex_) = false;
  Sidecar beside_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteSegmentStore>> SqliteSegmentStore::Open(
    const std::string& path, const Options& options) {
  auto store = std::make_unique<VnodeSegmentStore>(path, options);
  LOCUS_RETURN_IF_ERROR(store->Connect(options.create));
  return store;
}

}  // namespace locus
