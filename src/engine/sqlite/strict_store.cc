// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "locus/engine/sqlite.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/base/mutex.h"
#include "src/engine/sqlite/store_file.h"
#include "src/engine/sqlite/strict_tables.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

namespace {

using sqlite::Identity;
using sqlite::Sidecar;
using sqlite::StoreRow;
using sqlite::StrictTables;

class Store final : public SqliteStrictStore {
 public:
  Store(const std::string& path, absl::Duration busy_timeout, Clock& clock)
      : clock_(clock), file_(std::make_unique<sqlite::StoreFile>(path, busy_timeout)) {}
  ~Store() override {
    // Closing a connection in a forked child could undo its parent's log: the child abandons it.
    if (home_.forked()) static_cast<void>(file_.release());
  }

  absl::Status Connect(bool create) {
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Connect(create));
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return StrictTables(file_->connection()).Create(sqlite::RandomId());
    });
  }

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options) override {
    LOCUS_RETURN_IF_ERROR(options.Check());
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSet(name.str()));
      if (found) return strict::CheckSame(name, found->options, options);
      strict::Batch batch;
      batch.set.options = options;
      // The sidecar remembers a set that the file has lost.
      auto beside = now.beside.spaces.find(name.str());
      if (beside != now.beside.spaces.end()) {
        batch.set.base = beside->second.base;
        strict::Rules::NoteLoss(batch, now.newest);
      }
      return now.StoreSet(name.str(), batch.set);
    });
  }

  absl::Status DeclareRestored(const SpaceName& name) override {
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSet(name.str()));
      if (!found) return strict::NoSuchSet(name);
      strict::Batch batch;
      batch.set = *std::move(found);
      strict::Rules::NoteLoss(batch, now.newest);
      return now.StoreSet(name.str(), batch.set);
    });
  }

  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& name,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Run<StrictReply<StrictGrant>>(name, options, request.wishes,
                                         [&](strict::Batch& batch, absl::Time now) {
                                           return strict::Rules::Take(batch, request, now);
                                         });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& name,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Run<StrictReply<StrictExtended>>(name, options, request.sections,
                                            [&](strict::Batch& batch, absl::Time now) {
                                              return strict::Rules::Extend(batch, request, now);
                                            });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& name,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Run<StrictReply<StrictExtended>>(name, options, request.sections,
                                            [&](strict::Batch& batch, absl::Time now) {
                                              return absl::StatusOr<StrictReply<StrictExtended>>(
                                                  strict::Rules::Release(batch, request, now));
                                            });
  }

  absl::StatusOr<StrictSetView> Show(const SpaceName& name) override {
    LOCUS_RETURN_IF_ERROR(home_.Check("a store's handle"));
    MutexLock lock(mutex_);
    LOCUS_RETURN_IF_ERROR(file_->Usable());
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("BEGIN"));
    absl::StatusOr<StrictSetView> view = Read(name);
    LOCUS_RETURN_IF_ERROR(file_->connection().Execute("COMMIT"));
    return view;
  }

 private:
  // What a write works on.
  struct Transaction {
    Transaction(sqlite::Connection& connection, absl::Time now) : tables(connection), time(now) {}

    StrictTables tables;
    Sidecar beside;
    absl::Time time;    // the store's
    absl::Time newest;  // the latest that it ever was
    bool loss_noticed = false;

    // The sidecar keeps of a set the base, which a file that is put back twice must not forget.
    absl::Status StoreSet(const std::string& name, const strict::Set& set) {
      uint64_t& base = beside.spaces[name].base;
      base = std::max(base, set.base);
      return tables.StoreSet(name, set);
    }
  };

  template <typename Reply, typename Sections, typename Plan>
  absl::StatusOr<Reply> Run(const SpaceName& name, const StrictSetOptions& options,
                            const Sections& sections, const Plan& plan) {
    Reply reply;
    absl::Status status = Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto set, now.tables.FindSet(name.str()));
      if (!set) return strict::NoSuchSet(name);
      LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, set->options, options));
      strict::Batch batch;
      batch.set = *std::move(set);
      for (const auto& item : sections) {
        LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.Find(name.str(), item.section));
        if (record) batch.records.emplace(item.section, *std::move(record));
      }
      LOCUS_ASSIGN_OR_RETURN(reply, plan(batch, now.time));
      reply.loss_noticed |= now.loss_noticed;
      if (batch.set_changed) LOCUS_RETURN_IF_ERROR(now.StoreSet(name.str(), batch.set));
      for (uint32_t section : batch.changed) {
        LOCUS_RETURN_IF_ERROR(now.tables.Store(name.str(), section, batch.records.at(section)));
      }
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return reply;
  }

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
    if (!noted) return absl::OkStatus();
    return InOneTransaction([&](Transaction& now) {
      now.loss_noticed = true;
      return body(now);
    });
  }

  // Compares the identities, and raises the generation in the sidecar, then in the file.
  template <typename Body>
  absl::Status InOneTransaction(const Body& body) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return file_->InTransaction([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) -> absl::Status {
      LOCUS_RETURN_IF_ERROR(file_->StillThere());
      LOCUS_RETURN_IF_ERROR(file_->LockSidecar("-strict"));
      Transaction now(file_->connection(), clock_.Now());
      LOCUS_RETURN_IF_ERROR(now.tables.Create(sqlite::RandomId()));
      LOCUS_ASSIGN_OR_RETURN(StoreRow row, now.tables.ReadStore());
      LOCUS_ASSIGN_OR_RETURN(now.beside, file_->sidecar().Read());
      now.newest = std::max(row.newest_grant, now.time);
      Identity identity = row.identity;
      now.loss_noticed = identity != now.beside.identity;
      if (now.loss_noticed) identity.id = sqlite::RandomId();
      LOCUS_RETURN_IF_ERROR(body(now));
      ++identity.generation;
      LOCUS_RETURN_IF_ERROR(now.tables.WriteStore({identity, now.newest}));
      now.beside.identity = identity;
      return file_->sidecar().Write(now.beside);
    });
  }

  // Any set may have lost something.
  absl::Status NoteLosses(Transaction& now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    LOCUS_ASSIGN_OR_RETURN(auto sets, now.tables.AllSets());
    for (auto& [name, set] : sets) {
      strict::Batch batch;
      batch.set = std::move(set);
      auto beside = now.beside.spaces.find(name);
      if (beside != now.beside.spaces.end()) {
        batch.set.base = std::max(batch.set.base, beside->second.base);
      }
      strict::Rules::NoteLoss(batch, now.newest);
      LOCUS_RETURN_IF_ERROR(now.StoreSet(name, batch.set));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<StrictSetView> Read(const SpaceName& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    StrictTables tables(file_->connection());
    LOCUS_ASSIGN_OR_RETURN(auto set, tables.FindSet(name.str()));
    if (!set) return strict::NoSuchSet(name);
    LOCUS_ASSIGN_OR_RETURN(auto records, tables.All(name.str()));
    return strict::ViewOf(*set, records, clock_.Now());
  }

  Clock& clock_;
  const internal::ForkGuard home_;
  Mutex mutex_;
  std::unique_ptr<sqlite::StoreFile> file_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStrictStore>> SqliteStrictStore::Open(
    const std::string& path, const SqliteSegmentStore::Options& options, Clock& clock) {
  auto store = std::make_unique<Store>(path, options.busy_timeout, clock);
  LOCUS_RETURN_IF_ERROR(store->Connect(options.create));
  return store;
}

}  // namespace locus
