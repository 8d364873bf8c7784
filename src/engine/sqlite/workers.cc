// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/base/os/check.h"
#include "src/engine/sqlite/tables_file.h"
#include "src/engine/sqlite/worker_tables.h"
#include "src/worker/worker_rules.h"

namespace locus {

namespace {

using sqlite::WorkerTables;

class WorkerStore final : public SqliteWorkerLeaseStore {
 public:
  WorkerStore(const std::string& path, absl::Duration busy_timeout, Clock& clock)
      : file_(path, busy_timeout, "-workers", clock, &NoteLosses) {}

  absl::Status Connect(bool create) { return file_.Connect(create); }

  absl::Status Create(const SpaceName& name, const WorkerSpacePast& past, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(past));
    return file_.Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSpace(name));
      worker::Space space = found.value_or(worker::Space());
      // The sidecar remembers a space that the file has lost. 0: nothing was ever granted in it,
      // for example because a process was killed while it created the space.
      auto beside = now.beside.spaces.find(name.str());
      if (!found && beside != now.beside.spaces.end() && beside->second.base > 0) {
        space.longest = absl::Milliseconds(static_cast<int64_t>(beside->second.base));
        worker::NoteLoss(space, now.Newest());
      }
      if (!worker::PlanCreate(space, !found, past, now.time)) return absl::OkStatus();
      // The operator's word that the clock is right.
      if (past.lost) now.newest_grant = now.time;
      return StoreSpace(now, name, space);
    });
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = file_.Write([&](Transaction& now) -> absl::Status {
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
      return StoreOutcome(now, name, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = file_.Write([&](Transaction& now) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(CheckClocks(request.term, request.caller_now, now));
      LOCUS_ASSIGN_OR_RETURN(auto space, now.tables.FindSpace(name));
      LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.FindWorker(name, request.worker));
      worker::Outcome outcome = worker::PlanRenew(space ? &*space : nullptr,
                                                  record ? &*record : nullptr, request, now.time);
      grant = outcome.grant;
      grant.loss_noticed |= now.loss_noticed;
      return StoreOutcome(now, name, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    return file_.Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto space, now.tables.FindSpace(name));
      if (!space) return worker::NoSuchSpace(name);
      LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.FindWorker(name, request.worker));
      return StoreOutcome(now, name, worker::PlanRelease(record ? &*record : nullptr, request));
    });
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override {
    return file_.Read([&](WorkerTables& tables, absl::Time now) -> absl::StatusOr<WorkerSpaceView> {
      LOCUS_ASSIGN_OR_RETURN(auto space, tables.FindSpace(name));
      if (!space) return worker::NoSuchSpace(name);
      WorkerSpaceView view = worker::ViewOf(*space, now);
      LOCUS_RETURN_IF_ERROR(
          tables.ScanWorkers(name, 0, kMostWorker, [&view](const WorkerRecord& record) {
            view.workers.push_back(record);
            return true;
          }));
      return view;
    });
  }

  WorkerStoreFacts facts() const override { return {.engine = "sqlite"}; }

 private:
  using File = sqlite::TablesFile<WorkerTables>;
  using Transaction = File::Transaction;

  // The sidecar keeps of a space its longest term, in ms, as its base.
  static absl::Status StoreSpace(Transaction& now, const SpaceName& name,
                                 const worker::Space& space) {
    uint64_t& longest = now.beside.spaces[name.str()].base;
    longest = std::max(longest, static_cast<uint64_t>(absl::ToInt64Milliseconds(space.longest)));
    return now.tables.StoreSpace(name.str(), space);
  }
  static absl::Status StoreOutcome(Transaction& now, const SpaceName& name,
                                   const worker::Outcome& outcome) {
    now.refused = outcome.status;
    if (outcome.space) LOCUS_RETURN_IF_ERROR(StoreSpace(now, name, *outcome.space));
    if (!outcome.record) return absl::OkStatus();
    now.newest_grant = std::max(now.newest_grant, outcome.record->renewed_at);
    return now.tables.StoreWorker(name, *outcome.record);
  }

  // Any space may have lost leases.
  static absl::Status NoteLosses(Transaction& now) {
    LOCUS_ASSIGN_OR_RETURN(auto spaces, now.tables.AllSpaces());
    for (auto& [name, space] : spaces) {
      auto beside = now.beside.spaces.find(name);
      if (beside != now.beside.spaces.end()) {
        space.longest =
            std::max(space.longest, absl::Milliseconds(static_cast<int64_t>(beside->second.base)));
      }
      worker::NoteLoss(space, now.Newest());
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
        ", behind the newest lease of store ", file_.path(), ", granted at ",
        absl::FormatTime(now.newest_grant, absl::UTCTimeZone()),
        ": correct the clock; if it was ahead at that time, run `locus lease create --lost`"));
  }

  File file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteWorkerLeaseStore>> SqliteWorkerLeaseStore::Open(
    const std::string& path, const SqliteSegmentStore::Options& options, Clock& clock) {
  auto store = std::make_unique<WorkerStore>(path, options.busy_timeout, clock);
  LOCUS_RETURN_IF_ERROR(store->Connect(options.create));
  return store;
}

}  // namespace locus
