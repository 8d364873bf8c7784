// SPDX-License-Identifier: Apache-2.0
#include "src/engine/zookeeper/segments.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/engine/zookeeper/session.h"
#include "src/engine/zookeeper/space_text.h"
#include "src/engine/zookeeper/tree.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;
using zookeeper::Change;
using zookeeper::kConflictPauses;
using zookeeper::SectionRow;
using zookeeper::Session;
using zookeeper::TimePoint;
using zookeeper::Znode;

namespace {

// A space S has, under PREFIX/spaces/S:
//   space     "1 " and the text of space_text.h
//   clock     written by each call, for the leader's time
//   heads/GG  the rows of a group of sections; GG two hex digits
class VnodeSegmentStore final : public ZookeeperSegmentStore {
 public:
  VnodeSegmentStore(const ZookeeperOptions& options, std::unique_ptr<Session> session, Clock* clock)
      : prefix_(options.prefix), session_(std::move(session)), clock_(clock) {}
  ~VnodeSegmentStore() override { internal::AbandonIfForked(session_); }

  absl::Status Create(const SpaceName& name, const SpaceOptions& options,
                      absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
    const TimePoint deadline = session_->Deadline();
    LOCUS_RETURN_IF_ERROR(zookeeper::MakePath(*session_, Path(name, "/heads"), deadline));
    LOCUS_RETURN_IF_ERROR(session_->Make(Path(name, "/clock"), deadline));
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
      if (space.exists) return segment_rules::CheckSameOptions(name, space.space.options, options);
      LOCUS_RETURN_IF_ERROR(CheckClock(options, caller_now, space.now));
      space.space.options = options;
      segment::NoteLoss(space.space, space.now);
      LOCUS_ASSIGN_OR_RETURN(bool written, Commit(space, {WriteSpace(name, space)}, deadline));
      if (written) {
        Remember(name, space);
        return absl::OkStatus();
      }
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& name) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadExisting(name, session_->Deadline()));
    return space.space.options;
  }

  absl::StatusOr<SegmentReply> Allocate(const SpaceName& name, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    const TimePoint deadline = session_->Deadline();
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadExisting(name, deadline));
      LOCUS_RETURN_IF_ERROR(segment::Admit(name, space.space.options, options, requests));
      LOCUS_RETURN_IF_ERROR(CheckClock(options, caller_now, space.now));
      LOCUS_ASSIGN_OR_RETURN(Groups groups,
                             ReadGroups(name, options, GroupsOf(options, requests), deadline));
      segment::State state{space.space, {}, /*identity_changed=*/space.zxid < space.seen_before};
      for (const SegmentRequest& request : requests) {
        state.heads.push_back(RowOf(groups, options, request.section).head);
      }
      segment::Outcome outcome = segment::Plan(state, requests, space.now);
      if (outcome.base_raised) space.space = outcome.space;
      std::vector<Change> changes = {outcome.base_raised ? WriteSpace(name, space)
                                                         : CheckSpace(name, space)};
      std::set<uint32_t> changed;
      for (const segment::Outcome::Head& head : outcome.heads) {
        const uint16_t section = requests[head.request].section;
        RowOf(groups, options, section) = {head.after, outcome.reply.granted_at};
        changed.insert(section / zookeeper::SectionsPerGroup(options));
      }
      for (const uint32_t group : changed) changes.push_back(WriteGroup(name, group, groups));
      bool written = true;
      if (outcome.base_raised || !changed.empty()) {
        LOCUS_ASSIGN_OR_RETURN(written, Commit(space, changes, deadline));
      }
      if (written) {
        Remember(name, space);
        return std::move(outcome.reply);
      }
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    const TimePoint deadline = session_->Deadline();
    LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadExisting(name, deadline));
    const SpaceOptions& options = space.space.options;
    const uint32_t per_group = zookeeper::SectionsPerGroup(options);
    std::set<uint32_t> all;
    for (uint32_t i = 0; i < segment_rules::SectionsOf(options) / per_group; ++i) all.insert(i);
    LOCUS_ASSIGN_OR_RETURN(Groups groups, ReadGroups(name, options, all, deadline));
    std::vector<SpaceView::Section> sections;
    for (const auto& [number, group] : groups) {
      for (uint32_t i = 0; i < per_group; ++i) {
        const SectionRow& row = group.rows[i];
        if (row.head == 0) continue;
        sections.push_back({static_cast<uint16_t>(number * per_group + i), row.head,
                            absl::ZeroDuration(), row.granted_at});
      }
    }
    return segment::View(space.space, space.now, std::move(sections));
  }

  absl::Status DeclareRestored(const SpaceName& name, absl::Time caller_now) override {
    return Rewrite(name, caller_now, [](StoredSpace& space) {
      segment::NoteLoss(space.space, space.now);
      return absl::OkStatus();
    });
  }

  absl::StatusOr<BaseRaise> Raise(const SpaceName& name, uint64_t to, RaiseReach reach,
                                  absl::Time caller_now) override {
    BaseRaise raise;
    LOCUS_RETURN_IF_ERROR(Rewrite(name, caller_now, [&](StoredSpace& space) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(raise, segment::Raise(space.space, to, reach, space.now));
      return absl::OkStatus();
    }));
    return raise;
  }

  ZookeeperStats Stats() const override { return session_->Stats(); }

 private:
  struct StoredSpace {
    bool exists = false;
    int32_t version = 0;
    segment::Space space;
    absl::Time now;
    int64_t zxid = 0;         // of the write that showed the time
    int64_t seen_before = 0;  // the highest one that was known before that write was sent
    int64_t session = 0;      // in which it was read
  };
  struct Group {
    bool exists = false;
    int32_t version = 0;
    std::vector<SectionRow> rows;
  };
  using Groups = std::map<uint32_t, Group>;

  std::string Path(const SpaceName& name, absl::string_view last) const {
    return absl::StrCat(prefix_, "/spaces/", name.str(), last);
  }
  std::string GroupPath(const SpaceName& name, uint32_t group) const {
    return Path(name, absl::StrFormat("/heads/%02x", group));
  }
  absl::Status Busy() const {
    return absl::UnavailableError(session_->place() +
                                  ": other processes allocated the same sections each time");
  }
  absl::Status CheckClock(const SpaceOptions& options, absl::Time caller_now,
                          absl::Time now) const {
    const absl::Status status = segment_rules::CheckClock(options, caller_now, now);
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(session_->place(), ": ", status.message()));
  }
  absl::Status NoSuchSpace(const SpaceName& name) const {
    return absl::NotFoundError(
        absl::StrCat(session_->place(), " has no space ", name.str(), " under prefix ", prefix_));
  }
  static std::set<uint32_t> GroupsOf(const SpaceOptions& options,
                                     std::span<const SegmentRequest> requests) {
    std::set<uint32_t> groups;
    for (const SegmentRequest& request : requests) {
      groups.insert(request.section / zookeeper::SectionsPerGroup(options));
    }
    return groups;
  }
  static SectionRow& RowOf(Groups& groups, const SpaceOptions& options, uint16_t section) {
    const uint32_t per_group = zookeeper::SectionsPerGroup(options);
    return groups.at(section / per_group).rows[section % per_group];
  }

  // Also reads the time, by a write: all that this session reads afterwards is at least as new.
  absl::StatusOr<StoredSpace> ReadSpace(const SpaceName& name, TimePoint deadline) {
    StoredSpace space;
    {
      MutexLock lock(mutex_);
      space.seen_before = seen_[name.str()];
    }
    LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> clock,
                           session_->Touch(Path(name, "/clock"), deadline));
    if (!clock) return NoSuchSpace(name);
    space.session = session_->id();
    space.now = clock_ == nullptr ? clock->mtime : clock_->Now();
    space.zxid = clock->zxid;
    const std::string path = Path(name, "/space");
    LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> znode, session_->Get(path, deadline));
    if (!znode) return space;
    LOCUS_ASSIGN_OR_RETURN(const std::string_view text,
                           zookeeper::TextOfSchema1(*session_, path, znode->value));
    const std::optional<segment::Space> read = zookeeper::SpaceOf(text);
    if (!read) return zookeeper::Spoilt(*session_, path, znode->value);
    space.exists = true;
    space.version = znode->version;
    space.space = *read;
    return space;
  }
  absl::StatusOr<StoredSpace> ReadExisting(const SpaceName& name, TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
    if (!space.exists) return NoSuchSpace(name);
    return space;
  }

  absl::StatusOr<Groups> ReadGroups(const SpaceName& name, const SpaceOptions& options,
                                    const std::set<uint32_t>& numbers, TimePoint deadline) {
    std::vector<std::string> paths;
    for (const uint32_t number : numbers) paths.push_back(GroupPath(name, number));
    LOCUS_ASSIGN_OR_RETURN(auto znodes, session_->GetEach(paths, deadline));
    Groups groups;
    size_t i = 0;
    for (const uint32_t number : numbers) {
      const std::optional<Znode>& znode = znodes[i];
      auto rows =
          zookeeper::RowsOf(znode ? znode->value : "", zookeeper::SectionsPerGroup(options));
      if (!rows) return zookeeper::Spoilt(*session_, paths[i], znode->value);
      groups[number] = {znode.has_value(), znode ? znode->version : 0, *std::move(rows)};
      ++i;
    }
    return groups;
  }

  Change WriteSpace(const SpaceName& name, const StoredSpace& space) const {
    return {space.exists ? Change::Kind::kSet : Change::Kind::kCreate, Path(name, "/space"),
            "1 " + zookeeper::TextOf(space.space), space.version};
  }
  Change CheckSpace(const SpaceName& name, const StoredSpace& space) const {
    return {Change::Kind::kCheck, Path(name, "/space"), "", space.version};
  }
  Change WriteGroup(const SpaceName& name, uint32_t number, const Groups& groups) const {
    const Group& group = groups.at(number);
    return {group.exists ? Change::Kind::kSet : Change::Kind::kCreate, GroupPath(name, number),
            zookeeper::TextOf(group.rows), group.version};
  }

  // False: another process was first. Versions count anew in an ensemble that was put back, so all
  // requests of a call must belong to one session: a session never continues on an ensemble older
  // than the state that it has seen.
  absl::StatusOr<bool> Commit(const StoredSpace& read, const std::vector<Change>& changes,
                              TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(bool written, session_->Commit(changes, deadline));
    if (!written) {
      session_->CountConflict();
      return false;
    }
    if (session_->id() == read.session) return true;
    return absl::UnavailableError(session_->place() + ": the session ended during a change");
  }

  // A loss that was noticed by a lower zxid counts once: from then on that is the one to compare.
  void Remember(const SpaceName& name, const StoredSpace& space) {
    MutexLock lock(mutex_);
    int64_t& seen = seen_[name.str()];
    seen = space.zxid < space.seen_before ? space.zxid : std::max(seen, space.zxid);
  }

  // Writes the space as `change` leaves it.
  template <typename Changing>
  absl::Status Rewrite(const SpaceName& name, absl::Time caller_now, const Changing& change) {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    const TimePoint deadline = session_->Deadline();
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadExisting(name, deadline));
      LOCUS_RETURN_IF_ERROR(CheckClock(space.space.options, caller_now, space.now));
      LOCUS_RETURN_IF_ERROR(change(space));
      LOCUS_ASSIGN_OR_RETURN(bool written, Commit(space, {WriteSpace(name, space)}, deadline));
      if (written) return absl::OkStatus();
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  const std::string prefix_;
  std::unique_ptr<Session> session_;
  Clock* const clock_;  // null: the leader's
  Mutex mutex_;
  std::map<std::string, int64_t> seen_ ABSL_GUARDED_BY(mutex_);  // the last zxid of each space
};

}  // namespace

absl::StatusOr<std::unique_ptr<ZookeeperSegmentStore>> internal::ZookeeperSegmentStoreAccess::Open(
    const ZookeeperOptions& options, Clock* clock) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Open(options));
  return std::make_unique<VnodeSegmentStore>(options, std::move(session), clock);
}

absl::StatusOr<std::unique_ptr<ZookeeperSegmentStore>> ZookeeperSegmentStore::Open(
    const ZookeeperOptions& options) {
  return internal::ZookeeperSegmentStoreAccess::Open(options, nullptr);
}

}  // namespace locus
