// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "locus/engine/mariadb.h"
#include "src/base/check.h"
#include "src/base/mutex.h"
#include "src/engine/mariadb/errors.h"
#include "src/engine/mariadb/pool.h"
#include "src/engine/mariadb/schema.h"
#include "src/engine/mariadb/space_rows.h"
#include "src/engine/mariadb/store_time.h"
#include "src/lease/lease_rules.h"

namespace locus {
namespace {

using mariadb::Connection;
using mariadb::Pool;
using mariadb::Result;
using mariadb::SectionWrite;
using mariadb::SpaceRow;
using mariadb::SpaceState;

void RaiseBase(SpaceState& state, uint64_t at_least) {
  SpaceRow& space = *state.space;
  space.base = lease_rules::BaseAfterLoss(space.options, space.base, state.now, at_least);
  ++space.losses;
  space.identity = state.identity;
}

// What a lease changes.
struct LeasePlan {
  LeaseReply reply;
  std::vector<SectionWrite> writes;
  bool first_of_a_section = false;
};

// Leases for all requests from `state`, whose base it raises where they show a loss.
LeasePlan PlanLease(SpaceState& state, std::span<const LeaseRequest> requests) {
  SpaceRow& space = *state.space;
  LeasePlan plan;
  plan.reply.granted_at = state.now;
  plan.reply.loss_noticed = space.identity != state.identity;
  uint64_t lost_up_to = 0;
  for (const LeaseRequest& request : requests) {
    if (lease_rules::ShowsLoss(request.seen, space.base, state.sections[request.section].head)) {
      lost_up_to = std::max(lost_up_to, request.seen);
      plan.reply.loss_noticed = true;
    }
  }
  if (plan.reply.loss_noticed) RaiseBase(state, lost_up_to);
  for (const LeaseRequest& request : requests) {
    const mariadb::SectionRow& row = state.sections[request.section];
    lease_rules::Decision decision =
        lease_rules::Decide(space.options, space.base, row.head, state.now, request);
    plan.reply.grants.push_back(decision.grant);
    if (decision.grant.segment.length == 0) continue;
    // Writing the base raises each version by one.
    uint64_t version = row.version + (plan.reply.loss_noticed && row.version > 0 ? 1 : 0);
    plan.writes.push_back({request.section, decision.head, version});
    if (row.version == 0) plan.first_of_a_section = true;
  }
  std::sort(plan.writes.begin(), plan.writes.end(),
            [](const SectionWrite& a, const SectionWrite& b) { return a.section < b.section; });
  return plan;
}

}  // namespace

class MariadbSegmentStore::Rep {
 public:
  explicit Rep(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}

  bool forked() const { return pool_->forked(); }
  MariadbStats Stats() const { return pool_->Stats(); }
  void TellTime(Clock& clock) { told_ = &clock; }

  absl::Status Connect() {
    return pool_->Use([](Connection& connection) { return connection.Run("DO 1").status(); });
  }

  absl::Status Create(const SpaceName& name, const SpaceOptions& options, absl::Time caller_now) {
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckOptions(options));
    return Write(name, {}, [&](Connection& connection, SpaceState& state) -> absl::Status {
      if (state.space) {
        LOCUS_RETURN_IF_ERROR(lease_rules::CheckSameOptions(name, state.space->options, options));
        return connection.Run("COMMIT").status();
      }
      LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(options, caller_now, state.now));
      // Heads of a space whose own row is gone.
      LOCUS_ASSIGN_OR_RETURN(
          auto highest,
          connection.Run(absl::StrCat("SELECT COALESCE(MAX(sequence_no), 0) FROM `sequence` WHERE"
                                      " type_id = '",
                                      mariadb::TypeOf(name), "'")));
      LOCUS_ASSIGN_OR_RETURN(int64_t head,
                             mariadb::NumberIn(highest[0].rows[0], 0, connection.place()));
      state.space = SpaceRow{options, 0, 0, ""};
      RaiseBase(state, static_cast<uint64_t>(head));
      return connection
          .Run(absl::StrCat(mariadb::InsertSpace(name, *state.space, state.now), ";",
                            mariadb::WriteBase(name, *state.space), ";COMMIT"))
          .status();
    });
  }

  absl::StatusOr<SpaceOptions> Open(const SpaceName& name) {
    SpaceOptions options;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto results,
                             connection.RunCurrent(mariadb::ReadStatements(
                                 name, {}, mariadb::Lock::kNone, Now(), connection.facts())));
      LOCUS_ASSIGN_OR_RETURN(SpaceState state, mariadb::ParseState(results, connection.place()));
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      options = state.space->options;
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return options;
  }

  absl::StatusOr<LeaseReply> Lease(const SpaceName& name, std::span<const LeaseRequest> requests,
                                   absl::Time caller_now) {
    LeaseReply reply;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(bool leased,
                             LeaseAtOnce(connection, name, requests, caller_now, reply));
      if (leased) return absl::OkStatus();
      return InTransaction(connection, name, requests, [&](SpaceState& state) -> absl::Status {
        return LeaseAll(connection, name, requests, caller_now, state, reply);
      });
    });
    if (!status.ok()) return status;
    return reply;
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& name) {
    SpaceView view;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          connection.RunCurrent(absl::StrCat(
              "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
              "START TRANSACTION WITH CONSISTENT SNAPSHOT;",
              mariadb::ReadAllStatements(name, Now(), connection.facts()), ";COMMIT")));
      LOCUS_ASSIGN_OR_RETURN(
          SpaceState state,
          mariadb::ParseState(std::span<const Result>(results).subspan(2), connection.place()));
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      const SpaceRow& space = *state.space;
      view = SpaceView{space.options, space.base, space.losses, state.now, {}};
      uint64_t floor = lease_rules::Floor(view.options, view.now);
      for (const auto& [section, row] : state.sections) {
        view.sections.push_back(
            {section, row.head,
             lease_rules::FloorTime(view.options, static_cast<int64_t>(row.head - floor)),
             row.granted_at});
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return view;
  }

  // `change` has the space with the clock checked, and changes its base.
  absl::Status ChangeBase(const SpaceName& name, absl::Time caller_now,
                          const std::function<void(SpaceState&)>& change) {
    return Write(name, {}, [&](Connection& connection, SpaceState& state) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(state.space->options, caller_now, state.now));
      change(state);
      return connection.Run(absl::StrCat(mariadb::WriteBase(name, *state.space), ";COMMIT"))
          .status();
    });
  }

 private:
  std::string Now() const {
    return mariadb::NowExpression(told_ == nullptr ? std::nullopt
                                                   : std::optional<absl::Time>(told_->Now()));
  }

  absl::Status Require(const SpaceName& name, const SpaceState& state,
                       const Connection& connection) const {
    if (state.space) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat("mariadb ", connection.place(), " has no space ", name.str()));
  }

  // Locks the space and the sections; `body` writes and commits.
  absl::Status InTransaction(Connection& connection, const SpaceName& name,
                             std::span<const LeaseRequest> requests,
                             const std::function<absl::Status(SpaceState&)>& body) const {
    std::string read = absl::StrCat(
        "START TRANSACTION;", mariadb::ReadStatements(name, requests, mariadb::Lock::kForUpdate,
                                                      Now(), connection.facts()));
    LOCUS_ASSIGN_OR_RETURN(auto results, connection.RunCurrent(read));
    LOCUS_ASSIGN_OR_RETURN(
        SpaceState state,
        mariadb::ParseState(std::span<const Result>(results).subspan(1), connection.place()));
    return body(state);
  }

  template <typename Body>
  absl::Status Write(const SpaceName& name, std::span<const LeaseRequest> requests,
                     const Body& body) {
    return pool_->Use([&](Connection& connection) {
      return InTransaction(connection, name, requests,
                           [&](SpaceState& state) { return body(connection, state); });
    });
  }

  // False: not to be had in one statement.
  absl::StatusOr<bool> LeaseAtOnce(Connection& connection, const SpaceName& name,
                                   std::span<const LeaseRequest> requests, absl::Time caller_now,
                                   LeaseReply& reply) {
    if (requests.size() != 1) return false;
    std::optional<SpaceRow> known = Known(name);
    if (!known || !lease_rules::CheckRequests(known->options, requests).ok()) return false;
    const LeaseRequest& request = requests[0];
    LOCUS_ASSIGN_OR_RETURN(
        auto results, connection.Run(mariadb::LeaseAtOnce(name, *known, request, caller_now, Now(),
                                                          connection.facts())));
    if (results[2].affected == 0) return false;
    LOCUS_ASSIGN_OR_RETURN(int64_t now_us,
                           mariadb::NumberIn(results[3].rows[0], 0, connection.place()));
    uint64_t end = results[2].insert_id;
    reply = {};
    reply.granted_at = absl::FromUnixMicros(now_us);
    LeaseGrant grant;
    grant.segment = {end - request.length, request.length};
    grant.lead = lease_rules::FloorTime(
        known->options,
        static_cast<int64_t>(end - lease_rules::Floor(known->options, reply.granted_at)));
    reply.grants.push_back(grant);
    return true;
  }

  absl::Status LeaseAll(Connection& connection, const SpaceName& name,
                        std::span<const LeaseRequest> requests, absl::Time caller_now,
                        SpaceState& state, LeaseReply& reply) {
    LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckRequests(state.space->options, requests));
    LOCUS_RETURN_IF_ERROR(lease_rules::CheckClock(state.space->options, caller_now, state.now));
    LeasePlan plan = PlanLease(state, requests);
    std::string statements;
    if (plan.reply.loss_noticed) {
      absl::StrAppend(&statements, mariadb::WriteBase(name, *state.space), ";");
    } else if (plan.first_of_a_section) {
      absl::StrAppend(&statements, mariadb::TouchSpace(name), ";");
    }
    if (!plan.writes.empty()) {
      absl::StrAppend(&statements, mariadb::WriteSections(name, plan.writes, state.now), ";");
    }
    absl::Status written = connection.Run(absl::StrCat(statements, "COMMIT")).status();
    if (connection.error() == mariadb::kOutOfRange) {
      connection.NoteConflict();
      return absl::UnavailableError(absl::StrCat("mariadb ", connection.place(),
                                                 ": a section was leased by others all the time"));
    }
    LOCUS_RETURN_IF_ERROR(written);
    Remember(name, *state.space);
    reply = std::move(plan.reply);
    return absl::OkStatus();
  }

  std::optional<SpaceRow> Known(const SpaceName& name) {
    MutexLock lock(mutex_);
    auto it = known_.find(name);
    if (it == known_.end()) return std::nullopt;
    return it->second;
  }
  void Remember(const SpaceName& name, const SpaceRow& space) {
    MutexLock lock(mutex_);
    known_[name] = space;
  }

  const std::unique_ptr<Pool> pool_;
  Clock* told_ = nullptr;
  Mutex mutex_;
  // As last read; a base that has risen since only makes a lease take the longer way.
  std::map<SpaceName, SpaceRow> known_ ABSL_GUARDED_BY(mutex_);
};

absl::Status MariadbSegmentStore::CreateSchema(const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mariadb::CreateOrUpgradeSchema);
}

absl::StatusOr<std::unique_ptr<MariadbSegmentStore>> MariadbSegmentStore::Open(
    const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kMustFit));
  auto rep = std::make_unique<Rep>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(rep->Connect());
  return std::unique_ptr<MariadbSegmentStore>(new MariadbSegmentStore(std::move(rep)));
}

MariadbSegmentStore::MariadbSegmentStore(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

MariadbSegmentStore::~MariadbSegmentStore() {
  // In a forked child the sockets are its parent's.
  if (rep_->forked()) rep_.release();
}

absl::Status MariadbSegmentStore::Create(const SpaceName& space, const SpaceOptions& options,
                                         absl::Time caller_now) {
  return rep_->Create(space, options, caller_now);
}

absl::StatusOr<SpaceOptions> MariadbSegmentStore::Open(const SpaceName& space) {
  return rep_->Open(space);
}

absl::StatusOr<LeaseReply> MariadbSegmentStore::Lease(const SpaceName& space,
                                                      std::span<const LeaseRequest> requests,
                                                      absl::Time caller_now) {
  return rep_->Lease(space, requests, caller_now);
}

absl::StatusOr<SpaceView> MariadbSegmentStore::Show(const SpaceName& space, absl::Time) {
  return rep_->Show(space);
}

absl::Status MariadbSegmentStore::DeclareRestored(const SpaceName& space, absl::Time caller_now) {
  return rep_->ChangeBase(space, caller_now, [](SpaceState& state) { RaiseBase(state, 0); });
}

absl::Status MariadbSegmentStore::Raise(const SpaceName& space, uint64_t to,
                                        absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(lease_rules::CheckRaise(to));
  return rep_->ChangeBase(space, caller_now, [to](SpaceState& state) {
    state.space->base = std::max(state.space->base, to);
  });
}

MariadbStats MariadbSegmentStore::Stats() const { return rep_->Stats(); }

void MariadbStoreTime::Tell(MariadbSegmentStore& store, Clock& clock) {
  store.rep_->TellTime(clock);
}

}  // namespace locus
