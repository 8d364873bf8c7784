// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "locus/engine/sqlite.h"
#include "src/base/os/check.h"
#include "src/engine/sqlite/strict_tables.h"
#include "src/engine/sqlite/tables_file.h"
#include "src/strict/store_frame.h"
#include "src/strict/strict_rules.h"

namespace locus {

namespace {

using sqlite::StrictTables;

class StrictSectionStore final : public strict::StoreFrame<SqliteStrictStore> {
 public:
  StrictSectionStore(const std::string& path, absl::Duration busy_timeout, Clock& clock)
      : file_(path, busy_timeout, "-strict", clock, &NoteLosses) {}

  absl::Status Connect(bool create) { return file_.Connect(create); }

  absl::Status Create(const SpaceName& name, const StrictSetOptions& options,
                      const StrictSetPast& past) override {
    LOCUS_RETURN_IF_ERROR(options.Check());
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSet(name.str()));
      if (found) return strict::CheckSame(name, found->options, options);
      strict::Batch batch;
      // The sidecar remembers a set that the file has lost.
      auto beside = now.beside.spaces.find(name.str());
      const bool lost = beside != now.beside.spaces.end();
      if (lost) batch.set.base = beside->second.base;
      strict::Rules::Create(batch, options, {.first_ever = past.first_ever && !lost},
                            now.newest_grant);
      return StoreSet(now, name.str(), batch.set);
    });
  }

  absl::Status DeclareRestored(const SpaceName& name) override {
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto found, now.tables.FindSet(name.str()));
      if (!found) return strict::NoSuchSet(name);
      strict::Batch batch;
      batch.set = *std::move(found);
      strict::Rules::NoteLoss(batch, now.newest_grant);
      return StoreSet(now, name.str(), batch.set);
    });
  }

  absl::StatusOr<StrictSetView> Show(const SpaceName& name) override {
    return file_.Read([&](StrictTables& tables, absl::Time now) -> absl::StatusOr<StrictSetView> {
      LOCUS_ASSIGN_OR_RETURN(auto set, tables.FindSet(name.str()));
      if (!set) return strict::NoSuchSet(name);
      LOCUS_ASSIGN_OR_RETURN(auto records, tables.All(name.str()));
      return strict::ViewOf(*set, records, now);
    });
  }

 private:
  using File = sqlite::TablesFile<StrictTables>;
  using Transaction = File::Transaction;

  // The file keeps the latest that the store's clock ever was.
  template <typename Body>
  absl::Status Write(const Body& body) {
    return file_.Write([&](Transaction& now) {
      now.newest_grant = now.Newest();
      return body(now);
    });
  }

  // The sidecar keeps of a set the base, which a file that is put back twice must not forget.
  static absl::Status StoreSet(Transaction& now, const std::string& name, const strict::Set& set) {
    uint64_t& base = now.beside.spaces[name].base;
    base = std::max(base, set.base);
    return now.tables.StoreSet(name, set);
  }

  absl::Status InTransaction(const SpaceName& name,
                             const std::function<absl::Status(Step&)>& step) override {
    return Write([&](Transaction& now) -> absl::Status {
      LOCUS_ASSIGN_OR_RETURN(auto set, now.tables.FindSet(name.str()));
      Step one{std::move(set), now.time, now.loss_noticed, {}, {}};
      one.read = [&](const std::vector<uint32_t>& sections, strict::Batch& batch) {
        return ReadSections(now, name.str(), sections, batch);
      };
      one.write = [&](const strict::Batch& batch) { return StoreBatch(now, name.str(), batch); };
      return step(one);
    });
  }

  static absl::Status ReadSections(Transaction& now, const std::string& name,
                                   const std::vector<uint32_t>& sections, strict::Batch& batch) {
    for (const uint32_t section : sections) {
      LOCUS_ASSIGN_OR_RETURN(auto record, now.tables.Find(name, section));
      if (record) batch.records.emplace(section, *std::move(record));
    }
    return absl::OkStatus();
  }

  static absl::Status StoreBatch(Transaction& now, const std::string& name,
                                 const strict::Batch& batch) {
    if (batch.set_changed) LOCUS_RETURN_IF_ERROR(StoreSet(now, name, batch.set));
    for (const uint32_t section : batch.changed) {
      LOCUS_RETURN_IF_ERROR(now.tables.Store(name, section, batch.records.at(section)));
    }
    return absl::OkStatus();
  }

  // Any set may have lost something.
  static absl::Status NoteLosses(Transaction& now) {
    now.newest_grant = now.Newest();
    LOCUS_ASSIGN_OR_RETURN(auto sets, now.tables.AllSets());
    for (auto& [name, set] : sets) {
      strict::Batch batch;
      batch.set = std::move(set);
      auto beside = now.beside.spaces.find(name);
      if (beside != now.beside.spaces.end()) {
        batch.set.base = std::max(batch.set.base, beside->second.base);
      }
      strict::Rules::NoteLoss(batch, now.newest_grant);
      LOCUS_RETURN_IF_ERROR(StoreSet(now, name, batch.set));
    }
    return absl::OkStatus();
  }

  File file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStrictStore>> SqliteStrictStore::Open(
    const std::string& path, const SqliteSegmentStore::Options& options, Clock& clock) {
  auto store = std::make_unique<StrictSectionStore>(path, options.busy_timeout, clock);
  LOCUS_RETURN_IF_ERROR(store->Connect(options.create));
  return store;
}

}  // namespace locus
