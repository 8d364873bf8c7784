// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/base/check.h"
#include "src/base/mutex.h"
#include "src/engine/sqlite/store_file.h"
#include "src/lease/lease_rules.h"

namespace locus {
namespace {

using sqlite::Identity;
using sqlite::Sidecar;
using sqlite::Space;
using sqlite::StoreRow;

// Whose word counts where the caller's clock is behind the newest lease.
enum class ClockTrust { kNewestLease, kOperatorsWord };

}  // namespace

class SqliteSegmentStore::Rep {
 public:
  Rep(const std::string& path, const Options& options)
      : path_(path), file_(path, options.busy_timeout) {}

  bool forked() const { return home_.left(); }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    return file_.Connect(create);
  }

  absl::Status Create(const SpaceName& name, const SpaceOptions& options, absl::Time now) {
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckOptions(options));
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(std::optional<Space> found, file_.tables().Find(name));
      if (found) return lease_rules::CheckSameOptions(name, found->options, options);
      LOCUS_RETURN_IF_ERROR(CheckClock(options, now));
      Space space{name.str(), options};
      space.base = beside_.bases[name.str()];  // of a store that lay here before
      RaiseBase(space, now, 0);
      return file_.tables().Insert(space);
    };
    return InWrite(now, write);
  }

  absl::StatusOr<SpaceOptions> Open(const SpaceName& name) {
    LOCUS_RETURN_IF_ERROR(home_.RefuseFork(path_));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_.Usable());
    LOCUS_ASSIGN_OR_RETURN(Space space, Require(name));
    return space.options;
  }

  absl::StatusOr<LeaseReply> Lease(const SpaceName& name, std::span<const LeaseRequest> requests,
                                   absl::Time now) {
    LeaseReply reply;
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(Space space, Require(name));
      LOCUS_RETURN_IF_ERROR(lease_rules::CheckRequests(space.options, requests));
      LOCUS_RETURN_IF_ERROR(CheckClock(space.options, now));
      reply.loss_noticed = loss_noticed_;
      return LeaseAll(space, requests, now, reply);
    };
    LOCUS_RETURN_IF_ERROR(InWrite(now, write));
    return reply;
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time now) {
    LOCUS_RETURN_IF_ERROR(home_.RefuseFork(path_));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_.Usable());
    LOCUS_RETURN_IF_ERROR(file_.connection().Execute("BEGIN"));
    absl::StatusOr<SpaceView> view = Read(name, now);
    LOCUS_RETURN_IF_ERROR(file_.connection().Execute("COMMIT"));
    return view;
  }

  // An operator's word that the clock is right now counts: where the newest lease lies ahead of it,
  // base is raised above all that the clock of that time could reach.
  absl::Status DeclareRestored(const SpaceName& name, absl::Time now) {
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(Space space, Require(name));
      LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(space.options, now, now));
      RaiseBase(space, std::max(now, newest_grant_), 0);
      newest_grant_ = now;
      return file_.tables().Update(space);
    };
    return InWrite(now, write, ClockTrust::kOperatorsWord);
  }

  absl::Status Raise(const SpaceName& name, uint64_t to, absl::Time now) {
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckRaise(to));
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(Space space, Require(name));
      LOCUS_RETURN_IF_ERROR(CheckClock(space.options, now));
      space.base = std::max(space.base, to);
      return file_.tables().Update(space);
    };
    return InWrite(now, write);
  }

 private:
  // Runs `body` in a transaction that compares the identities, and raises the generation in the
  // sidecar, then in the file.
  template <typename Body>
  absl::Status InWrite(absl::Time now, const Body& body,
                       ClockTrust trust = ClockTrust::kNewestLease) {
    LOCUS_RETURN_IF_ERROR(home_.RefuseFork(path_));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_.Usable());
    auto write = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_.StillThere());
      LOCUS_RETURN_IF_ERROR(file_.LockSidecar());
      LOCUS_ASSIGN_OR_RETURN(StoreRow row, file_.tables().ReadStore());
      newest_grant_ = row.newest_grant;
      Identity identity = row.identity;
      LOCUS_ASSIGN_OR_RETURN(beside_, file_.sidecar().Read());
      LOCUS_ASSIGN_OR_RETURN(bool sums_agree, file_.tables().HeadSumsAgree());
      loss_noticed_ = identity != beside_.identity || !sums_agree;
      if (loss_noticed_) {
        LOCUS_RETURN_IF_ERROR(RaiseAllBases(now, trust));
        identity.id = sqlite::RandomId();
      }
      LOCUS_RETURN_IF_ERROR(body());
      ++identity.generation;
      LOCUS_RETURN_IF_ERROR(file_.tables().WriteStore({identity, newest_grant_}));
      beside_.identity = identity;
      LOCUS_ASSIGN_OR_RETURN(std::vector<Space> spaces, file_.tables().AllSpaces());
      for (const Space& space : spaces) {
        uint64_t& base = beside_.bases[space.name];
        base = std::max(base, space.base);
      }
      return file_.sidecar().Write(beside_);
    };
    return file_.InTransaction(write);
  }

  // SQLite has no clock of its own: the newest lease stands in for it. Only a caller that is
  // behind it can be told from one that comes later.
  absl::Status CheckClock(const SpaceOptions& options, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(options, now, now));
    if (now >= newest_grant_ - lease_rules::kMaxClockDifference) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "this process's clock, ", absl::FormatTime(now, absl::UTCTimeZone()),
        ", is more than 60s behind the newest lease of store ", path_, ", granted at ",
        absl::FormatTime(newest_grant_, absl::UTCTimeZone()),
        ": set the clock right; if it was ahead at that time, run `locus store restored`"));
  }

  // Every space may have lost leases; its sums are taken anew.
  absl::Status RaiseAllBases(absl::Time now, ClockTrust trust)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<Space> spaces, file_.tables().AllSpaces());
    for (Space& space : spaces) {
      if (trust == ClockTrust::kNewestLease) {
        LOCUS_RETURN_IF_ERROR(CheckClock(space.options, now));
      }
      space.base = std::max(space.base, beside_.bases[space.name]);
      RaiseBase(space, std::max(now, newest_grant_), 0);
      LOCUS_RETURN_IF_ERROR(file_.tables().SumHeads(space));
      LOCUS_RETURN_IF_ERROR(file_.tables().Update(space));
    }
    return absl::OkStatus();
  }

  static void RaiseBase(Space& space, absl::Time now, uint64_t at_least) {
    space.base = lease_rules::BaseAfterLoss(space.options, space.base, now, at_least);
    ++space.losses;
  }

  absl::StatusOr<Space> Require(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<Space> space, file_.tables().Find(name));
    if (space) return *space;
    return absl::NotFoundError(absl::StrCat("store ", path_, " has no space ", name.str()));
  }

  absl::Status LeaseAll(Space& space, std::span<const LeaseRequest> requests, absl::Time now,
                        LeaseReply& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    std::vector<uint64_t> heads;
    uint64_t lost_up_to = 0;
    for (const LeaseRequest& request : requests) {
      LOCUS_ASSIGN_OR_RETURN(uint64_t head, file_.tables().HeadOf(space, request.section));
      heads.push_back(head);
      if (lease_rules::ShowsLoss(request.seen, space.base, head)) {
        lost_up_to = std::max(lost_up_to, request.seen);
      }
    }
    if (lost_up_to > 0) {
      RaiseBase(space, now, lost_up_to);
      reply.loss_noticed = true;
    }
    reply.granted_at = now;
    newest_grant_ = std::max(newest_grant_, now);
    for (size_t i = 0; i < requests.size(); ++i) {
      lease_rules::Decision decision =
          lease_rules::Decide(space.options, space.base, heads[i], now, requests[i]);
      reply.grants.push_back(decision.grant);
      if (decision.grant.segment.length == 0) continue;
      LOCUS_RETURN_IF_ERROR(
          file_.tables().StoreHead(space, requests[i].section, decision.head, now));
      space.head_sum_high += (decision.head >> 32) - (heads[i] >> 32);
      space.head_sum_low += (decision.head & UINT32_MAX) - (heads[i] & UINT32_MAX);
    }
    return file_.tables().Update(space);
  }

  absl::StatusOr<SpaceView> Read(const SpaceName& name, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(Space space, Require(name));
    SpaceView view{space.options, space.base, space.losses, now, {}};
    uint64_t floor = lease_rules::Floor(view.options, now);
    LOCUS_ASSIGN_OR_RETURN(view.sections, file_.tables().Sections(space));
    for (SpaceView::Section& section : view.sections) {
      section.lead =
          lease_rules::FloorTime(view.options, static_cast<int64_t>(section.head - floor));
    }
    return view;
  }

  const std::string path_;
  const sqlite::HomeProcess home_;
  Mutex mutex_;
  sqlite::StoreFile file_ ABSL_GUARDED_BY(mutex_);
  // Of the transaction under way.
  absl::Time newest_grant_ ABSL_GUARDED_BY(mutex_);
  bool loss_noticed_ ABSL_GUARDED_BY(mutex_) = false;
  Sidecar beside_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<SqliteSegmentStore>> SqliteSegmentStore::Open(
    const std::string& path, const Options& options) {
  auto rep = std::make_unique<Rep>(path, options);
  LOCUS_RETURN_IF_ERROR(rep->Connect(options.create));
  return std::unique_ptr<SqliteSegmentStore>(new SqliteSegmentStore(std::move(rep)));
}

SqliteSegmentStore::SqliteSegmentStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

SqliteSegmentStore::~SqliteSegmentStore() {
  // Closing a connection in a forked child could undo its parent's log: the child abandons it.
  if (rep_->forked()) rep_.release();
}

absl::Status SqliteSegmentStore::Create(const SpaceName& space, const SpaceOptions& options,
                                        absl::Time caller_now) {
  return rep_->Create(space, options, caller_now);
}

absl::StatusOr<SpaceOptions> SqliteSegmentStore::Open(const SpaceName& space) {
  return rep_->Open(space);
}

absl::StatusOr<LeaseReply> SqliteSegmentStore::Lease(const SpaceName& space,
                                                     std::span<const LeaseRequest> requests,
                                                     absl::Time caller_now) {
  return rep_->Lease(space, requests, caller_now);
}

absl::StatusOr<SpaceView> SqliteSegmentStore::Show(const SpaceName& space, absl::Time caller_now) {
  return rep_->Show(space, caller_now);
}

absl::Status SqliteSegmentStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  return rep_->DeclareRestored(space, caller_now);
}

absl::Status SqliteSegmentStore::Raise(const SpaceName& space, uint64_t to, absl::Time caller_now) {
  return rep_->Raise(space, to, caller_now);
}

}  // namespace locus
