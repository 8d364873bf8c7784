// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/mariadb.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/engine/mariadb/pool.h"
#include "src/engine/mariadb/space_rows.h"
#include "src/engine/mariadb/store_time.h"
#include "src/engine/mariadb/worker_rows.h"
#include "src/worker/worker_rules.h"

namespace locus {

using internal::MariadbStoreTime;

namespace {

using mariadb::Connection;
using mariadb::Pool;
using mariadb::Result;
using mariadb::WorkerState;

class Store final : public MariadbWorkerLeaseStore {
 public:
  explicit Store(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~Store() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(pool_);
  }

  void TellTime(Clock& clock) { told_ = &clock; }

  absl::Status Connect() { return pool_->Use(mariadb::CheckWorkerSchema); }

  absl::Status Create(const SpaceName& name, absl::Duration rest, absl::Time) override {
    LOCUS_RETURN_IF_ERROR(worker::CheckRest(rest));
    return Write(name, [&](Transaction& now) -> absl::Status {
      worker::Space space = now.state.space.value_or(worker::Space());
      worker::Outcome outcome;
      if (worker::PlanCreate(space, !now.state.space, rest, now.state.now)) outcome.space = space;
      return now.Commit(outcome);
    });
  }

  absl::StatusOr<WorkerGrant> Acquire(const SpaceName& name,
                                      const WorkerAcquire& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write(name, [&](Transaction& now) -> absl::Status {
      if (!now.state.space) return worker::NoSuchSpace(name);
      LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now.state.now));
      auto scan = [&](uint64_t first, uint64_t last, const worker::Visit& visit) {
        return now.Scan(first, last, visit);
      };
      LOCUS_ASSIGN_OR_RETURN(worker::FreeWorker free,
                             worker::FindFree(name, request, now.state.now, scan));
      worker::Outcome outcome =
          worker::PlanAcquire(*now.state.space, free.record ? &*free.record : nullptr, free.worker,
                              request, now.state.now);
      grant = outcome.grant;
      return now.Commit(outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::StatusOr<WorkerGrant> Renew(const SpaceName& name, const WorkerRenew& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    WorkerGrant grant;
    absl::Status status = Write(name, [&](Transaction& now) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(worker::CheckClock(request.term, request.caller_now, now.state.now));
      LOCUS_ASSIGN_OR_RETURN(auto record, now.Find(request.worker));
      worker::Outcome outcome =
          worker::PlanRenew(now.state.space ? &*now.state.space : nullptr,
                            record ? &*record : nullptr, request, now.state.now);
      grant = outcome.grant;
      grant.loss_noticed |= now.loss_noticed;
      return now.Commit(outcome);
    });
    if (!status.ok()) return status;
    return grant;
  }

  absl::Status Release(const SpaceName& name, const WorkerRelease& request) override {
    LOCUS_RETURN_IF_ERROR(worker::Check(request));
    return Write(name, [&](Transaction& now) -> absl::Status {
      if (!now.state.space) return worker::NoSuchSpace(name);
      LOCUS_ASSIGN_OR_RETURN(auto record, now.Find(request.worker));
      return now.Commit(worker::PlanRelease(record ? &*record : nullptr, request));
    });
  }

  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& name) override {
    WorkerSpaceView view;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          connection.RunCurrent(mariadb::ReadWorkerState(name, false, Now(), connection.facts()),
                                mariadb::kWorkerStateShapes));
      LOCUS_ASSIGN_OR_RETURN(WorkerState state,
                             mariadb::ParseWorkerState(results, connection.place()));
      if (!state.space) return worker::NoSuchSpace(name);
      view = worker::ViewOf(*state.space, state.now);
      Transaction now{name, connection, std::move(state), false};
      return now.Scan(0, kMostWorker, [&view](const WorkerRecord& record) {
        view.workers.push_back(record);
        return true;
      });
    });
    if (!status.ok()) return status;
    return view;
  }

  WorkerStoreFacts facts() const override { return {.engine = "mariadb", .durable = false}; }
  MariadbStats Stats() const override { return pool_->Stats(); }

 private:
  // A transaction that holds the lock of the space's row.
  struct Transaction {
    const SpaceName& name;
    Connection& connection;
    WorkerState state;
    bool loss_noticed = false;

    absl::Status Scan(uint64_t first, uint64_t last, const worker::Visit& visit) {
      while (first <= last) {
        LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(mariadb::ReadWorkers(name, first, last),
                                                            {mariadb::kWorkerShape}));
        for (const Result::Row& row : results[0].rows) {
          LOCUS_ASSIGN_OR_RETURN(WorkerRecord record,
                                 mariadb::ParseWorker(row, name, connection.place()));
          if (record.worker < first) {
            return absl::DataLossError(absl::StrCat("mariadb ", connection.place(), ", space ",
                                                    name.str(), ": worker ", record.worker,
                                                    " is not after the one before"));
          }
          first = record.worker + 1;
          if (!visit(record)) return absl::OkStatus();
        }
        if (results[0].rows.size() < mariadb::kWorkersAtOnce) return absl::OkStatus();
      }
      return absl::OkStatus();
    }

    absl::StatusOr<std::optional<WorkerRecord>> Find(uint64_t worker) {
      std::optional<WorkerRecord> found;
      LOCUS_RETURN_IF_ERROR(Scan(worker, worker, [&found](const WorkerRecord& record) {
        found = record;
        return false;
      }));
      return found;
    }

    // Stores the outcome and answers its status: a refusal, too, may store something.
    absl::Status Commit(const worker::Outcome& outcome) {
      std::string statements;
      if (outcome.space) {
        absl::StrAppend(&statements,
                        mariadb::WriteWorkerSpace(name, *outcome.space, state.identity), ";");
      }
      if (outcome.record) {
        absl::StrAppend(&statements, mariadb::WriteWorker(name, *outcome.record), ";");
      }
      LOCUS_RETURN_IF_ERROR(connection.Run(absl::StrCat(statements, "COMMIT")).status());
      return outcome.status;
    }
  };

  std::string Now() const {
    return mariadb::NowExpression(told_ == nullptr ? std::nullopt
                                                   : std::optional<absl::Time>(told_->Now()));
  }

  // Begins a transaction; a loss that it finds is committed before `body` runs, whatever that says.
  template <typename Body>
  absl::Status Write(const SpaceName& name, const Body& body) {
    return pool_->Use([&](Connection& connection) -> absl::Status {
      Transaction now{name, connection, {}, false};
      LOCUS_RETURN_IF_ERROR(Begin(now));
      if (now.state.space && now.state.recorded != now.state.identity) {
        worker::NoteLoss(*now.state.space, {}, now.state.now);
        LOCUS_RETURN_IF_ERROR(now.Commit({{}, {}, now.state.space, {}}));
        LOCUS_RETURN_IF_ERROR(Begin(now));
        now.loss_noticed = true;
      }
      return body(now);
    });
  }

  // Until its end, the transaction has the space to itself. The lock of a row that is not there
  // keeps nobody out, so spaces are made under the lock of a row that is always there.
  absl::Status Begin(Transaction& now) const {
    LOCUS_RETURN_IF_ERROR(ReadLocked("START TRANSACTION", mariadb::kNoRows, now));
    if (now.state.space) return absl::OkStatus();
    return ReadLocked(mariadb::kLockNewSpaces, mariadb::AtMostOneRow(1), now);
  }

  // Runs the statement `first`, which answers in `shape`, and then reads.
  absl::Status ReadLocked(const char* first, mariadb::Shape shape, Transaction& now) const {
    const std::string read = absl::StrCat(
        first, ";", mariadb::ReadWorkerState(now.name, true, Now(), now.connection.facts()));
    LOCUS_ASSIGN_OR_RETURN(auto results,
                           now.connection.RunCurrent(read, {shape, mariadb::kWorkerStateShapes[0],
                                                            mariadb::kWorkerStateShapes[1]}));
    LOCUS_ASSIGN_OR_RETURN(now.state,
                           mariadb::ParseWorkerState(std::span<const Result>(results).subspan(1),
                                                     now.connection.place()));
    return absl::OkStatus();
  }

  std::unique_ptr<Pool> pool_;
  Clock* told_ = nullptr;  // of a test that owns the time
};

}  // namespace

absl::Status MariadbWorkerLeaseStore::CreateSchema(const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mariadb::CreateWorkerSchema);
}

absl::StatusOr<std::unique_ptr<MariadbWorkerLeaseStore>> MariadbWorkerLeaseStore::Open(
    const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  auto store = std::make_unique<Store>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(store->Connect());
  return store;
}

void MariadbStoreTime::Tell(MariadbWorkerLeaseStore& store, Clock& clock) {
  static_cast<Store&>(store).TellTime(clock);
}

}  // namespace locus
