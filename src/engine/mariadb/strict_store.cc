// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/engine/mariadb.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/engine/mariadb/pool.h"
#include "src/engine/mariadb/space_rows.h"
#include "src/engine/mariadb/store_time.h"
#include "src/engine/mariadb/strict_rows.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::MariadbStoreTime;

namespace {

using mariadb::Connection;
using mariadb::Pool;
using mariadb::Result;
using mariadb::StrictState;

class Store final : public MariadbStrictStore {
 public:
  explicit Store(std::unique_ptr<Pool> pool) : pool_(std::move(pool)) {}
  ~Store() override {
    // In a forked child the sockets are its parent's.
    internal::AbandonIfForked(pool_);
  }

  void TellTime(Clock& clock) { told_ = &clock; }

  absl::Status Connect() { return pool_->Use(mariadb::CheckStrictSchema); }

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options) override {
    LOCUS_RETURN_IF_ERROR(options.Check());
    return Write(name, [&](Transaction& now) -> absl::Status {
      if (now.state.set) return strict::CheckSame(name, now.state.set->options, options);
      strict::Batch batch;
      batch.set.options = options;
      batch.set_changed = true;
      return now.Commit(batch);
    });
  }

  absl::Status DeclareRestored(const SpaceName& name) override {
    return Write(name, [&](Transaction& now) -> absl::Status {
      if (!now.state.set) return strict::NoSuchSet(name);
      return now.CommitLoss();
    });
  }

  absl::StatusOr<StrictReply<StrictGrant>> Take(const SpaceName& name,
                                                const StrictSetOptions& options,
                                                const StrictTake& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Plan<StrictReply<StrictGrant>>(name, options, request.wishes,
                                          [&](strict::Batch& batch, absl::Time now) {
                                            return strict::Rules::Take(batch, request, now);
                                          });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& name,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Plan<StrictReply<StrictExtended>>(name, options, request.sections,
                                             [&](strict::Batch& batch, absl::Time now) {
                                               return strict::Rules::Extend(batch, request, now);
                                             });
  }

  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& name,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override {
    LOCUS_RETURN_IF_ERROR(strict::Check(options, request));
    return Plan<StrictReply<StrictExtended>>(name, options, request.sections,
                                             [&](strict::Batch& batch, absl::Time now) {
                                               return absl::StatusOr<StrictReply<StrictExtended>>(
                                                   strict::Rules::Release(batch, request, now));
                                             });
  }

  absl::StatusOr<StrictSetView> Show(const SpaceName& name) override {
    StrictSetView view;
    absl::Status status = pool_->Use([&](Connection& connection) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(
          auto results,
          connection.RunCurrent(mariadb::ReadStrictState(name, false, Now(), connection.facts()),
                                mariadb::kStrictStateShapes));
      LOCUS_ASSIGN_OR_RETURN(StrictState state,
                             mariadb::ParseStrictState(results, connection.place()));
      if (!state.set) return strict::NoSuchSet(name);
      std::map<uint32_t, strict::Record> records;
      for (uint64_t first = 0;; first = uint64_t{records.rbegin()->first} + 1) {
        LOCUS_ASSIGN_OR_RETURN(
            auto page,
            connection.Run(mariadb::ReadStrictSectionsFrom(name, first), {mariadb::kSectionShape}));
        const size_t before = records.size();
        LOCUS_RETURN_IF_ERROR(
            mariadb::ParseStrictSections(page[0], name, connection.place(), records));
        // A server that lies could go on for ever.
        if (page[0].rows.size() < kMostSectionsAtOnce || records.size() == before) break;
      }
      view = strict::ViewOf(*state.set, records, state.now);
      return absl::OkStatus();
    });
    if (!status.ok()) return status;
    return view;
  }

  MariadbStats Stats() const override { return pool_->Stats(); }

 private:
  // A transaction that holds the lock of the set's row.
  struct Transaction {
    const SpaceName& name;
    Connection& connection;
    StrictState state;
    bool loss_noticed = false;

    template <typename Sections>
    absl::Status Read(const Sections& sections, strict::Batch& batch) {
      std::vector<uint32_t> named;
      for (const auto& item : sections) named.push_back(item.section);
      LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(mariadb::ReadStrictSections(name, named),
                                                          {mariadb::kSectionShape}));
      return mariadb::ParseStrictSections(results[0], name, connection.place(), batch.records);
    }

    absl::Status Commit(const strict::Batch& batch) {
      std::string statements;
      if (batch.set_changed) {
        absl::StrAppend(&statements, mariadb::WriteStrictSet(name, batch.set, state.identity), ";");
      }
      if (!batch.changed.empty()) {
        absl::StrAppend(&statements, mariadb::WriteStrictSections(name, batch), ";");
      }
      return connection.Run(absl::StrCat(statements, "COMMIT")).status();
    }

    absl::Status CommitLoss() {
      strict::Batch batch;
      batch.set = *state.set;
      strict::Rules::NoteLoss(batch, state.now);
      return Commit(batch);
    }
  };

  std::string Now() const {
    return mariadb::NowExpression(told_ == nullptr ? std::nullopt
                                                   : std::optional<absl::Time>(told_->Now()));
  }

  template <typename Reply, typename Sections, typename Rule>
  absl::StatusOr<Reply> Plan(const SpaceName& name, const StrictSetOptions& options,
                             const Sections& sections, const Rule& rule) {
    Reply reply;
    absl::Status status = Write(name, [&](Transaction& now) -> absl::Status {
      if (!now.state.set) return strict::NoSuchSet(name);
      LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, now.state.set->options, options));
      strict::Batch batch;
      batch.set = *now.state.set;
      LOCUS_RETURN_IF_ERROR(now.Read(sections, batch));
      LOCUS_ASSIGN_OR_RETURN(reply, rule(batch, now.state.now));
      reply.loss_noticed |= now.loss_noticed;
      return now.Commit(batch);
    });
    if (!status.ok()) return status;
    return reply;
  }

  // Begins a transaction; a loss that it finds is committed before `body` runs, whatever that says.
  // One that ends without a commit is rolled back by the pool.
  template <typename Body>
  absl::Status Write(const SpaceName& name, const Body& body) {
    return pool_->Use([&](Connection& connection) -> absl::Status {
      Transaction now{name, connection, {}, false};
      LOCUS_RETURN_IF_ERROR(Begin(now));
      if (now.state.set && now.state.recorded != now.state.identity) {
        LOCUS_RETURN_IF_ERROR(now.CommitLoss());
        LOCUS_RETURN_IF_ERROR(Begin(now));
        now.loss_noticed = true;
      }
      return body(now);
    });
  }

  // Until its end, the transaction has the set to itself. The lock of a row that is not there keeps
  // nobody out, so sets are made under the lock of a row that is always there.
  absl::Status Begin(Transaction& now) const {
    LOCUS_RETURN_IF_ERROR(ReadLocked("START TRANSACTION", mariadb::kNoRows, now));
    if (now.state.set) return absl::OkStatus();
    return ReadLocked(mariadb::kLockNewSets, mariadb::AtMostOneRow(1), now);
  }

  // Runs the statement `first`, which answers in `shape`, and then reads.
  absl::Status ReadLocked(const char* first, mariadb::Shape shape, Transaction& now) const {
    const std::string read = absl::StrCat(
        first, ";", mariadb::ReadStrictState(now.name, true, Now(), now.connection.facts()));
    LOCUS_ASSIGN_OR_RETURN(auto results,
                           now.connection.RunCurrent(read, {shape, mariadb::kStrictStateShapes[0],
                                                            mariadb::kStrictStateShapes[1]}));
    LOCUS_ASSIGN_OR_RETURN(now.state,
                           mariadb::ParseStrictState(std::span<const Result>(results).subspan(1),
                                                     now.connection.place()));
    return absl::OkStatus();
  }

  std::unique_ptr<Pool> pool_;
  Clock* told_ = nullptr;  // of a test that owns the time
};

}  // namespace

absl::Status MariadbStrictStore::CreateSchema(const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mariadb::CreateStrictSchema);
}

absl::StatusOr<std::unique_ptr<MariadbStrictStore>> MariadbStrictStore::Open(
    const MariadbOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  auto store = std::make_unique<Store>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(store->Connect());
  return store;
}

void MariadbStoreTime::Tell(MariadbStrictStore& store, Clock& clock) {
  static_cast<Store&>(store).TellTime(clock);
}

}  // namespace locus
