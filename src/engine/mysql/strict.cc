// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/engine/mysql.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/locked_rows.h"
#include "src/engine/mysql/store_time.h"
#include "src/engine/mysql/strict_rows.h"
#include "src/strict/store_frame.h"
#include "src/strict/strict_rules.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

using mysql::Connection;
using mysql::Pool;
using mysql::StrictState;

class StrictSectionStore final : public strict::StoreFrame<MysqlStrictStore> {
 public:
  explicit StrictSectionStore(std::unique_ptr<Pool> pool) : rows_(std::move(pool)) {}

  void TellTime(Clock& clock) { rows_.TellTime(clock); }
  absl::Status Connect() { return rows_.pool().Use(mysql::CheckStrictSchema); }

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options,
                      const StrictSetPast& past) override {
    LOCUS_RETURN_IF_ERROR(options.Check());
    return Write(name, [&](Transaction& now) -> absl::Status {
      if (now.state.set) return strict::CheckSame(name, now.state.set->options, options);
      strict::Batch batch;
      strict::Rules::Create(batch, options, past, now.state.now);
      return Commit(now, batch);
    });
  }

  absl::Status DeclareRestored(const SpaceName& name) override {
    return Write(name, [&](Transaction& now) -> absl::Status {
      if (!now.state.set) return strict::NoSuchSet(name);
      return CommitLoss(now);
    });
  }

  absl::StatusOr<StrictSetView> Show(const SpaceName& name) override {
    StrictSetView view;
    absl::Status status =
        rows_.Read(name, [&](Connection& connection, const StrictState& state) -> absl::Status {
          if (!state.set) return strict::NoSuchSet(name);
          std::map<uint32_t, strict::Record> records;
          for (uint64_t first = 0;; first = uint64_t{records.rbegin()->first} + 1) {
            LOCUS_ASSIGN_OR_RETURN(
                auto page,
                connection.Run(mysql::ReadStrictSectionsFrom(name, first), {mysql::kSectionShape}));
            const size_t before = records.size();
            LOCUS_RETURN_IF_ERROR(
                mysql::ParseStrictSections(page[0], name, connection.place(), records));
            // A lying server could send pages without end.
            if (page[0].rows.size() < kMostSectionsAtOnce || records.size() == before) break;
          }
          view = strict::ViewOf(*state.set, records, state.now);
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    return view;
  }

  MysqlStats Stats() const override { return rows_.pool().Stats(); }

 private:
  using Rows = mysql::LockedRows<mysql::StrictSetRow>;
  using Transaction = Rows::Transaction;

  static absl::Status ReadSections(Transaction& now, const std::vector<uint32_t>& sections,
                                   strict::Batch& batch) {
    LOCUS_ASSIGN_OR_RETURN(
        auto results,
        now.connection.Run(mysql::ReadStrictSections(now.name, sections), {mysql::kSectionShape}));
    return mysql::ParseStrictSections(results[0], now.name, now.connection.place(), batch.records);
  }

  static absl::Status Commit(Transaction& now, const strict::Batch& batch) {
    std::string statements;
    if (batch.set_changed) {
      absl::StrAppend(&statements, mysql::WriteStrictSet(now.name, batch.set, now.state.identity),
                      ";");
    }
    if (!batch.changed.empty()) {
      absl::StrAppend(&statements, mysql::WriteStrictSections(now.name, batch), ";");
    }
    return now.Commit(statements);
  }

  static absl::Status CommitLoss(Transaction& now) {
    strict::Batch batch;
    batch.set = *now.state.set;
    strict::Rules::NoteLoss(batch, now.state.now);
    return Commit(now, batch);
  }

  template <typename Body>
  absl::Status Write(const SpaceName& name, const Body& body) {
    return rows_.Write(name, &CommitLoss, body);
  }

  absl::Status InTransaction(const SpaceName& name,
                             const std::function<absl::Status(Step&)>& step) override {
    return Write(name, [&](Transaction& now) {
      Step one{now.state.set, now.state.now, now.loss_noticed, {}, {}};
      one.read = [&](const std::vector<uint32_t>& sections, strict::Batch& batch) {
        return ReadSections(now, sections, batch);
      };
      one.write = [&](const strict::Batch& batch) { return Commit(now, batch); };
      return step(one);
    });
  }

  Rows rows_;
};

}  // namespace

absl::Status MysqlStrictStore::CreateSchema(const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  return pool->Use(mysql::CreateStrictSchema);
}

absl::StatusOr<std::unique_ptr<MysqlStrictStore>> MysqlStrictStore::Open(
    const MysqlOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(auto pool, Pool::Make(options, Pool::Schema::kNotLookedAt));
  auto store = std::make_unique<StrictSectionStore>(std::move(pool));
  LOCUS_RETURN_IF_ERROR(store->Connect());
  return store;
}

void MysqlStoreTime::Tell(MysqlStrictStore& store, Clock& clock) {
  static_cast<StrictSectionStore&>(store).TellTime(clock);
}

}  // namespace locus
