// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/space_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/vet.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"

namespace locus::etcd {

using internal::Quoted;

SpaceStore::SpaceStore(const EtcdOptions& options, std::unique_ptr<Connection> connection)
    : prefix_(options.prefix + "/"), connection_(std::move(connection)) {}

SpaceStore::~SpaceStore() {
  // The sockets belong to the parent: the child abandons them.
  internal::AbandonIfForked(connection_);
}

absl::StatusOr<std::unique_ptr<SpaceStore>> SpaceStore::Open(const EtcdOptions& options,
                                                             Clock* store_clock) {
  LOCUS_ASSIGN_OR_RETURN(auto connection, Connection::Open(options, store_clock));
  return std::unique_ptr<SpaceStore>(new SpaceStore(options, std::move(connection)));
}

std::string SpaceStore::RecordKey(const SpaceName& name) const {
  return prefix_ + "space/" + name.str();
}

std::string SpaceStore::HeadsKey(const SpaceName& name) const {
  return prefix_ + "heads/" + name.str() + "/";
}

std::string SpaceStore::GroupKey(const SpaceName& name, uint32_t group) const {
  return absl::StrCat(HeadsKey(name), absl::Hex(group, absl::kZeroPad2));
}

absl::Status SpaceStore::At(const SpaceName& name, const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(connection_->place(), ", key ",
                                                  Quoted(RecordKey(name)), ": ", status.message()));
}

absl::Status SpaceStore::Busy() const {
  return absl::UnavailableError(connection_->place() +
                                ": other processes allocated the same sections each time");
}

absl::Status SpaceStore::TakeRecord(const SpaceName& name, const std::vector<KeyValue>& found,
                                    KnownSpace& space) {
  if (found.empty()) {
    return absl::NotFoundError(absl::StrCat(connection_->place(), " has no space ", name.str(),
                                            " under prefix ", Quoted(prefix_)));
  }
  absl::StatusOr<SpaceRecord> record = SpaceRecord::Parse(found[0].value);
  if (!record.ok()) return At(name, record.status());
  space.image.record_text = found[0].value;
  space.image.record = *std::move(record);
  return absl::OkStatus();
}

absl::Status SpaceStore::TakeGroup(const SpaceName& name, uint32_t group, const std::string& text,
                                   KnownSpace& space) {
  auto parsed = SectionGroup::Parse(text, SectionsPerGroup(space.image.record.options));
  if (!parsed.ok()) return At(name, parsed.status());
  space.image.groups[group] = *std::move(parsed);
  return absl::OkStatus();
}

absl::StatusOr<TxnAnswer> SpaceStore::Read(const SpaceName& name, KnownSpace& space,
                                           TimePoint deadline) {
  space.known = false;
  Txn txn;
  txn.Get(RecordKey(name)).GetAll(HeadsKey(name));
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
  if (answer.ranges.size() != 2) {
    return At(name,
              absl::FailedPreconditionError("a transaction of two ranges returned other ones"));
  }
  LOCUS_RETURN_IF_ERROR(TakeRecord(name, answer.ranges[0], space));
  const SpaceOptions& options = space.image.record.options;
  uint32_t groups = segment_rules::SectionsOf(options) / SectionsPerGroup(options);
  space.image.groups.clear();
  for (uint32_t group = 0; group < groups; ++group) {
    std::string key = GroupKey(name, group);
    auto at = std::find_if(answer.ranges[1].begin(), answer.ranges[1].end(),
                           [&](const KeyValue& pair) { return pair.key == key; });
    std::string text = at == answer.ranges[1].end() ? std::string() : at->value;
    LOCUS_RETURN_IF_ERROR(TakeGroup(name, group, text, space));
  }
  space.known = true;
  return answer;
}

absl::Status SpaceStore::TakeConflict(const SpaceName& name, const TxnAnswer& answer,
                                      const std::set<uint32_t>& groups, KnownSpace& space) {
  std::string life = space.image.record.life;
  space.known = false;
  if (answer.ranges.size() != 1 + groups.size()) {
    return At(name,
              absl::FailedPreconditionError("a transaction returned other ranges than requested"));
  }
  LOCUS_RETURN_IF_ERROR(TakeRecord(name, answer.ranges[0], space));
  // After a loss the rest of the image may belong to the space's earlier life.
  if (space.image.record.life != life) return absl::OkStatus();
  size_t i = 1;
  for (uint32_t group : groups) {
    const std::vector<KeyValue>& found = answer.ranges[i++];
    LOCUS_RETURN_IF_ERROR(
        TakeGroup(name, group, found.empty() ? std::string() : found[0].value, space));
  }
  space.known = true;
  return absl::OkStatus();
}

absl::Status SpaceStore::ReadAndVet(const SpaceName& name, KnownSpace& space,
                                    std::optional<ClusterIdentity>& lost, TimePoint deadline) {
  lost.reset();
  std::optional<MemberStatus> earlier;
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, Read(name, space, deadline));
    LOCUS_ASSIGN_OR_RETURN(Soundness soundness,
                           Vet(*connection_, space.image.record, answer, space.memory, deadline));
    if (soundness == Soundness::kSound) return absl::OkStatus();
    if (earlier) {
      lost = IdentityOf(*earlier, answer.header);
      return absl::OkStatus();
    }
    // The identity is bounded by a status and an answer after it.
    LOCUS_ASSIGN_OR_RETURN(earlier, connection_->Status(deadline));
  }
}

absl::StatusOr<absl::Time> SpaceStore::TimeFor(const SpaceOptions& options, absl::Time caller_now,
                                               TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  absl::Time time = now.Nearest(caller_now);
  absl::Status checked = segment_rules::CheckClock(options, caller_now, time);
  if (checked.ok()) return time;
  return absl::Status(checked.code(), absl::StrCat(connection_->place(), ": ", checked.message()));
}

Txn SpaceStore::TxnFor(const SpaceName& name, const SpaceImage& image,
                       const std::set<uint32_t>& groups, const AllocationPlan& plan) const {
  Txn txn;
  txn.IfValue(RecordKey(name), image.record_text).Get(RecordKey(name));
  if (plan.new_record) txn.Put(RecordKey(name), plan.new_record->Text());
  for (uint32_t group : groups) {
    std::string key = GroupKey(name, group);
    const std::string& mark = image.groups.at(group).mark;
    if (mark.empty()) {
      txn.IfAbsent(key);
    } else {
      txn.IfMarked(key, mark);
    }
    txn.Get(key);
    auto changed = plan.changed_groups.find(group);
    if (changed != plan.changed_groups.end()) txn.Put(key, changed->second.Text());
  }
  return txn;
}

absl::StatusOr<SegmentReply> SpaceStore::Allocate(const SpaceName& name,
                                                  const SpaceOptions& options,
                                                  std::span<const SegmentRequest> requests,
                                                  absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  AllocateCall call{name, options, requests, caller_now, connection_->Deadline()};
  TurnHold turn(turn_, call.deadline);
  if (!turn.held()) return Busy();
  KnownSpace& space = spaces_[name.str()];
  internal::Backoff backoff(kConflictPauses);
  bool first_conflict = true;
  while (true) {
    std::optional<ClusterIdentity> lost;
    if (!space.known || space.memory.lost) {
      LOCUS_RETURN_IF_ERROR(ReadAndVet(name, space, lost, call.deadline));
      call.image_is_fresh = true;
    }
    LOCUS_ASSIGN_OR_RETURN(std::optional<AllocationPlan> plan, PlanFor(call, space, lost));
    if (!plan) continue;
    if (!plan->writes()) return std::move(plan->reply);
    LOCUS_ASSIGN_OR_RETURN(Written written, Write(call, *plan, space));
    if (written == Written::kSound) return std::move(plan->reply);
    bool others_were_first = written == Written::kConflict;
    // The first conflict is the price of allocating from memory; the image is fresh now.
    if (others_were_first && !std::exchange(first_conflict, false) &&
        !SleepBeforeRetry(backoff, call.deadline)) {
      return Busy();
    }
    if (!others_were_first && std::chrono::steady_clock::now() >= call.deadline) return Busy();
  }
}

absl::StatusOr<std::optional<AllocationPlan>> SpaceStore::PlanFor(
    const AllocateCall& call, KnownSpace& space, const std::optional<ClusterIdentity>& lost) {
  absl::Status admitted =
      segment::Admit(call.name, space.image.record.options, call.options, call.requests);
  std::optional<AllocationPlan> plan;
  if (admitted.ok()) {
    LOCUS_ASSIGN_OR_RETURN(absl::Time now, TimeFor(call.options, call.caller_now, call.deadline));
    plan = PlanAllocation(space.image, call.requests, now, lost);
    if (plan->writes()) return plan;
  }
  // A refusal, unlike a write, is not compared with the state in etcd, so it needs a fresh read.
  if (!call.image_is_fresh) {
    space.known = false;
    return std::nullopt;
  }
  if (!admitted.ok()) return admitted;
  return plan;
}

absl::StatusOr<SpaceStore::Written> SpaceStore::Write(AllocateCall& call, AllocationPlan& plan,
                                                      KnownSpace& space) {
  SpaceImage& image = space.image;
  std::set<uint32_t> groups = GroupsOf(call.options, call.requests);
  LOCUS_ASSIGN_OR_RETURN(
      TxnAnswer answer, connection_->Commit(TxnFor(call.name, image, groups, plan), call.deadline));
  if (!answer.succeeded) {
    connection_->CountConflict();
    LOCUS_RETURN_IF_ERROR(TakeConflict(call.name, answer, groups, space));
    LOCUS_RETURN_IF_ERROR(
        Vet(*connection_, space.image.record, answer, space.memory, call.deadline).status());
    call.image_is_fresh = true;
    return Written::kConflict;
  }
  if (plan.new_record) {
    image.record_text = plan.new_record->Text();
    image.record = *plan.new_record;
    space.memory.life.clear();
    space.memory.lost = false;
  }
  for (auto& [number, group] : plan.changed_groups) image.groups[number] = std::move(group);
  // An allocation from a restored cluster may repeat earlier ones, so none of it is handed out.
  LOCUS_ASSIGN_OR_RETURN(Soundness soundness, Vet(*connection_, space.image.record, answer,
                                                  space.memory, call.deadline));
  return soundness == Soundness::kSound ? Written::kSound : Written::kToLostCluster;
}

absl::Status SpaceStore::Create(const SpaceName& name, const SpaceOptions& options,
                                absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
  TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  Txn read;
  read.Get(RecordKey(name));
  internal::Backoff backoff(kConflictPauses);
  while (true) {
    KnownSpace space;
    LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection_->Status(deadline));
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer there, connection_->Commit(read, deadline));
    absl::Status found =
        TakeRecord(name, there.ranges.empty() ? std::vector<KeyValue>() : there.ranges[0], space);
    if (found.ok()) {
      return segment_rules::CheckSameOptions(name, space.image.record.options, options);
    }
    if (!absl::IsNotFound(found)) return found;
    LOCUS_ASSIGN_OR_RETURN(absl::Time now, TimeFor(options, caller_now, deadline));
    SpaceRecord record;
    record.options = options;
    record.NoteLoss(now, IdentityOf(status, there.header));
    Txn txn;
    txn.IfAbsent(RecordKey(name)).Put(RecordKey(name), record.Text());
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.succeeded) return absl::OkStatus();
    if (!SleepBeforeRetry(backoff, deadline)) return Busy();
  }
}

absl::StatusOr<SpaceOptions> SpaceStore::ReadOptions(const SpaceName& name) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  KnownSpace space;
  LOCUS_RETURN_IF_ERROR(Read(name, space, connection_->Deadline()).status());
  return space.image.record.options;
}

absl::StatusOr<SpaceView> SpaceStore::Show(const SpaceName& name, absl::Time caller_now) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  TimePoint deadline = connection_->Deadline();
  KnownSpace space;
  LOCUS_RETURN_IF_ERROR(Read(name, space, deadline).status());
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  uint32_t per_group = SectionsPerGroup(space.image.record.options);
  std::vector<SpaceView::Section> sections;
  for (const auto& [number, group] : space.image.groups) {
    for (uint32_t i = 0; i < per_group; ++i) {
      const SectionRow& row = group.rows[i];
      if (row.head == 0) continue;
      sections.push_back({static_cast<uint16_t>(number * per_group + i), row.head,
                          absl::ZeroDuration(), row.granted_at});
    }
  }
  return segment::View(space.image.record, now.Nearest(caller_now), std::move(sections));
}

template <typename Change>
absl::Status SpaceStore::Rewrite(const SpaceName& name, absl::Time caller_now,
                                 const Change& change) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  internal::Backoff backoff(kConflictPauses);
  while (true) {
    KnownSpace space;
    LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection_->Status(deadline));
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer there, Read(name, space, deadline));
    SpaceRecord record = space.image.record;
    LOCUS_ASSIGN_OR_RETURN(absl::Time now, TimeFor(record.options, caller_now, deadline));
    LOCUS_RETURN_IF_ERROR(change(record, now, IdentityOf(status, there.header)));
    Txn txn;
    txn.IfValue(RecordKey(name), space.image.record_text).Put(RecordKey(name), record.Text());
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.succeeded) return absl::OkStatus();
    if (!SleepBeforeRetry(backoff, deadline)) return Busy();
  }
}

absl::Status SpaceStore::DeclareRestored(const SpaceName& name, absl::Time caller_now) {
  return Rewrite(name, caller_now,
                 [](SpaceRecord& record, absl::Time now, const ClusterIdentity& identity) {
                   record.NoteLoss(now, identity);
                   return absl::OkStatus();
                 });
}

absl::StatusOr<BaseRaise> SpaceStore::Raise(const SpaceName& name, uint64_t to, RaiseReach reach,
                                            absl::Time caller_now) {
  BaseRaise raise;
  auto change = [&](SpaceRecord& record, absl::Time now, const ClusterIdentity&) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(raise, segment::Raise(record, to, reach, now));
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(Rewrite(name, caller_now, change));
  return raise;
}

}  // namespace locus::etcd

namespace locus {

absl::StatusOr<std::unique_ptr<EtcdSegmentStore>> EtcdSegmentStore::Open(
    const EtcdOptions& options) {
  return etcd::SpaceStore::Open(options);
}

}  // namespace locus
