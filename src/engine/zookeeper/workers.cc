// SPDX-License-Identifier: Apache-2.0
#include "src/engine/zookeeper/workers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/backoff.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/engine/zookeeper/session.h"
#include "src/engine/zookeeper/tree.h"
#include "src/worker/record_text.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;
using internal::Quoted;
using worker::Outcome;
using zookeeper::Change;
using zookeeper::kConflictPauses;
using zookeeper::Session;
using zookeeper::TimePoint;
using zookeeper::Znode;

namespace {

constexpr size_t kFirstPage = 8;
constexpr size_t kMostPage = 128;

// A space S has, under PREFIX/workers/S:
//   space          "1 " and what src/worker/record_text.h writes of a space
//   clock          written by each call, for the leader's time
//   id/NNNNNNNNNN  the record of a worker ID that was ever granted
//   held/NNNNNNNNNN  ephemeral: the holder
class WorkerStore final : public ZookeeperWorkerLeaseStore {
 public:
  WorkerStore(const ZookeeperOptions& options, std::unique_ptr<Session> session, Clock* clock)
      : prefix_(options.prefix), session_(std::move(session)), clock_(clock) {}
  ~WorkerStore() override { internal::AbandonIfForked(session_); }

  absl::Status Create(const SpaceName& name, const WorkerSpacePast& past, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(worker::Check(past));
    const TimePoint deadline = session_->Deadline();
    LOCUS_RETURN_IF_ERROR(MakeTree(name, deadline));
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
      if (!worker::PlanCreate(space.space, !space.exists, past, space.now)) {
        return absl::OkStatus();
      }
      const Change change = WriteSpace(name, space, space.space);
      LOCUS_ASSIGN_OR_RETURN(bool written, session_->Commit({&change, 1}, deadline));
      if (written) return absl::OkStatus();
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    const TimePoint deadline = session_->Deadline();
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
      if (!space.exists) return worker::NoSuchSpace(name);
      LOCUS_RETURN_IF_ERROR(CheckClock(request.term, request.caller_now, space.now));
      NoteRewind(space, request.term);
      LOCUS_ASSIGN_OR_RETURN(Found found, FindFree(name, request, space.now, deadline));
      Outcome outcome;
      outcome.status = found.status;
      if (found.status.ok()) {
        outcome =
            worker::PlanAcquire(space.space, found.record.get(), found.worker, request, space.now);
      }
      LOCUS_ASSIGN_OR_RETURN(bool written,
                             Write(name, found.worker, space, found.record, outcome, deadline));
      if (written) return Answer(space, outcome);
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    const TimePoint deadline = session_->Deadline();
    internal::Backoff backoff(kConflictPauses);
    while (true) {
      absl::StatusOr<StoredSpace> space = ReadSpace(name, deadline);
      if (absl::IsNotFound(space.status())) {  // the space is gone: this holder makes it again
        LOCUS_RETURN_IF_ERROR(MakeTree(name, deadline));
        space = ReadSpace(name, deadline);
      }
      LOCUS_RETURN_IF_ERROR(space.status());
      LOCUS_RETURN_IF_ERROR(CheckClock(request.term, request.caller_now, space->now));
      if (space->exists) NoteRewind(*space, request.term);
      LOCUS_ASSIGN_OR_RETURN(Record record, ReadRecord(name, request.worker, deadline));
      const Outcome outcome = worker::PlanRenew(space->exists ? &space->space : nullptr,
                                                record.get(), request, space->now);
      LOCUS_ASSIGN_OR_RETURN(bool written,
                             Write(name, request.worker, *space, record, outcome, deadline));
      if (written) return Answer(*space, outcome);
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    const TimePoint deadline = session_->Deadline();
    internal::Backoff backoff(kConflictPauses);
    const std::string held = HeldPath(name, request.worker);
    while (true) {
      LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
      if (!space.exists) return worker::NoSuchSpace(name);
      LOCUS_ASSIGN_OR_RETURN(Record record, ReadRecord(name, request.worker, deadline));
      const Outcome outcome = worker::PlanRelease(record.get(), request);
      if (!outcome.record) return outcome.status;
      LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> shown, session_->Get(held, deadline));
      std::vector<Change> changes = {WriteRecord(name, record, *outcome.record)};
      if (shown) changes.push_back({Change::Kind::kDelete, held, "", -1});
      LOCUS_ASSIGN_OR_RETURN(bool written, session_->Commit(changes, deadline));
      if (written) return absl::OkStatus();
      session_->CountConflict();
      if (!SleepBeforeRetry(backoff, deadline)) return Busy();
    }
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override {
    LOCUS_RETURN_IF_ERROR(session_->RefuseFork());
    const TimePoint deadline = session_->Deadline();
    LOCUS_ASSIGN_OR_RETURN(StoredSpace space, ReadSpace(name, deadline));
    if (!space.exists) return worker::NoSuchSpace(name);
    WorkerSpaceView view = worker::ViewOf(space.space, space.now);
    LOCUS_ASSIGN_OR_RETURN(std::vector<uint64_t> granted, Granted(name, deadline));
    auto visit = [&](const Record& record) {
      view.workers.push_back(record.record);
      return true;
    };
    LOCUS_RETURN_IF_ERROR(ReadRecords(name, granted, deadline, visit));
    return view;
  }

  WorkerStoreFacts facts() const override {
    return {.engine = "zookeeper", .durable = true, .notices_loss = false};
  }
  ZookeeperStats Stats() const override { return session_->Stats(); }

 private:
  struct StoredSpace {
    bool exists = false;
    int32_t version = 0;
    worker::Space space;
    worker::Space stored;  // as it was read
    absl::Time now;
    int64_t zxid = 0;         // of the write that showed the time
    int64_t seen_before = 0;  // the highest one that was known before that write was sent
  };
  struct Record {
    bool exists = false;
    int32_t version = 0;
    WorkerRecord record;
    const WorkerRecord* get() const { return exists ? &record : nullptr; }
  };
  struct Found {
    absl::Status status;
    uint64_t worker = 0;
    Record record;
  };

  std::string Path(const SpaceName& name, absl::string_view last) const {
    return absl::StrCat(prefix_, "/workers/", name.str(), last);
  }
  std::string RecordPath(const SpaceName& name, uint64_t worker) const {
    return Path(name, absl::StrFormat("/id/%010d", worker));
  }
  std::string HeldPath(const SpaceName& name, uint64_t worker) const {
    return Path(name, absl::StrFormat("/held/%010d", worker));
  }
  absl::Status Busy() const {
    return absl::UnavailableError(session_->place() +
                                  ": other processes changed the same worker ID each time");
  }
  absl::Status Spoilt(const std::string& path, std::string_view text) const {
    return zookeeper::Spoilt(*session_, path, text);
  }
  absl::Status CheckClock(const WorkerLeaseTerm& term, absl::Time caller_now,
                          absl::Time now) const {
    absl::Status status = worker::CheckClock(term, caller_now, now);
    if (status.ok()) return status;
    return absl::Status(status.code(), absl::StrCat(session_->place(), ": ", status.message()));
  }

  // All persistent znodes but the space itself.
  absl::Status MakeTree(const SpaceName& name, TimePoint deadline) {
    LOCUS_RETURN_IF_ERROR(
        zookeeper::MakePath(*session_, absl::StrCat(prefix_, "/workers/", name.str()), deadline));
    for (const char* last : {"/id", "/held", "/clock"}) {
      LOCUS_RETURN_IF_ERROR(session_->Make(Path(name, last), deadline));
    }
    return absl::OkStatus();
  }

  // Also reads the time, by a write: all that this session reads afterwards is at least as new.
  // NOT_FOUND: even the znode for that write is missing.
  absl::StatusOr<StoredSpace> ReadSpace(const SpaceName& name, TimePoint deadline) {
    StoredSpace space;
    space.seen_before = Seen(name);
    LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> clock,
                           session_->Touch(Path(name, "/clock"), deadline));
    if (!clock) return worker::NoSuchSpace(name);
    space.now = clock_ == nullptr ? clock->mtime : clock_->Now();
    space.zxid = clock->zxid;
    const std::string path = Path(name, "/space");
    LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> znode, session_->Get(path, deadline));
    if (!znode) return space;
    LOCUS_ASSIGN_OR_RETURN(const std::string_view text,
                           zookeeper::TextOfSchema1(*session_, path, znode->value));
    std::optional<worker::Space> read = worker::SpaceOf(text);
    if (!read) return Spoilt(path, znode->value);
    space.exists = true;
    space.version = znode->version;
    space.space = space.stored = *read;
    return space;
  }

  int64_t Seen(const SpaceName& name) {
    MutexLock lock(mutex_);
    auto seen = seen_.find(name.str());
    return seen == seen_.end() ? 0 : seen->second;
  }

  // A transaction that is older than one that this process had seen: the ensemble went back.
  static void NoteRewind(StoredSpace& space, const WorkerLeaseTerm& term) {
    if (space.zxid < space.seen_before) worker::NoteLoss(space.space, term, space.now);
  }

  absl::StatusOr<Record> RecordOf(const SpaceName& name, uint64_t worker,
                                  const std::optional<Znode>& znode) const {
    Record record;
    if (!znode) return record;
    std::optional<WorkerRecord> read = worker::RecordOf(worker, znode->value);
    if (!read) return Spoilt(RecordPath(name, worker), znode->value);
    return Record{true, znode->version, *std::move(read)};
  }
  absl::StatusOr<Record> ReadRecord(const SpaceName& name, uint64_t worker, TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> znode,
                           session_->Get(RecordPath(name, worker), deadline));
    return RecordOf(name, worker, znode);
  }

  // The IDs that were ever granted, ascending.
  absl::StatusOr<std::vector<uint64_t>> Granted(const SpaceName& name, TimePoint deadline) {
    const std::string path = Path(name, "/id");
    LOCUS_ASSIGN_OR_RETURN(auto names, session_->Children(path, deadline));
    if (!names) return worker::NoSuchSpace(name);
    std::vector<uint64_t> granted;
    for (std::string_view child : *names) {
      std::string_view digits = child;
      while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
      std::optional<uint64_t> worker = internal::ParseDecimal(digits, kMostWorker);
      if (!worker || child.size() != 10) return Spoilt(path, child);
      granted.push_back(*worker);
    }
    return granted;
  }

  // Reads some at a time, until `visit` answers false.
  template <typename Visit>
  absl::Status ReadRecords(const SpaceName& name, std::span<const uint64_t> workers,
                           TimePoint deadline, const Visit& visit) {
    for (size_t page = kFirstPage; !workers.empty(); page = std::min(page * 4, kMostPage)) {
      const std::span<const uint64_t> some = workers.first(std::min(page, workers.size()));
      std::vector<std::string> paths;
      for (uint64_t worker : some) paths.push_back(RecordPath(name, worker));
      LOCUS_ASSIGN_OR_RETURN(auto znodes, session_->GetEach(paths, deadline));
      for (size_t i = 0; i < some.size(); ++i) {
        LOCUS_ASSIGN_OR_RETURN(Record record, RecordOf(name, some[i], znodes[i]));
        if (record.exists && !visit(record)) return absl::OkStatus();
      }
      workers = workers.subspan(some.size());
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Found> FindFree(const SpaceName& name, const WorkerAcquire& request,
                                 absl::Time now, TimePoint deadline) {
    LOCUS_ASSIGN_OR_RETURN(std::vector<uint64_t> granted, Granted(name, deadline));
    std::map<uint64_t, Record> records;
    auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) {
      const auto begin = std::lower_bound(granted.begin(), granted.end(), first);
      const auto end = std::upper_bound(begin, granted.end(), last);
      return ReadRecords(name, {begin, end}, deadline, [&](const Record& record) {
        records[record.record.worker] = record;
        return visit(record.record);
      });
    };
    auto free = worker::FindFree(name, request, now, scan);
    if (absl::IsResourceExhausted(free.status())) return Found{free.status(), 0, {}};
    LOCUS_RETURN_IF_ERROR(free.status());
    Found found{absl::OkStatus(), free->worker, {}};
    if (free->record) found.record = records[free->worker];
    return found;
  }

  Change WriteSpace(const SpaceName& name, const StoredSpace& before,
                    const worker::Space& after) const {
    return {before.exists ? Change::Kind::kSet : Change::Kind::kCreate, Path(name, "/space"),
            "1 " + worker::TextOf(after), before.version};
  }
  Change WriteRecord(const SpaceName& name, const Record& before, const WorkerRecord& after) const {
    return {before.exists ? Change::Kind::kSet : Change::Kind::kCreate,
            RecordPath(name, after.worker), worker::TextOf(after), before.version};
  }

  // Stores the outcome, and a loss that was noticed. False: others changed something meanwhile.
  absl::StatusOr<bool> Write(const SpaceName& name, uint64_t worker, const StoredSpace& space,
                             const Record& record, const Outcome& outcome, TimePoint deadline) {
    const worker::Space after = outcome.space.value_or(space.space);
    std::vector<Change> changes;
    if ((space.exists && after != space.stored) || (!space.exists && outcome.space)) {
      changes.push_back(WriteSpace(name, space, after));
    } else if (space.exists && outcome.record) {
      changes.push_back({Change::Kind::kCheck, Path(name, "/space"), "", space.version});
    }
    int64_t session = 0;
    const std::string held = HeldPath(name, worker);
    if (outcome.record) {
      changes.push_back(WriteRecord(name, record, *outcome.record));
      session = session_->id();
      LOCUS_ASSIGN_OR_RETURN(std::optional<Znode> shown, session_->Get(held, deadline));
      const bool same = shown && shown->owner == session && shown->value == outcome.record->holder;
      if (shown && !same) changes.push_back({Change::Kind::kDelete, held, "", shown->version});
      if (!same) {
        changes.push_back({Change::Kind::kCreateEphemeral, held, outcome.record->holder, -1});
      }
    }
    if (!changes.empty()) {
      LOCUS_ASSIGN_OR_RETURN(bool written, session_->Commit(changes, deadline));
      if (!written) {
        session_->CountConflict();
        return false;
      }
    }
    MutexLock lock(mutex_);
    int64_t& seen = seen_[name.str()];
    seen = space.zxid < space.seen_before ? space.zxid : std::max(seen, space.zxid);
    return true;
  }

  static absl::StatusOr<WorkerGrant> Answer(const StoredSpace& space, const Outcome& outcome) {
    LOCUS_RETURN_IF_ERROR(outcome.status);
    WorkerGrant grant = outcome.grant;
    grant.loss_noticed |= space.space.losses != space.stored.losses;
    return grant;
  }

  const std::string prefix_;
  std::unique_ptr<Session> session_;
  Clock* const clock_;  // null: the leader's
  Mutex mutex_;
  std::map<std::string, int64_t> seen_ ABSL_GUARDED_BY(mutex_);  // the last zxid of each space
};

}  // namespace

absl::StatusOr<std::unique_ptr<ZookeeperWorkerLeaseStore>>
internal::ZookeeperWorkerLeaseStoreAccess::Open(const ZookeeperOptions& options, Clock* clock) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Open(options));
  return std::make_unique<WorkerStore>(options, std::move(session), clock);
}

absl::StatusOr<std::unique_ptr<ZookeeperWorkerLeaseStore>> ZookeeperWorkerLeaseStore::Open(
    const ZookeeperOptions& options) {
  return internal::ZookeeperWorkerLeaseStoreAccess::Open(options, nullptr);
}

}  // namespace locus
