// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/base/mutex.h"
#include "src/engine/sqlite/store_file.h"
#include "src/engine/sqlite/worker_tables.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

using sqlite::Identity;
using sqlite::Sidecar;
using sqlite::StoreRow;
using sqlite::WorkerTables;

class Store final : public SqliteWorkerLeaseStore {
 public:
  Store(const std::string& path, absl::Duration busy_timeout, Clock& clock)
      : path_(path),
        clock_(clock),
        file_(std::make_unique<sqlite::StoreFile>(path, busy_timeout)) {}
  ~Store() override {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Connect(create));
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return WorkerTables(file_->connection()).Create(sqlite::RandomId());
    });
  }

  absl::Status Create(const SpaceName& name, absl::Duration rest, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(worker::CheckRest(rest));
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSpace(name));
      worker::Space space = found.value_or(worker::Space());
      // The sidecar remembers a space that the file has lost.
      auto beside = now.beside.spaces.find(name.str());
      if (!found && beside != now.beside.spaces.end()) {
        space.longest = absl::Milliseconds(static_cast<int64_t>(beside->second.base));
        worker::NoteLoss(space, {}, std::max(now.time, now.newest_grant));
      }
      if (!worker::PlanCreate(space, !found, rest, now.time)) return absl::OkStatus();
      // The operator's word that the clock is right.
      if (rest > absl::ZeroDuration()) now.newest_grant = now.time;
      return now.StoreSpace(name, space);
    });
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto space, now.tables.FindSpace(name));
      if (!space) return worker::NoSuchSpace(name);
      LOCUS_RETURN_IF_ERROR(CheckClocks(request.term, request.caller_now, now));
      auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) {
        return now.tables.ScanWorkers(name, first, last, visit);
      };
      LOCUS_ASSIGN_OR_RETURN(worker::FreeWorker free,
                             worker::FindFree(name, request, now.time, scan));
      worker::Outcome outcome = worker::PlanAcquire(*space, free.record ? &*free.record : nullptr,
                                                    free.worker, request, now.time);
      grant = outcome.grant;
      return now.Store(name, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write([&](Transaction& now) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(CheckClocks(request.term, request.caller_now, now));
      LOCUS_ASSIGN_OR_RETURN(auto space, now.tables.FindSpace(name));
      LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.FindWorker(name, request.worker));
      worker::Outcome outcome = worker::PlanRenew(space ? &*space : nullptr,
                                                  record ? &*record : nullptr, request, now.time);
      grant = outcome.grant;
      grant.loss_noticed |= now.loss_noticed;
      return now.Store(name, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto space, now.tables.FindSpace(name));
      if (!space) return worker::NoSuchSpace(name);
      LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.FindWorker(name, request.worker));
      return now.Store(name, worker::PlanRelease(record ? &*record : nullptr, request));
    });
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override {
    LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("BEGIN"));
    absl::StatusOr<WorkerSpaceView> view = Read(name);
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("COMMIT"));
    return view;
  }

  WorkerStoreFacts facts() const override { return {.engine = "sqlite"}; }

 private:
  // What a write works on.
  struct Transaction {
    Transaction(sqlite::Connection& connection, absl::Time now) : tables(connection), time(now) {}

    WorkerTables tables;
    Sidecar beside;
    absl::Time time;  // the store's
    absl::Time newest_grant;
    bool loss_noticed = false;
    absl::Status refused;  // answered after the commit: a refusal may store something

    // The sidecar keeps of a space its longest term, in ms, as its base.
    absl::Status StoreSpace(const SpaceName& name, const worker::Space& space) {
      uint64_t& longest = beside.spaces[name.str()].base;
      longest = std::max(longest, static_cast<uint64_t>(absl::ToInt64Milliseconds(space.longest)));
      return tables.StoreSpace(name.str(), space);
    }
    absl::Status Store(const SpaceName& name, const worker::Outcome& outcome) {
      refused = outcome.status;
      if (outcome.space) LOCUS_RETURN_IF_ERROR(StoreSpace(name, *outcome.space));
      if (!outcome.record) return absl::OkStatus();
      newest_grant = std::max(newest_grant, outcome.record->renewed_at);
      return tables.StoreWorker(name, *outcome.record);
    }
  };

  // Runs `body` in a transaction. A loss is noted in one of its own before, so that it is kept
  // whatever `body` says.
  template <typename Body>
  absl::Status Write(const Body& body) {
    LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    bool noted = false;
    LOCUS_RETURN_IF_ERROR(
        InOneTransaction([&](Transaction& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
          noted = now.loss_noticed;
          return noted ? NoteLosses(now) : body(now);
        }));
    if (!noted) return refused_;
    LOCUS_RETURN_IF_ERROR(InOneTransaction([&](Transaction& now) {
      now.loss_noticed = true;
      return body(now);
    }));
    return refused_;
  }

  // Compares the identities, and raises the generation in the sidecar, then in the file.
  template <typename Body>
  absl::Status InOneTransaction(const Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_->StillThere());
      LOCUS_RETURN_IF_ERROR(file_->LockSidecar("-workers"));
      Transaction now(file_->connection(), clock_.Now());
      LOCUS_RETURN_IF_ERROR(now.tables.Create(sqlite::RandomId()));
      LOCUS_ASSIGN_OR_RETURN(StoreRow row, now.tables.ReadStore());
      LOCUS_ASSIGN_OR_RETURN(now.beside, file_->sidecar().Read());
      now.newest_grant = row.newest_grant;
      Identity identity = row.identity;
      now.loss_noticed = identity != now.beside.identity;
      if (now.loss_noticed) identity.id = sqlite::RandomId();
      LOCUS_RETURN_IF_ERROR(body(now));
      ++identity.generation;
      LOCUS_RETURN_IF_ERROR(now.tables.WriteStore({identity, now.newest_grant}));
      now.beside.identity = identity;
      refused_ = now.refused;
      return file_->sidecar().Write(now.beside);
    });
  }

  // Any space may have lost leases.
  absl::Status NoteLosses(Transaction& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(auto spaces, now.tables.AllSpaces());
    for (auto& [name, space] : spaces) {
      auto beside = now.beside.spaces.find(name);
      if (beside != now.beside.spaces.end()) {
        space.longest =
            std::max(space.longest, absl::Milliseconds(static_cast<int64_t>(beside->second.base)));
      }
      worker::NoteLoss(space, {}, std::max(now.time, now.newest_grant));
      LOCUS_RETURN_IF_ERROR(now.tables.StoreSpace(name, space));
    }
    return absl::OkStatus();
  }

  absl::Status CheckClocks(const WorkerLeaseTerm& term, absl::Time caller_now,
                           const Transaction& now) const {
    LOCUS_RETURN_IF_ERROR(worker::CheckClock(term, caller_now, now.time));
    if (now.time >= now.newest_grant - term.max_skew) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "this host's clock, ", absl::FormatTime(now.time, absl::UTCTimeZone()),
        ", is more than max_skew, ", absl::FormatDuration(term.max_skew),
        ", behind the newest lease of store ", path_, ", granted at ",
        absl::FormatTime(now.newest_grant, absl::UTCTimeZone()),
        ": correct the clock; if it was ahead at that time, run `locus lease create --lost`"));
  }

  absl::StatusOr<WorkerSpaceView> Read(const SpaceName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    WorkerTables tables(file_->connection());
    LOCUS_ASSIGN_OR_RETURN(auto space, tables.FindSpace(name));
    if (!space) return worker::NoSuchSpace(name);
    WorkerSpaceView view = worker::ViewOf(*space, clock_.Now());
    LOCUS_RETURN_IF_ERROR(
        tables.ScanWorkers(name, 0, kMostWorker, [&view](const WorkerRecord& record) {
          view.workers.push_back(record);
          return true;
        }));
    return view;
  }

  const std::string path_;
  Clock& clock_;
  const internal::ForkGuard home_;
  Mutex mutex_;
  std::unique_ptr<sqlite::StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
  absl::Status refused_ ABSL_GUARDED_BY(mutex_);  // of the transaction under way
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteWorkerLeaseStore>> SqliteWorkerLeaseStore::Open(
    const std::string& path, const SqliteSegmentStore::Options& options, Clock& clock) {
  auto store = std::make_unique<Store>(path, options.busy_timeout, clock);
  LOCUS_RETURN_IF_ERROR(store->Connect(options.create));
  return store;
}

}  // namespace locus
