// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/mutex.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/pool.h"
#include "src/engine/mysql/schema.h"
#include "src/engine/mysql/space_rows.h"
#include "src/engine/mysql/store_time.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;
using internal::MysqlStoreTime;

namespace {

using mysql::Connection;
using mysql::Pool;
using mysql::Result;
using mysql::SectionWrite;
using mysql::SpaceRow;
using mysql::SpaceState;

void NoteLoss(SpaceState& state, uint64_t at_least) {
  segment::NoteLoss(*state.space, state.now, at_least);
  state.space->identity = state.identity;
}

segment::State StateOf(const SpaceState& read, std::span<const SegmentRequest> requests) {
  using mysql::IdentityChange;
  const IdentityChange change = mysql::Compare(read.space->identity, read.identity);
  segment::State state{*read.space, {}};
  state.identity_changed = change == IdentityChange::kOther;
  // A chown looks to the server as files that were put back do. Not counted as a loss: `losses` is
  // worth an alarm, and a raise costs 17 minutes of floor.
  state.maybe_put_back = change == IdentityChange::kFiles;
  for (const SegmentRequest& request : requests) {
    auto row = read.sections.find(request.section);
    state.heads.push_back(row == read.sections.end() ? 0 : row->second.head);
  }
  return state;
}

// The writes of an allocation, in the order of the sections.
struct AllocationWrites {
  std::vector<SectionWrite> sections;
  bool first_of_a_section = false;
};

AllocationWrites WritesFor(const segment::Outcome& outcome,
                           std::span<const SegmentRequest> requests, const SpaceState& read) {
  AllocationWrites writes;
  for (const segment::Outcome::Head& head : outcome.heads) {
    uint16_t section = requests[head.request].section;
    auto row = read.sections.find(section);
    uint64_t version = row == read.sections.end() ? 0 : row->second.version;
    writes.first_of_a_section |= version == 0;
    // Writing the base raises each version by one.
    if (outcome.base_raised && version > 0) ++version;
    writes.sections.push_back({section, head.after, version});
  }
  std::sort(writes.sections.begin(), writes.sections.end(),
            [](const SectionWrite& a, const SectionWrite& b) { return a.section < b.section; });
  return writes;
}

class VnodeSegmentStore final : public MysqlSegmentStore {
 public:
  explicit VnodeSegmentStore(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~VnodeSegmentStore() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(pool_);
  }

  void TellTime(Clock& clock) { told_ = &clock; }

  absl::Status Connect() {
    return pool_->Use([](Connection& connection) { return connection.Run("DO 1").status(); });
  }

  absl::Status Create(const SpaceName& name, const SpaceOptions& options,
                      absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
    return Write(name, {}, [&](Connection& connection, SpaceState& state) -> absl::Status {
      if (state.space) {
        LOCUS_RETURN_IF_ERROR(segment_rules::CheckSameOptions(name, state.space->options, options));
        return connection.Run("COMMIT").status();
      }
      LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(options, caller_now, state.now));
      // If only the space's own row is gone, its heads remain.
      LOCUS_ASSIGN_OR_RETURN(
          auto highest,
          connection.Run(absl::StrCat("SELECT COALESCE(MAX(sequence_no), 0) FROM `sequence` WHERE"
                                      " type_id = '",
                                      mysql::TypeOf(name), "'"),
                         {mysql::OneRow(1)}));
      LOCUS_ASSIGN_OR_RETURN(int64_t head,
                             mysql::NumberIn(highest[0].rows[0], 0, connection.place()));
      state.space.emplace();
      state.space->options = options;
      NoteLoss(state, static_cast<uint64_t>(head));
      return connection
          .Run(absl::StrCat(mysql::InsertSpace(name, *state.space, state.now), ";",
                            mysql::WriteBase(name, *state.space), ";COMMIT"))
          .status();
    });
  }

  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& name) override {
    SpaceOptions options;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results, connection.RunCurrent(mysql::ReadStatements(name, {}, mysql::Lock::kNone,
                                                                    Now(), connection.facts()),
                                              mysql::kStateShapes));
      LOCUS_ASSIGN_OR_RETURN(SpaceState state, mysql::ParseState(results, connection.place()));
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      options = state.space->options;
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return options;
  }

  absl::StatusOr<SegmentReply> Allocate(const SpaceName& name, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    AllocateCall call{name, options, requests, caller_now, {}};
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(bool allocated, AllocateAtOnce(connection, call));
      if (allocated) return absl::OkStatus();
      return InTransaction(connection, name, requests, [&](SpaceState& state) -> absl::Status {
        return AllocateAll(connection, state, call);
      });
    });
    if (!status.ok()) return status;
    return std::move(call.reply);
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time) override {
    SpaceView view;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          connection.RunCurrent(
              absl::StrCat("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ;"
                           "START TRANSACTION WITH CONSISTENT SNAPSHOT;",
                           mysql::ReadAllStatements(name, Now(), connection.facts()), ";COMMIT"),
              {mysql::kNoRows, mysql::kNoRows, mysql::kStateShapes[0], mysql::kStateShapes[1],
               mysql::kStateShapes[2], mysql::kNoRows}));
      LOCUS_ASSIGN_OR_RETURN(
          SpaceState state,
          mysql::ParseState(std::span<const Result>(results).subspan(2), connection.place()));
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      std::vector<SpaceView::Section> sections;
      for (const auto& [section, row] : state.sections) {
        sections.push_back({section, row.head, absl::ZeroDuration(), row.granted_at});
      }
      view = segment::View(*state.space, state.now, std::move(sections));
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return view;
  }

  absl::Status DeclareRestored(const SpaceName& name, absl::Time caller_now) override {
    return ChangeBase(name, caller_now, [](SpaceState& state) {
      NoteLoss(state, 0);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<BaseRaise> Raise(const SpaceName& name, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override {
    BaseRaise raise;
    LOCUS_RETURN_IF_ERROR(ChangeBase(name, caller_now, [&](SpaceState& state) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(raise, segment::Raise(*state.space, to, reach, state.now));
      return absl::OkStatus();
    }));
    return raise;
  }

  MysqlStats Stats() const override { return pool_->Stats(); }

 private:
  struct AllocateCall {
    const SpaceName& space;
    const SpaceOptions& options;
    std::span<const SegmentRequest> requests;
    absl::Time caller_now;
    SegmentReply reply;
  };

  std::string Now() const {
    return mysql::NowExpression(told_ == nullptr ? std::nullopt
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
                             std::span<const SegmentRequest> requests,
                             const std::function<absl::Status(SpaceState&)>& body) const {
    std::string read = absl::StrCat(
        "START TRANSACTION;",
        mysql::ReadStatements(name, requests, mysql::Lock::kForUpdate, Now(), connection.facts()));
    LOCUS_ASSIGN_OR_RETURN(
        auto results,
        connection.RunCurrent(read, {mysql::kNoRows, mysql::kStateShapes[0], mysql::kStateShapes[1],
                                     mysql::kStateShapes[2]}));
    LOCUS_ASSIGN_OR_RETURN(
        SpaceState state,
        mysql::ParseState(std::span<const Result>(results).subspan(1), connection.place()));
    if (state.half_restored) {
      return absl::UnavailableError(absl::StrCat(
          "mariadb ", connection.place(),
          ": a dump is being put back (locus_birth is new, and locus_space, sequence or"
          " sequence_type is not): allocations wait until it is whole. If it was broken off, put "
          "it back"
          " again; if none was begun, see docs/run/engines-mysql.md, \"Restore of a dump\""));
    }
    return body(state);
  }

  template <typename Body>
  absl::Status Write(const SpaceName& name, std::span<const SegmentRequest> requests,
                     const Body& body) {
    return pool_->Use([&](Connection& connection) {
      return InTransaction(connection, name, requests,
                           [&](SpaceState& state) { return body(connection, state); });
    });
  }

  // `change` gets the space with the clock checked, and changes its base.
  absl::Status ChangeBase(const SpaceName& name, absl::Time caller_now,
                          const std::function<absl::Status(SpaceState&)>& change) {
    return Write(name, {}, [&](Connection& connection, SpaceState& state) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(Require(name, state, connection));
      LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(state.space->options, caller_now, state.now));
      LOCUS_RETURN_IF_ERROR(change(state));
      return connection.Run(absl::StrCat(mysql::WriteBase(name, *state.space), ";COMMIT")).status();
    });
  }

  // The usual allocation of one section: one statement, whose conditions are those of the rules.
  // False: a condition does not hold, so the transaction has to decide.
  absl::StatusOr<bool> AllocateAtOnce(Connection& connection, AllocateCall& call) {
    if (call.requests.size() != 1) return false;
    std::optional<SpaceRow> known = Known(call.space);
    if (!known || !segment::Admit(call.space, known->options, call.options, call.requests).ok()) {
      return false;
    }
    const SegmentRequest& request = call.requests[0];
    LOCUS_ASSIGN_OR_RETURN(
        auto results,
        connection.Run(mysql::AllocateAtOnce(call.space, *known, request, call.caller_now, Now(),
                                             connection.facts()),
                       {mysql::kNoRows, mysql::kNoRows, mysql::kNoRows, mysql::OneRow(1)}));
    if (results[2].affected == 0) return false;
    LOCUS_ASSIGN_OR_RETURN(int64_t now_us,
                           mysql::NumberIn(results[3].rows[0], 0, connection.place()));
    uint64_t end = results[2].insert_id;
    if (end < request.length || end > segment_rules::kEndOfSequences ||
        (end - request.length) % segment_rules::kUnit != 0 ||
        end - request.length < std::max(request.seen, known->base)) {
      return absl::DataLossError(absl::StrCat(
          "mariadb ", connection.place(), " allocated ", request.length, " sequences up to ", end,
          " of section ", request.section, ", which the statement cannot do"));
    }
    call.reply = {};
    call.reply.granted_at = absl::FromUnixMicros(now_us);
    SegmentGrant grant;
    grant.segment = {end - request.length, request.length};
    const uint64_t floor = segment_rules::Floor(known->options, call.reply.granted_at);
    grant.lead = segment_rules::FloorTime(known->options, static_cast<int64_t>(end - floor));
    grant.room = segment_rules::Room(known->options, known->base, end, floor);
    call.reply.grants.push_back(grant);
    return true;
  }

  absl::Status AllocateAll(Connection& connection, const SpaceState& read, AllocateCall& call) {
    LOCUS_RETURN_IF_ERROR(Require(call.space, read, connection));
    LOCUS_RETURN_IF_ERROR(
        segment::Admit(call.space, read.space->options, call.options, call.requests));
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckClock(call.options, call.caller_now, read.now));
    segment::Outcome outcome = segment::Plan(StateOf(read, call.requests), call.requests, read.now);
    AllocationWrites writes = WritesFor(outcome, call.requests, read);
    SpaceRow space = *read.space;
    static_cast<segment::Space&>(space) = outcome.space;
    std::string statements;
    if (outcome.base_raised) {
      space.identity = read.identity;
      absl::StrAppend(&statements, mysql::WriteBase(call.space, space), ";");
    } else if (writes.first_of_a_section) {
      absl::StrAppend(&statements, mysql::TouchSpace(call.space), ";");
    }
    if (!writes.sections.empty()) {
      absl::StrAppend(&statements, mysql::WriteSections(call.space, writes.sections, read.now),
                      ";");
    }
    absl::Status written = connection.Run(absl::StrCat(statements, "COMMIT")).status();
    if (connection.error() == mysql::kOutOfRange) {
      connection.NoteConflict();
      return absl::UnavailableError(absl::StrCat(
          "mariadb ", connection.place(), ": other processes allocated a section each time"));
    }
    LOCUS_RETURN_IF_ERROR(written);
    Remember(call.space, space);
    call.reply = std::move(outcome.reply);
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

  std::unique_ptr<Pool> pool_;
  Clock* told_ = nullptr;  // of a test that owns the time
  Mutex mutex_;
  // As last read; a base that has risen since only makes an allocation take the longer way.
  std::map<SpaceName, SpaceRow> known_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::Status MysqlSegmentStore::CreateSchema(const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mysql::CreateOrUpgradeSchema);
}

absl::StatusOr<std::unique_ptr<MysqlSegmentStore>> MysqlSegmentStore::Open(
    const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kMustFit));
  auto store = std::make_unique<VnodeSegmentStore>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(store->Connect());
  return store;
}

void MysqlStoreTime::Tell(MysqlSegmentStore& store, Clock& clock) {
  static_cast<VnodeSegmentStore&>(store).TellTime(clock);
}

}  // namespace locus
