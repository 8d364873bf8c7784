// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_single_vnodes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace locus::internal {
namespace {

// How many exchanges are tried. Bounds the work where no plan meets the windows.
constexpr size_t kMostSwapTries = 2000000;

class SingleVnodes {
 public:
  SingleVnodes(const std::vector<double>& load, const std::vector<LoadWindow>& windows,
               PlannedRing& ring, ShardLoads& loads)
      : load_(load),
        windows_(windows),
        ring_(ring),
        loads_(loads),
        of_(windows.size()),
        sorted_(windows.size()) {
    for (uint32_t shard = 0; shard < windows.size(); ++shard) {
      if (loads.weight(shard) > 0) by_excess_.emplace(ExcessOf(shard), shard);
    }
  }

  void Go() {
    const size_t most_steps = 1000 + 16 * windows_.size();
    for (size_t steps = 0; steps < most_steps && by_excess_.size() >= 2; ++steps) {
      uint32_t high = by_excess_.rbegin()->second;
      uint32_t low = by_excess_.begin()->second;
      bool high_is_out = loads_.of(high) > windows_[high].most;
      bool low_is_out = loads_.of(low) < windows_[low].least;
      if (!high_is_out && !low_is_out) return;
      if (Step(high, low)) continue;
      // No vnode helps between these two: give up on one that is outside its window.
      by_excess_.erase(high_is_out ? std::prev(by_excess_.end()) : by_excess_.begin());
    }
  }

 private:
  using Entry = std::pair<double, uint32_t>;  // load, vnode

  double ExcessOf(uint32_t shard) const {
    return (loads_.of(shard) - windows_[shard].portion) / loads_.weight(shard);
  }

  // The vnodes of a shard that may move, by load.
  std::vector<Entry>& SortedOf(uint32_t shard) {
    if (!listed_) {
      for (uint32_t vnode = 0; vnode < load_.size(); ++vnode) {
        if (!ring_.fixed[vnode] && load_[vnode] > 0) {
          of_[ring_.owners[vnode]].emplace_back(load_[vnode], vnode);
        }
      }
      listed_ = true;
    }
    if (!sorted_[shard]) {
      std::ranges::sort(of_[shard]);
      sorted_[shard] = true;
    }
    return of_[shard];
  }

  void Move(Entry entry, uint32_t from, uint32_t to) {
    std::vector<Entry>& source = SortedOf(from);
    source.erase(std::ranges::lower_bound(source, entry));
    std::vector<Entry>& target = SortedOf(to);
    target.insert(std::ranges::lower_bound(target, entry), entry);
    ring_.owners[entry.second] = to;
    for (auto [shard, change] : {std::pair(from, -entry.first), std::pair(to, entry.first)}) {
      by_excess_.erase({ExcessOf(shard), shard});
      loads_.Add(shard, change);
      by_excess_.emplace(ExcessOf(shard), shard);
    }
  }

  bool Step(uint32_t high, uint32_t low) {
    double needed =
        std::max(loads_.of(high) - windows_[high].most, windows_[low].least - loads_.of(low));
    // A vnode must not carry either shard further out on its other side than the worse is out now.
    double most = std::max(
        std::min(loads_.of(high) - windows_[high].least, windows_[low].most - loads_.of(low)),
        (loads_.of(high) - windows_[high].portion) / 2 +
            (windows_[low].portion - loads_.of(low)) / 2);
    if (!(most > 0)) return false;
    std::vector<Entry>& source = SortedOf(high);
    auto above = std::ranges::upper_bound(source, Entry{most, UINT32_MAX});
    auto enough = std::ranges::lower_bound(source, Entry{needed, 0});
    if (enough < above) {
      Move(*enough, high, low);
      return true;
    }
    if (above != source.begin() && std::prev(above)->first > needed / 4) {
      Move(*std::prev(above), high, low);
      return true;
    }
    if (Swap(high, low, needed, most)) return true;
    if (above == source.begin()) return false;
    Move(*std::prev(above), high, low);
    return true;
  }

  // Exchanges the pair of vnodes whose difference is the least that suffices, else the greatest
  // that is allowed.
  bool Swap(uint32_t high, uint32_t low, double needed, double most) {
    const std::vector<Entry>& givers = SortedOf(high);
    const std::vector<Entry>& takers = SortedOf(low);
    std::optional<std::pair<Entry, Entry>> best;
    double best_change = 0;
    auto consider = [&](const Entry& given, const Entry& taken) {
      double change = given.first - taken.first;
      if (change <= needed / 4 || change > most) return;
      bool better =
          best_change < needed ? change > best_change : change >= needed && change < best_change;
      if (!better) return;
      best = {given, taken};
      best_change = change;
    };
    if (swap_tries_ > kMostSwapTries) return false;
    swap_tries_ += givers.size();
    for (const Entry& given : givers) {
      for (double wanted : {given.first - most, given.first - needed}) {
        auto taken = std::ranges::lower_bound(takers, Entry{wanted, 0});
        if (taken != takers.end()) consider(given, *taken);
        if (taken != takers.begin()) consider(given, *std::prev(taken));
      }
    }
    if (!best) return false;
    auto [given, taken] = *best;
    Move(given, high, low);
    Move(taken, low, high);
    return true;
  }

  const std::vector<double>& load_;
  const std::vector<LoadWindow>& windows_;
  PlannedRing& ring_;
  ShardLoads& loads_;
  std::set<std::pair<double, uint32_t>> by_excess_;  // over the weight
  size_t swap_tries_ = 0;
  bool listed_ = false;
  std::vector<std::vector<Entry>> of_;
  std::vector<bool> sorted_;
};

}  // namespace

void MoveSingleVnodes(const std::vector<double>& load, const std::vector<LoadWindow>& windows,
                      PlannedRing& ring, ShardLoads& loads) {
  SingleVnodes(load, windows, ring, loads).Go();
}

}  // namespace locus::internal
