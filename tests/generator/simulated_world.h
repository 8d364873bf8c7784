// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_GENERATOR_SIMULATED_WORLD_H_
#define LOCUS_TESTS_GENERATOR_SIMULATED_WORLD_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/segment/plan.h"
#include "src/segment/rules.h"
#include "tests/generator/generator_simulation.h"
namespace locus {

// The coverage of the runs of generator_simulation.cc so far.
inline SimulationCoverage coverage;

inline constexpr uint32_t kVnodes = 16;
inline constexpr uint32_t kSections = 2;
inline constexpr absl::Duration kHorizon = absl::Seconds(10);

inline SpaceOptions SmallSpace() {
  SpaceOptions options;
  options.section_size = kVnodes / kSections;
  options.floor_rate = 64;
  options.max_lead = 16384;
  return options;
}

// The state of a store, and so of a backup.
struct StoredState {
  uint64_t base = 0;
  uint64_t identity = 0;
  std::map<uint16_t, uint64_t> heads;
};

struct Granted {
  uint16_t section;
  Segment segment;
  bool covered;  // false: between a silent rewind and its notice
};

// Time, the store, and every allocation and ID of one run, which it checks against the invariants.
class World {
 public:
  World(uint64_t seed, Fault fault) : random_(seed), fault_(fault) {
    now_ = absl::FromUnixSeconds(1767225600) + absl::Seconds(Below(1000000));
    CreateAnew();
  }

  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  void Violated(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }
  const std::string& violation() const { return violation_; }

  absl::Duration boot() const { return boot_; }
  absl::Time StoreNow() const { return now_ + store_offset_; }
  absl::Time now() const { return now_; }
  void Advance(absl::Duration by) {
    now_ += by;
    boot_ += by;
  }

  // One allocation, as the store executes it.
  absl::StatusOr<SegmentReply> Allocate(std::span<const SegmentRequest> requests,
                                        absl::Time caller_now) {
    absl::Status clock = segment_rules::CheckClock(options_, caller_now, StoreNow());
    coverage.refused_clocks += !clock.ok();
    if (!clock.ok()) return clock;
    segment::State state{{options_, stored_.base, 0}, {}, stored_.identity != identity_};
    for (const SegmentRequest& request : requests) {
      state.heads.push_back(stored_.heads[request.section]);
    }
    segment::Outcome outcome = segment::Plan(state, requests, StoreNow());
    uint64_t base_before = stored_.base;
    stored_.base = outcome.space.base;
    if (outcome.reply.loss_noticed) LossNoticed();
    for (const segment::Outcome::Head& head : outcome.heads) {
      uint16_t section = requests[head.request].section;
      stored_.heads[section] = head.after;
      Record(section, outcome.reply.grants[head.request].segment);
    }
    SegmentReply& reply = outcome.reply;
    if (fault_ == Fault::kForgetBase && reply.loss_noticed) stored_.base = base_before;
    return std::move(outcome.reply);
  }

  // The broken variant: the tail of a segment comes back.
  void TakeBack(uint16_t section, uint64_t segment_end, uint64_t from) {
    if (stored_.heads[section] != segment_end) return;
    stored_.heads[section] = (from + 63) / 64 * 64;
    for (Granted& granted : granted_) {
      if (granted.section == section && granted.segment.end() == segment_end) {
        granted.segment.length = stored_.heads[section] - granted.segment.first;
      }
    }
  }

  void TakeBackup() { backup_ = stored_; }
  // Losing base before the floor has reached it is not covered, so it is not simulated.
  bool MayLose(const StoredState& to) const {
    absl::Time surely = StoreNow() - segment_rules::kLossMargin;
    return to.base == stored_.base || segment_rules::Floor(options_, surely) >= stored_.base;
  }
  void Rewind(bool silent) {
    if (!MayLose(backup_)) return;
    uint64_t identity = stored_.identity;
    stored_ = backup_;
    store_offset_ = RandomOffset();
    if (silent) {
      stored_.identity = identity;
      in_silence_ = true;
      ++coverage.silent_rewinds;
    } else {
      ++identity_;
    }
  }
  void CreateAnew() {
    if (!MayLose(StoredState())) return;
    store_offset_ = RandomOffset();
    ++identity_;
    stored_ = StoredState();
    RaiseBase();
  }
  void DeclareRestored() { RaiseBase(); }

  // A generator handed out this sequence.
  void Issued(uint32_t vnode, uint64_t sequence) {
    ++coverage.ids;
    bool covered = true;
    uint16_t section = static_cast<uint16_t>(vnode / options_.section_size);
    for (const Granted& granted : granted_) {
      bool within = granted.section == section && sequence >= granted.segment.first &&
                    sequence < granted.segment.end();
      covered &= !(within && !granted.covered);
    }
    auto [it, is_new] = issued_.try_emplace({vnode, sequence}, covered);
    if (!is_new && covered && it->second) {
      Violated(absl::StrCat("sequence ", sequence, " of vnode ", vnode, " handed out twice"));
    }
  }

  // Within what a process's clock may differ from the store's, mostly.
  absl::Duration RandomOffset() {
    return absl::Milliseconds(static_cast<int64_t>(Below(60000)) - 30000);
  }
  absl::Duration RandomOffsetOfAProcess() {
    return OneIn(8) ? 10 * RandomOffset() : RandomOffset() / 3;
  }
  const SpaceOptions& options() const { return options_; }

 private:
  void RaiseBase() {
    segment::Space space{options_, stored_.base, 0};
    segment::NoteLoss(space, StoreNow());
    stored_.base = space.base;
    LossNoticed();
  }
  void LossNoticed() {
    ++coverage.losses_noticed;
    stored_.identity = identity_;
    in_silence_ = false;
  }

  void Record(uint16_t section, Segment segment) {
    ++coverage.allocations;
    coverage.uncovered_segments += in_silence_;
    for (const Granted& granted : granted_) {
      bool overlap = granted.section == section && segment.first < granted.segment.end() &&
                     granted.segment.first < segment.end();
      if (overlap && !in_silence_) {
        Violated(absl::StrCat("section ", section, " was granted ", segment.first, "+",
                              segment.length, " over ", granted.segment.first, "+",
                              granted.segment.length));
      }
    }
    if (segment.end() >
        std::max(segment_rules::Floor(options_, StoreNow()), stored_.base) + options_.max_lead) {
      Violated(absl::StrCat("an allocation up to ", segment.end(), " lies above the lead"));
    }
    granted_.push_back({section, segment, !in_silence_});
  }

  std::mt19937_64 random_;
  const Fault fault_;
  const SpaceOptions options_ = SmallSpace();
  std::string violation_;

  absl::Time now_;
  absl::Duration boot_ = absl::Hours(1);
  absl::Duration store_offset_;

  StoredState stored_;
  StoredState backup_;
  uint64_t identity_ = 0;
  bool in_silence_ = false;  // rewound, and not noticed yet

  std::vector<Granted> granted_;
  std::map<std::pair<uint32_t, uint64_t>, bool> issued_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_GENERATOR_SIMULATED_WORLD_H_
