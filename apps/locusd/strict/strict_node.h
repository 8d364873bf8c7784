// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_NODE_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_NODE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/front/replaceable.h"
#include "apps/locusd/strict/load_meter.h"
#include "apps/locusd/strict/peer_book.h"
#include "apps/locusd/strict/round_plan.h"
#include "apps/locusd/strict/strict_news.h"
#include "apps/locusd/strict/strict_settings.h"
#include "apps/locusd/strict/strict_status.h"
#include "apps/locusd/strict/strict_table.h"
#include "locus/clock.h"
#include "locus/strict_sequencer.h"
#include "locus/strict_store.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// Of counters since the start.
struct StrictNodeStats {
  uint64_t taken = 0;        // sections
  uint64_t handed_over = 0;  // likewise
  uint64_t looks = 0;        // at the table of the store
  uint64_t failed_looks = 0;
};

// What one node of a set knows and has: its sections, the table, the other nodes. It waits for
// nothing but its store, and calls nobody else.
// Thread safety: all methods may be called from any thread; those that block say so.
class StrictNode {
 public:
  using Open = std::function<absl::StatusOr<std::shared_ptr<StrictStore>>()>;

  // `on_event` as StrictSequencerOptions::on_event. `clock` outlives the node.
  StrictNode(const StrictSettings& settings, std::function<void(const StrictEvent&)> on_event,
             Clock& clock);

  // Opens the set in the store that `open` opens; blocks. Once it is OK, not again. Errors: those
  // of `open`, StrictStore::Create and StrictSequencer::Open.
  absl::Status OpenSet(const Open& open);
  // What is said of a set that is not open yet: UNAVAILABLE, with what the last OpenSet said.
  absl::Status NotOpen() const;
  // How long a node may take for sections that nobody has and that are its part, before Ready.
  static constexpr absl::Duration kTakeOver = absl::Seconds(5);
  // Whether this node answers for its sections: those it owns, and those without an owner that it
  // should have taken. Sections of other nodes do not count, so a dead node leaves the others
  // ready, and a node that takes no sections is ready. UNAVAILABLE, with the reason: the set is not
  // open, or sections are not served.
  absl::Status Ready() const;
  // nullptr: it is not open yet.
  StrictSequencer* sequencer() const { return opened_.load(std::memory_order_acquire); }

  const StrictSettings& settings() const { return settings_; }
  std::shared_ptr<const StrictTable> table() const { return table_.load(); }
  uint64_t table_version() const { return table_version_.load(std::memory_order_relaxed); }
  LoadMeter& loads() { return loads_; }

  struct Change {
    uint64_t table_version = 0;
    size_t sections = 0;  // that were taken or handed over
  };
  // As of StrictSequencer, in calls of at most kMostSectionsAtOnce, and noted in the table. Both
  // block. UNAVAILABLE: the set is not open yet; otherwise errors of StrictSequencer.
  absl::StatusOr<Change> Take(std::span<const uint32_t> sections);
  // nullptr: to anybody.
  absl::StatusOr<Change> HandOver(std::span<const uint32_t> sections,
                                  const StrictTable::Owner* successor);
  // Reads the table from the store; blocks.
  absl::Status Look();
  // Until when the store grants nothing after a loss, by its clock and the last Look; nullopt: it
  // grants.
  std::optional<absl::Time> RestsUntil() const;
  // How long that is from now on; 0: it grants.
  absl::Duration Rest() const;
  // How often the store noticed that it had lost what it stored, by the last Look; nullopt: there
  // was none that was answered.
  std::optional<uint64_t> Losses() const;
  // Since the last Look; infinite: there was none that was answered.
  absl::Duration LookAge() const;

  // What this node says of itself. While it cannot read its store, that it takes no sections.
  StrictNews News(bool with_loads) const;
  // Another node called or answered. INVALID_ARGUMENT: it is of another set, or has the name of
  // this node or of another one that is alive. True: something about it changed, which the next
  // round takes into account.
  absl::StatusOr<bool> Heard(const StrictNews& news);
  void Silent(const std::string& address);
  std::vector<std::string> AddressesToAsk() const;
  std::vector<StrictPeer> Live() const;
  std::optional<StrictPeer> FindLive(const std::string& name) const;

  // Whether it takes sections; false: only what it has already.
  bool takes() const { return takes_.load(std::memory_order_relaxed); }
  void SetTakes(bool takes) { takes_.store(takes, std::memory_order_relaxed); }

  // Whether others refuse this node's certificate, so far as it can tell. True: the others are told
  // that it takes no sections, and it takes none while one of them is alive, or has sections.
  void SetIsRefused(bool refused) { is_refused_.store(refused, std::memory_order_relaxed); }

  // PlanRound by what is known; with `by_load`, sections may be given away. NOT_FOUND: the table
  // was not read yet.
  absl::StatusOr<RoundPlan> Plan(bool by_load);
  // PlanFarewell of these sections.
  std::map<std::string, std::vector<uint32_t>> Farewell(
      const std::vector<uint32_t>& sections) const;
  // Measures the loads. By one thread.
  void Measure();
  // Whether another node, or the store's last answer, names a newer table than was read.
  bool LooksOld() const;

  StrictNodeStats stats() const;
  // For operators. Cost: copies what is known of sections.
  StrictStatus Status() const;

 private:
  absl::Duration Now() const { return clock_.SinceBoot(); }
  absl::Status TryToOpen(const Open& open);
  void SetTable(std::shared_ptr<const StrictTable> table) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Note(std::span<const uint32_t> sections, const StrictTable::Owner* owner, uint64_t version);
  bool OthersHaveSections() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  RoundInput InputOf() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  StrictPeer Self() const;
  absl::StatusOr<Change> HandOverNow(std::span<const uint32_t> sections,
                                     const StrictTable::Owner* successor);

  const StrictSettings settings_;
  const std::function<void(const StrictEvent&)> on_event_;
  Clock& clock_;
  std::unique_ptr<StrictSequencer> sequencer_;
  // Release by OpenSet, acquire by requests: publishes sequencer_.
  std::atomic<StrictSequencer*> opened_{nullptr};
  LoadMeter loads_;
  Replaceable<const StrictTable> table_;
  std::atomic<uint64_t> table_version_{0};  // of table_, which it does not publish
  std::atomic<bool> takes_{true};           // publishes nothing else
  std::atomic<bool> looked_well_{true};     // the last time; likewise
  std::atomic<bool> is_refused_{false};     // likewise

  mutable internal::Mutex mutex_;
  absl::Status open_error_ ABSL_GUARDED_BY(mutex_);  // of the last OpenSet
  PeerBook peers_ ABSL_GUARDED_BY(mutex_);
  std::optional<StrictSetView> view_ ABSL_GUARDED_BY(mutex_);  // of the last look
  absl::Duration looked_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  // Hand-overs that are under way, that have begun, and that had begun when the view was asked for;
  // nullopt: one was under way.
  size_t handing_over_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t hand_overs_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<uint64_t> hand_overs_of_view_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> free_ ABSL_GUARDED_BY(mutex_);  // at the last plan
  // Sections that the last plan wanted to take, and since when.
  std::map<uint32_t, absl::Duration> wanted_ ABSL_GUARDED_BY(mutex_);
  std::map<uint32_t, uint64_t> rates_ ABSL_GUARDED_BY(mutex_);
  StrictNodeStats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_NODE_H_
