// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/workers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/text/text.h"
#include "src/engine/etcd/vet.h"
#include "src/worker/record_text.h"

namespace locus::etcd {

using internal::Quoted;
using worker::Outcome;

namespace {

constexpr int64_t kFirstPage = 8;
constexpr int64_t kMostPage = 256;

// The worker ID in a record's key; `prefix`: of all records' keys.
std::optional<uint64_t> WorkerOf(std::string_view key, std::string_view prefix) {
  key.remove_prefix(std::min(key.size(), prefix.size()));
  while (key.size() > 1 && key.front() == '0') key.remove_prefix(1);
  return internal::ParseDecimal(key, kMostWorker);
}

}  // namespace

WorkerStore::WorkerStore(const EtcdOptions& options, std::unique_ptr<Connection> connection)
    : prefix_(options.prefix + "/workers/"), connection_(std::move(connection)) {}

WorkerStore::~WorkerStore() { internal::AbandonIfForked(connection_); }

absl::StatusOr<std::unique_ptr<WorkerStore>> WorkerStore::Open(const EtcdOptions& options,
                                                               Clock* store_clock) {
  LOCUS_ASSIGN_OR_RETURN(auto connection, Connection::Open(options, store_clock));
  return std::unique_ptr<WorkerStore>(new WorkerStore(options, std::move(connection)));
}

std::string WorkerStore::SpaceKey(const SpaceName& name) const {
  return prefix_ + name.str() + "/space";
}
std::string WorkerStore::RecordKey(const SpaceName& name, uint64_t worker) const {
  return absl::StrFormat("%s%s/id/%010d", prefix_, name.str(), worker);
}
std::string WorkerStore::HeldKey(const SpaceName& name, uint64_t worker) const {
  return absl::StrFormat("%s%s/held/%010d", prefix_, name.str(), worker);
}

absl::Status WorkerStore::At(const std::string& key, const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(connection_->place(), ", key ", Quoted(key), ": ",
                                                  status.message()));
}

absl::Status WorkerStore::Busy() const {
  return absl::UnavailableError(connection_->place() +
                                ": other processes changed the same worker ID each time");
}

absl::Status WorkerStore::TakeSpace(const SpaceName& name, const std::vector<KeyValue>& found,
                                    Image& image) {
  image.text.clear();
  if (found.empty()) return worker::NoSuchSpace(name);
  absl::StatusOr<WorkerSpace> space = WorkerSpace::Parse(found[0].value);
  if (!space.ok()) return At(SpaceKey(name), space.status());
  image.text = found[0].value;
  image.space = *std::move(space);
  return absl::OkStatus();
}

absl::StatusOr<WorkerStore::Stored> WorkerStore::TakeRecord(const SpaceName& name,
                                                            const KeyValue& found) const {
  const std::string first = RecordKey(name, 0);
  std::optional<uint64_t> worker = WorkerOf(found.key, first.substr(0, first.size() - 10));
  std::optional<WorkerRecord> record =
      worker ? worker::RecordOf(*worker, found.value) : std::nullopt;
  if (!record || found.mod_revision <= 0 || found.key != RecordKey(name, *worker)) {
    return At(found.key, absl::DataLossError(absl::StrCat("holds ", Quoted(found.value),
                                                          ", which is no record of a worker ID")));
  }
  return Stored{found.mod_revision, found.value, *std::move(record)};
}

absl::StatusOr<ClusterIdentity> WorkerStore::Identify(const SpaceName& name, Image& image,
                                                      TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(MemberStatus status, connection_->Status(deadline));
  Txn txn;
  txn.Get(SpaceKey(name));
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
  absl::Status taken =
      TakeSpace(name, answer.ranges.empty() ? std::vector<KeyValue>() : answer.ranges[0], image);
  if (!taken.ok() && !absl::IsNotFound(taken)) return taken;
  return IdentityOf(status, answer.header);
}

absl::StatusOr<WorkerStore::Read> WorkerStore::Settle(const SpaceName& name,
                                                      const TxnAnswer& answer, Image& image,
                                                      const WorkerLeaseTerm& term,
                                                      TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(Soundness soundness,
                         Vet(*connection_, image.space, answer, image.memory, deadline));
  if (soundness == Soundness::kSound) return Read::kSound;
  // Memory of records, of holders' keys and of the etcd lease may be of the lost state.
  image.own.clear();
  held_.clear();
  lease_ = {};
  const std::string life = image.space.life;
  LOCUS_ASSIGN_OR_RETURN(ClusterIdentity identity, Identify(name, image, deadline));
  if (image.text.empty() || image.space.life != life) return Read::kAgain;  // others stored it
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  WorkerSpace space = image.space;
  worker::NoteLoss(space, term, now.latest);
  space.BeginLife(now.latest, identity);
  Txn txn;
  txn.IfValue(SpaceKey(name), image.text).Put(SpaceKey(name), space.Text());
  LOCUS_ASSIGN_OR_RETURN(TxnAnswer written, connection_->Commit(txn, deadline));
  if (written.succeeded) {
    image.memory.life.clear();
    image.memory.lost = false;
    image.raised = true;
  }
  return Read::kAgain;
}

absl::StatusOr<TimeSpan> WorkerStore::TimeFor(const WorkerLeaseTerm& term, absl::Time caller_now,
                                              TimePoint deadline) {
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  absl::Status checked = worker::CheckClock(term, caller_now, now.Nearest(caller_now));
  if (checked.ok()) return now;
  return absl::Status(checked.code(), absl::StrCat(connection_->place(), ": ", checked.message()));
}

// One etcd lease serves all holders of this process for a quarter of the ttl, and lives until the
// last of the terms that began with it has passed.
absl::StatusOr<int64_t> WorkerStore::LeaseFor(const WorkerLeaseTerm& term, TimePoint deadline) {
  const absl::Duration whole = term.ttl + term.max_skew;
  const absl::Duration now = Clock::System().SinceBoot();
  if (lease_.id != 0 && now < lease_.used_until && whole <= lease_.for_terms) return lease_.id;
  const absl::Duration used_for = whole / 4;
  LOCUS_ASSIGN_OR_RETURN(
      Answer answer, connection_->Post("/v3/lease/grant",
                                       LeaseGrantJson(absl::ToInt64Seconds(whole + used_for) + 1),
                                       Repeat::kAllowed, deadline));
  LOCUS_ASSIGN_OR_RETURN(int64_t id, ReadLeaseGrant(answer.body));
  lease_ = {id, whole, now + used_for};
  return id;
}

absl::StatusOr<WorkerStore::Read> WorkerStore::Write(const SpaceName& name, uint64_t worker,
                                                     const Stored& before, const Outcome& outcome,
                                                     const WorkerLeaseTerm& term, Image& image,
                                                     TimePoint deadline) {
  const std::string space_key = SpaceKey(name), key = RecordKey(name, worker),
                    held = HeldKey(name, worker);
  WorkerSpace space = image.space;
  if (outcome.space.has_value()) static_cast<worker::Space&>(space) = *outcome.space;
  absl::StatusOr<TxnAnswer> answer;
  for (bool lease_was_lost = false;; lease_was_lost = true) {
    Txn txn;
    if (image.text.empty()) {
      txn.IfAbsent(space_key);
    } else {
      txn.IfValue(space_key, image.text);
    }
    txn.IfRevision(key, before.revision);
    // After a rewind a revision occurs again, with another value.
    if (before.revision != 0) txn.IfValue(key, before.text);
    if (outcome.space.has_value()) txn.Put(space_key, space.Text());
    int64_t lease = 0;
    if (outcome.record.has_value()) {
      txn.Put(key, worker::TextOf(*outcome.record));
      LOCUS_ASSIGN_OR_RETURN(lease, LeaseFor(term, deadline));
      if (held_[held] != lease) txn.Put(held, outcome.record->holder, lease);
    }
    txn.Get(space_key).Get(key);
    image.own.erase(worker);
    answer = connection_->Commit(txn, deadline);
    if (absl::IsNotFound(answer.status()) && lease != 0 && !lease_was_lost) {
      lease_ = {};
      continue;
    }
    LOCUS_RETURN_IF_ERROR(answer.status());
    if (answer->succeeded && lease != 0) held_[held] = lease;
    break;
  }
  if (!answer->succeeded) {
    connection_->CountConflict();
    return Read::kAgain;
  }
  if (outcome.space.has_value()) {
    image.space = space;
    image.text = space.Text();
  }
  if (outcome.record.has_value()) {
    image.own[worker] = {answer->header.revision, worker::TextOf(*outcome.record), *outcome.record};
  }
  // Checked again after the write: a restored cluster may grant an ID that has another holder, so
  // its grant is dropped.
  return Settle(name, *answer, image, term, deadline);
}

absl::StatusOr<WorkerGrant> WorkerStore::Repeatedly(
    Image& image, TimePoint deadline,
    const std::function<absl::StatusOr<std::optional<WorkerGrant>>()>& attempt) {
  image.raised = false;
  internal::Backoff backoff(kConflictPauses);
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<WorkerGrant> grant, attempt());
    if (grant.has_value()) {
      grant->loss_noticed |= image.raised;
      return *std::move(grant);
    }
    if (!SleepBeforeRetry(backoff, deadline)) return Busy();
  }
}

absl::StatusOr<WorkerGrant> WorkerStore::Acquire(const SpaceName& name,
                                                 const WorkerAcquire& request) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  Image& image = images_[name.str()];
  return Repeatedly(image, deadline, [&] { return TryAcquire(name, request, image, deadline); });
}

absl::StatusOr<std::optional<WorkerGrant>> WorkerStore::TryAcquire(const SpaceName& name,
                                                                   const WorkerAcquire& request,
                                                                   Image& image,
                                                                   TimePoint deadline) {
  Read read = Read::kSound;
  std::map<uint64_t, Stored> records;
  auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) -> absl::Status {
    for (int64_t page = kFirstPage; first <= last; page = std::min(page * 4, kMostPage)) {
      Txn txn;
      txn.Get(SpaceKey(name)).GetRange(RecordKey(name, first), RecordKey(name, last) + '\0', page);
      LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
      if (answer.ranges.size() != 2) {
        return At(SpaceKey(name),
                  absl::FailedPreconditionError("a transaction of two ranges returned other ones"));
      }
      LOCUS_RETURN_IF_ERROR(TakeSpace(name, answer.ranges[0], image));
      LOCUS_ASSIGN_OR_RETURN(read, Settle(name, answer, image, request.term, deadline));
      if (read == Read::kAgain) return absl::CancelledError("the cluster lost what it stored");
      for (const KeyValue& found : answer.ranges[1]) {
        LOCUS_ASSIGN_OR_RETURN(Stored stored, TakeRecord(name, found));
        const uint64_t worker = stored.record.worker;
        if (worker < first || worker > last) return Busy();  // no answer to what was asked
        records[worker] = std::move(stored);
        if (!visit(records[worker].record)) return absl::OkStatus();
        first = worker + 1;
      }
      if (static_cast<int64_t>(answer.ranges[1].size()) < page) break;
    }
    return absl::OkStatus();
  };
  // The clock is asked first: its answers are what the times below are bounded by.
  LOCUS_RETURN_IF_ERROR(TimeFor(request.term, request.caller_now, deadline).status());
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  auto free = worker::FindFree(name, request, now.earliest, scan);
  if (read == Read::kAgain) return std::nullopt;
  LOCUS_RETURN_IF_ERROR(free.status());
  const Stored before = free->record ? records[free->worker] : Stored();
  // An ID is free, and the rest is over, only if that is sure; the new ceiling is reckoned from the
  // latest time that it may be.
  LOCUS_RETURN_IF_ERROR(
      worker::PlanAcquire(image.space, before.get(), free->worker, request, now.earliest).status);
  const Outcome outcome =
      worker::PlanAcquire(image.space, before.get(), free->worker, request, now.latest);
  LOCUS_RETURN_IF_ERROR(outcome.status);
  held_.erase(HeldKey(name, free->worker));
  LOCUS_ASSIGN_OR_RETURN(Read written,
                         Write(name, free->worker, before, outcome, request.term, image, deadline));
  if (written == Read::kAgain) return std::nullopt;
  return outcome.grant;
}

absl::StatusOr<WorkerGrant> WorkerStore::Renew(const SpaceName& name, const WorkerRenew& request) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  Image& image = images_[name.str()];
  bool fresh = false;
  return Repeatedly(image, deadline,
                    [&] { return TryRenew(name, request, image, fresh, deadline); });
}

absl::StatusOr<std::optional<WorkerGrant>> WorkerStore::TryRenew(const SpaceName& name,
                                                                 const WorkerRenew& request,
                                                                 Image& image, bool& fresh,
                                                                 TimePoint deadline) {
  auto own = image.own.find(request.worker);
  Stored before = own == image.own.end() ? Stored() : own->second;
  if (fresh || image.text.empty() || before.revision == 0) {
    Txn txn;
    txn.Get(SpaceKey(name)).Get(RecordKey(name, request.worker));
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.ranges.size() != 2 || answer.ranges[1].size() > 1) {
      return At(SpaceKey(name),
                absl::FailedPreconditionError("a transaction of two ranges returned other ones"));
    }
    absl::Status taken = TakeSpace(name, answer.ranges[0], image);
    if (!taken.ok() && !absl::IsNotFound(taken)) return taken;
    if (taken.ok()) {
      LOCUS_ASSIGN_OR_RETURN(Read read, Settle(name, answer, image, request.term, deadline));
      if (read == Read::kAgain) return std::nullopt;
    }
    before = {};
    if (!answer.ranges[1].empty()) {
      LOCUS_ASSIGN_OR_RETURN(before, TakeRecord(name, answer.ranges[1][0]));
      if (before.record.worker != request.worker) return Busy();
    }
    fresh = true;
  }
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, TimeFor(request.term, request.caller_now, deadline));
  Outcome outcome = worker::PlanRenew(image.text.empty() ? nullptr : &image.space, before.get(),
                                      request, now.latest);
  if (!outcome.record && !outcome.space) {
    // A refusal, unlike a write, is not compared with what is stored, so it needs a fresh read.
    if (!std::exchange(fresh, true)) return std::nullopt;
    return outcome.status;
  }
  if (image.text.empty() && outcome.record) {
    LOCUS_ASSIGN_OR_RETURN(ClusterIdentity identity, Identify(name, image, deadline));
    if (!image.text.empty()) return std::nullopt;
    image.space = {};
    image.memory = {};
    image.space.BeginLife(now.latest, identity);
  }
  const std::string key = HeldKey(name, request.worker);
  if (before.revision == 0 || before.record.holder != request.holder) held_.erase(key);
  LOCUS_ASSIGN_OR_RETURN(
      Read written, Write(name, request.worker, before, outcome, request.term, image, deadline));
  fresh = true;
  if (written == Read::kAgain) return std::nullopt;
  LOCUS_RETURN_IF_ERROR(outcome.status);
  return outcome.grant;
}

absl::Status WorkerStore::Release(const SpaceName& name, const WorkerRelease& request) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(worker::Check(request));
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  const std::string key = RecordKey(name, request.worker), held = HeldKey(name, request.worker);
  Txn read;
  read.Get(SpaceKey(name)).Get(key);
  internal::Backoff backoff(kConflictPauses);
  while (true) {
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(read, deadline));
    if (answer.ranges.size() != 2 || answer.ranges[0].empty()) return worker::NoSuchSpace(name);
    Stored before;
    if (!answer.ranges[1].empty()) {
      LOCUS_ASSIGN_OR_RETURN(before, TakeRecord(name, answer.ranges[1][0]));
    }
    const Outcome outcome = worker::PlanRelease(before.get(), request);
    if (!outcome.record) return outcome.status;
    images_[name.str()].own.erase(request.worker);
    held_.erase(held);
    Txn txn;
    txn.IfRevision(key, before.revision).IfValue(key, before.text);
    txn.Put(key, worker::TextOf(*outcome.record)).Delete(held, held + '\0');
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer written, connection_->Commit(txn, deadline));
    if (written.succeeded) return absl::OkStatus();
    connection_->CountConflict();
    if (!SleepBeforeRetry(backoff, deadline)) return Busy();
  }
}

absl::Status WorkerStore::Create(const SpaceName& name, const WorkerSpacePast& past, absl::Time) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  LOCUS_RETURN_IF_ERROR(worker::Check(past));
  const TimePoint deadline = connection_->Deadline();
  TurnHold turn(turn_, deadline);
  if (!turn.held()) return Busy();
  internal::Backoff backoff(kConflictPauses);
  while (true) {
    Image image;
    LOCUS_ASSIGN_OR_RETURN(ClusterIdentity identity, Identify(name, image, deadline));
    const bool is_new = image.text.empty();
    LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
    // The identity of an existing space stays, so that a loss not noticed yet is still noticed.
    if (is_new) image.space.BeginLife(now.latest, identity);
    if (!worker::PlanCreate(image.space, is_new, past, now.latest)) return absl::OkStatus();
    Txn txn;
    if (is_new) {
      txn.IfAbsent(SpaceKey(name));
    } else {
      txn.IfValue(SpaceKey(name), image.text);
    }
    txn.Put(SpaceKey(name), image.space.Text());
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.succeeded) return absl::OkStatus();
    if (!SleepBeforeRetry(backoff, deadline)) return Busy();
  }
}

absl::StatusOr<WorkerSpaceView> WorkerStore::Show(const SpaceName& name) {
  LOCUS_RETURN_IF_ERROR(connection_->RefuseFork());
  const TimePoint deadline = connection_->Deadline();
  Image image;
  std::vector<WorkerRecord> workers;
  uint64_t first = 0;
  while (true) {
    Txn txn;
    txn.Get(SpaceKey(name))
        .GetRange(RecordKey(name, first), RecordKey(name, kMostWorker) + '\0', kMostPage);
    LOCUS_ASSIGN_OR_RETURN(TxnAnswer answer, connection_->Commit(txn, deadline));
    if (answer.ranges.size() != 2) return worker::NoSuchSpace(name);
    LOCUS_RETURN_IF_ERROR(TakeSpace(name, answer.ranges[0], image));
    for (const KeyValue& found : answer.ranges[1]) {
      LOCUS_ASSIGN_OR_RETURN(Stored stored, TakeRecord(name, found));
      if (stored.record.worker < first) return Busy();
      first = stored.record.worker + 1;
      workers.push_back(std::move(stored.record));
    }
    if (static_cast<int64_t>(answer.ranges[1].size()) < kMostPage) break;
  }
  LOCUS_ASSIGN_OR_RETURN(TimeSpan now, connection_->Now(deadline));
  WorkerSpaceView view = worker::ViewOf(image.space, now.earliest);
  view.workers = std::move(workers);
  return view;
}

}  // namespace locus::etcd

namespace locus {

absl::StatusOr<std::unique_ptr<EtcdWorkerLeaseStore>> EtcdWorkerLeaseStore::Open(
    const EtcdOptions& options) {
  return etcd::WorkerStore::Open(options);
}

}  // namespace locus
