// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/locked_rows.h"
#include "src/engine/mysql/store_time.h"
#include "src/engine/mysql/worker_rows.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

using mysql::Connection;
using mysql::Pool;
using mysql::Result;
using mysql::WorkerState;

class WorkerStore final : public MysqlWorkerLeaseStore {
 public:
  explicit WorkerStore(std::unique_ptr<Pool> pool) : rows_(std::move(pool)) {}

  void TellTime(Clock& clock) { rows_.TellTime(clock); }
  absl::Status Connect() { return rows_.pool().Use(mysql::CheckWorkerSchema); }

  absl::Status Create(const SpaceName& name, const WorkerSpacePast& past, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(past));
    return Write(name, nullptr, [&](Transaction& now) -> absl::Status {
      worker::Space space = now.state.space.value_or(worker::Space());
      worker::Outcome outcome;
      if (worker::PlanCreate(space, !now.state.space, past, now.state.now)) outcome.space = space;
      return Commit(now, outcome);
    });
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write(name, &request.term, [&](Transaction& now) -> absl::Status {
      if (!now.state.space) return worker::NoSuchSpace(name);
      LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now.state.now));
      auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) {
        return Scan(now.name, now.connection, first, last, visit);
      };
      LOCUS_ASSIGN_OR_RETURN(worker::FreeWorker free,
                             worker::FindFree(name, request, now.state.now, scan));
      worker::Outcome outcome =
          worker::PlanAcquire(*now.state.space, free.record ? &*free.record : nullptr, free.worker,
                              request, now.state.now);
      grant = outcome.grant;
      return Commit(now, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write(name, &request.term, [&](Transaction& now) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now.state.now));
      LOCUS_ASSIGN_OR_RETURN(auto record, Find(now, request.worker));
      worker::Outcome outcome =
          worker::PlanRenew(now.state.space ? &*now.state.space : nullptr,
                            record ? &*record : nullptr, request, now.state.now);
      grant = outcome.grant;
      grant.loss_noticed |= now.loss_noticed;
      return Commit(now, outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    return Write(name, nullptr, [&](Transaction& now) -> absl::Status {
      if (!now.state.space) return worker::NoSuchSpace(name);
      LOCUS_ASSIGN_OR_RETURN(auto record, Find(now, request.worker));
      return Commit(now, worker::PlanRelease(record ? &*record : nullptr, request));
    });
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override {
    WorkerSpaceView view;
    absl::Status status =
        rows_.Read(name, [&](Connection& connection, const WorkerState& state) -> absl::Status {
          if (!state.space) return worker::NoSuchSpace(name);
          view = worker::ViewOf(*state.space, state.now);
          return Scan(name, connection, 0, kMostWorker, [&view](const WorkerRecord& record) {
            view.workers.push_back(record);
            return true;
          });
        });
    if (!status.ok()) return status;
    return view;
  }

  WorkerStoreFacts facts() const override { return {.engine = "mariadb", .durable = false}; }
  MysqlStats Stats() const override { return rows_.pool().Stats(); }

 private:
  using Rows = mysql::LockedRows<mysql::WorkerSpaceRow>;
  using Transaction = Rows::Transaction;

  static absl::Status Scan(const SpaceName& name, Connection& connection, uint64_t first,
                           uint64_t last, const worker::Visit& visit) {
    while (first <= last) {
      LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(mysql::ReadWorkers(name, first, last),
                                                          {mysql::kWorkerShape}));
      for (const Result::Row& row : results[0].rows) {
        LOCUS_ASSIGN_OR_RETURN(WorkerRecord record,
                               mysql::ParseWorker(row, name, connection.place()));
        if (record.worker < first) {
          return absl::DataLossError(absl::StrCat("mariadb ", connection.place(), ", space ",
                                                  name.str(), ": worker ", record.worker,
                                                  " is not after the one before"));
        }
        first = record.worker + 1;
        if (!visit(record)) return absl::OkStatus();
      }
      if (results[0].rows.size() < mysql::kWorkersAtOnce) return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<std::optional<WorkerRecord>> Find(Transaction& now, uint64_t worker) {
    std::optional<WorkerRecord> found;
    LOCUS_RETURN_IF_ERROR(
        Scan(now.name, now.connection, worker, worker, [&found](const WorkerRecord& record) {
          found = record;
          return false;
        }));
    return found;
  }

  // Stores the outcome and returns its status: even a refusal may store something.
  static absl::Status Commit(Transaction& now, const worker::Outcome& outcome) {
    std::string statements;
    if (outcome.space) {
      absl::StrAppend(&statements,
                      mysql::WriteWorkerSpace(now.name, *outcome.space, now.state.identity), ";");
    }
    if (outcome.record) {
      absl::StrAppend(&statements, mysql::WriteWorker(now.name, *outcome.record), ";");
    }
    LOCUS_RETURN_IF_ERROR(now.Commit(statements));
    return outcome.status;
  }

  // `term`: of the lease that the call is about; nullptr: not known.
  template <typename Body>
  absl::Status Write(const SpaceName& name, const WorkerLeaseTerm* term, const Body& body) {
    auto note_loss = [term](Transaction& now) {
      worker::Space& space = *now.state.space;
      if (term == nullptr) {
        worker::NoteLoss(space, now.state.now);
      } else {
        worker::NoteLoss(space, *term, now.state.now);
      }
      return Commit(now, {{}, {}, space, {}});
    };
    return rows_.Write(name, note_loss, body);
  }

  Rows rows_;
};

}  // namespace

absl::Status MysqlWorkerLeaseStore::CreateSchema(const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mysql::CreateWorkerSchema);
}

absl::StatusOr<std::unique_ptr<MysqlWorkerLeaseStore>> MysqlWorkerLeaseStore::Open(
    const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  auto store = std::make_unique<WorkerStore>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(store->Connect());
  return store;
}

void MysqlStoreTime::Tell(MysqlWorkerLeaseStore& store, Clock& clock) {
  static_cast<WorkerStore&>(store).TellTime(clock);
}

}  // namespace locus
