// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_MEMORY_TABLE_SOURCE_H_
#define LOCUS_TESTING_MEMORY_TABLE_SOURCE_H_

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/clock.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "locus/testing/faults.h"

namespace locus::fakes {

// A place for routing tables in this process's memory: any number of MemoryTableSource and
// MemoryTablePublisher share one.
// Thread safety: all methods may be called from any thread.
class MemoryTablePlace {
 public:
  // `clock` outlives the place.
  explicit MemoryTablePlace(Clock& clock = Clock::System()) : clock_(clock) {}

  // Gives sources this document, even a bad one or an older table. It does not enter the history.
  void Put(std::string document) {
    std::lock_guard lock(mutex_);
    Replace(std::move(document));
  }
  // Removes the newest table; the history keeps those that were published.
  void Empty() {
    std::lock_guard lock(mutex_);
    current_.reset();
    changed_.notify_all();
  }

 private:
  friend class MemoryTableSource;
  friend class MemoryTablePublisher;

  struct Kept {
    RoutingTable table;
    absl::Time published_at;
    PublicationNote note;
  };

  // Call these with mutex_ held.
  void Replace(std::string document) {
    current_ = SourcedTable{std::move(document), absl::StrCat("v", ++versions_)};
    changed_.notify_all();
  }
  absl::StatusOr<RoutingTable> Current() const {
    if (!current_) return absl::NotFoundError("memory: no table was published yet");
    absl::StatusOr<RoutingTable> table = RoutingTable::Parse(current_->document);
    if (table.ok()) return table;
    return absl::DataLossError(
        absl::StrCat("memory: it is no routing table: ", table.status().message()));
  }

  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<SourcedTable> current_;
  uint64_t versions_ = 0;
  std::vector<Kept> kept_;  // in the order of publication
};

// Follows a MemoryTablePlace, with the faults that a test injects. Each reading of the place counts
// as a call of Faults: Next reads when it begins, when the place changes, and after LookNow. So
// LookNow exposes a waiting Next to a fault that was set meanwhile.
class MemoryTableSource : public TableSource, public Faults {
 public:
  explicit MemoryTableSource(std::shared_ptr<MemoryTablePlace> place) : place_(std::move(place)) {}

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override {
    absl::StatusOr<std::optional<SourcedTable>> answer = Look(known, deadline);
    if (std::optional<absl::Status> status = After()) return *status;
    return answer;
  }
  void LookNow() override {
    std::lock_guard lock(place_->mutex_);
    look_now_ = true;
    place_->changed_.notify_all();
  }
  std::string place() const override { return "memory"; }

 private:
  absl::StatusOr<std::optional<SourcedTable>> Look(const std::string& known, TimePoint deadline) {
    bool last = false;
    while (true) {
      {
        std::lock_guard lock(place_->mutex_);
        last |= std::exchange(look_now_, false);
      }
      if (std::optional<absl::Status> status = Before()) return *status;
      std::unique_lock lock(place_->mutex_);
      const std::optional<SourcedTable>& current = place_->current_;
      if (!current) return absl::NotFoundError("memory: there is no table");
      if (current->version != known) return current;
      if (last) return std::nullopt;
      auto news = [&] { return look_now_ || !current || current->version != known; };
      last = !place_->changed_.wait_until(lock, deadline, news);
      if (last) return std::nullopt;
    }
  }

  const std::shared_ptr<MemoryTablePlace> place_;
  bool look_now_ = false;  // under the mutex of the place
};

// Publishes into a MemoryTablePlace, with the faults that a test injects. Keeps every table.
class MemoryTablePublisher : public TablePublisher, public Faults {
 public:
  explicit MemoryTablePublisher(std::shared_ptr<MemoryTablePlace> place)
      : place_(std::move(place)) {}

  absl::StatusOr<RoutingTable> Current() override {
    return Through([this] { return place_->Current(); });
  }
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override {
    return Through([&]() -> absl::Status {
      if (absl::Status checked = note.Check(); !checked.ok()) return checked;
      absl::StatusOr<RoutingTable> newest = place_->Current();
      if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
      PublishedState state{.newest = newest.ok() ? &*newest : nullptr};
      absl::StatusOr<Publication> judged = JudgePublication(state, table, expected, named);
      if (!judged.ok()) {
        return absl::Status(judged.status().code(),
                            absl::StrCat("memory: ", judged.status().message()));
      }
      if (*judged == Publication::kIsNewest) return absl::OkStatus();
      place_->Replace(table.ToJson());
      std::erase_if(place_->kept_, [&](const MemoryTablePlace::Kept& kept) {
        return kept.table.epoch() == table.epoch();
      });
      place_->kept_.push_back({table, place_->clock_.Now(), note});
      return absl::OkStatus();
    });
  }
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override {
    if (most < 1) return absl::InvalidArgumentError("a history of 0 epochs; at least 1");
    return Through([&]() -> absl::StatusOr<std::vector<PublishedEpoch>> {
      std::vector<PublishedEpoch> history;
      for (auto kept = place_->kept_.rbegin();
           kept != place_->kept_.rend() && history.size() < most; ++kept) {
        history.push_back({kept->table.epoch(), kept->published_at, kept->note});
      }
      return history;
    });
  }
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override {
    return Through([&]() -> absl::StatusOr<RoutingTable> {
      std::vector<uint64_t> epochs;
      for (const MemoryTablePlace::Kept& kept : place_->kept_) {
        if (kept.table.epoch() == epoch) return kept.table;
        epochs.push_back(kept.table.epoch());
      }
      return absl::NotFoundError(absl::StrCat(
          "memory: epoch ", epoch,
          " is not kept; there are: ", epochs.empty() ? "none" : absl::StrJoin(epochs, " ")));
    });
  }
  std::string place() const override { return "memory"; }

 private:
  template <typename Call>
  auto Through(Call call) -> decltype(call()) {
    if (std::optional<absl::Status> status = Before()) return *status;
    auto answer = [&] {
      std::lock_guard lock(place_->mutex_);
      return call();
    }();
    if (std::optional<absl::Status> status = After()) return *status;
    return answer;
  }

  const std::shared_ptr<MemoryTablePlace> place_;
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_MEMORY_TABLE_SOURCE_H_
