// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_return.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace locus::internal {
namespace {

// These bound the work: only the heaviest runs, and the heaviest vnodes of each shard, are tried.
constexpr size_t kMostRuns = 512;
constexpr size_t kMostVnodes = 64;
constexpr size_t kMostShards = 256;
constexpr int kMostRounds = 8;
// Up to this many vnodes without load, between two that change places, go along: moving them is
// cheaper than breaking up the run. Longer stretches stay.
constexpr size_t kMostCarried = 16;
constexpr double kRounding = 1e-9;

// Neighbouring vnodes that go from one shard to another.
struct MovedRun {
  size_t first;
  size_t last;
  uint32_t home;
  uint32_t now;
  double load;
};

class Returning {
 public:
  Returning(const std::vector<uint32_t>& homes, const std::vector<double>& load,
            const std::vector<LoadWindow>& windows, PlannedRing& ring, ShardLoads& loads)
      : homes_(homes), load_(load), ring_(ring), loads_(loads), limits_(windows) {
    double up = 1;
    double down = 1;
    double peak = 0;
    double lowest = std::numeric_limits<double>::infinity();
    for (uint32_t shard = 0; shard < windows.size(); ++shard) {
      if (loads.weight(shard) == 0) continue;
      up = std::max(up, loads.of(shard) / windows[shard].portion);
      down = std::min(down, loads.of(shard) / windows[shard].portion);
      peak = std::max(peak, loads.RatioOf(shard));
      lowest = std::min(lowest, loads.RatioOf(shard));
    }
    for (uint32_t shard = 0; shard < windows.size(); ++shard) {
      LoadWindow& limit = limits_[shard];
      limit.most = std::max(limit.most, std::min(limit.portion * up, peak * loads.weight(shard)));
      limit.least =
          std::min(limit.least, std::max(limit.portion * down, lowest * loads.weight(shard)));
    }
  }

  void Go(std::optional<LoadPass> without) {
    for (int round = 0; round < kMostRounds; ++round) {
      bool better = without != LoadPass::kExchangeShards && ExchangeShards();
      ListRuns();
      if (without != LoadPass::kReturnRuns) better |= ReturnRuns();
      if (without != LoadPass::kReplaceRuns) better |= ReplaceRuns();
      if (!better) return;
    }
  }

 private:
  struct Change {
    uint32_t shard;
    double load;
  };

  // Whether the shards stay within their limits; several changes may be of one shard.
  bool Fits(std::initializer_list<Change> changes) const {
    for (const Change& change : changes) {
      double after = loads_.of(change.shard);
      for (const Change& other : changes) {
        if (other.shard == change.shard) after += other.load;
      }
      if (after > limits_[change.shard].most || after < limits_[change.shard].least) return false;
    }
    return true;
  }

  void Put(size_t first, size_t last, uint32_t shard) {
    for (size_t vnode = first; vnode <= last; ++vnode) {
      loads_.Add(ring_.owners[vnode], -load_[vnode]);
      loads_.Add(shard, load_[vnode]);
      ring_.owners[vnode] = shard;
    }
  }

  void Return(MovedRun& run) {
    Put(run.first, run.last, run.home);
    run.load = 0;
  }

  // Lists the runs that may go home and have any load, the heaviest first.
  void ListRuns() {
    runs_.clear();
    bool goes_on = false;
    for (size_t vnode = 0; vnode < load_.size(); ++vnode) {
      uint32_t home = homes_[vnode];
      uint32_t now = ring_.owners[vnode];
      if (home == now || loads_.weight(home) == 0) {
        goes_on = false;
        continue;
      }
      goes_on = goes_on && runs_.back().home == home && runs_.back().now == now;
      if (!goes_on) runs_.push_back({vnode, vnode, home, now, 0});
      goes_on = true;
      runs_.back().last = vnode;
      runs_.back().load += load_[vnode];
    }
    std::ranges::stable_sort(runs_, std::greater<>(), &MovedRun::load);
    std::erase_if(runs_, [](const MovedRun& run) { return run.load == 0; });
    if (runs_.size() > kMostRuns) runs_.resize(kMostRuns);
  }

  bool ReturnRuns() {
    bool any = false;
    for (MovedRun& run : runs_) {
      if (!Fits({{run.home, run.load}, {run.now, -run.load}})) continue;
      Return(run);
      any = true;
    }
    return any;
  }

  // The heaviest vnodes of each shard that are at home.
  std::vector<std::vector<std::pair<double, uint32_t>>> HeaviestAtHome() const {
    std::vector<std::vector<std::pair<double, uint32_t>>> heaviest(limits_.size());
    for (uint32_t vnode = 0; vnode < load_.size(); ++vnode) {
      if (ring_.fixed[vnode] || ring_.owners[vnode] != homes_[vnode] || load_[vnode] == 0) continue;
      heaviest[homes_[vnode]].emplace_back(load_[vnode], vnode);
    }
    for (auto& vnodes : heaviest) {
      size_t count = std::min(kMostVnodes, vnodes.size());
      std::ranges::partial_sort(vnodes, vnodes.begin() + static_cast<ptrdiff_t>(count),
                                std::greater<>());
      vnodes.resize(count);
    }
    return heaviest;
  }

  // Returns a run and gives a lighter vnode of the same shard in its place, the lightest that will
  // do.
  bool ReplaceRuns() {
    bool any = false;
    auto heaviest = HeaviestAtHome();
    for (MovedRun& run : runs_) {
      if (run.load == 0) continue;
      auto& vnodes = heaviest[run.home];
      for (size_t i = vnodes.size(); i > 0; --i) {
        auto [load, vnode] = vnodes[i - 1];
        double change = run.load - load;
        if (change <= 0) break;
        if (!Fits({{run.home, change}, {run.now, -change}})) continue;
        Put(vnode, vnode, run.now);
        Return(run);
        vnodes.erase(vnodes.begin() + static_cast<ptrdiff_t>(i - 1));
        any = true;
        break;
      }
    }
    return any;
  }

  // Whether the two would be no further apart with `change` more on `a` and less on `b`.
  bool AsEvenAfter(uint32_t a, uint32_t b, double change) const {
    auto [low, high] = std::minmax({loads_.RatioOf(a), loads_.RatioOf(b)});
    double after_a = (loads_.of(a) + change) / loads_.weight(a);
    double after_b = (loads_.of(b) - change) / loads_.weight(b);
    return std::max(after_a, after_b) <= high * (1 + kRounding) &&
           std::min(after_a, after_b) >= low * (1 - kRounding);
  }

  // A window that was widened for a heavy vnode goes where the vnode goes.
  void ExchangeLimits(uint32_t a, uint32_t b) {
    std::swap(limits_[a], limits_[b]);
    double ratio = loads_.weight(a) / loads_.weight(b);
    limits_[a] = {limits_[a].least * ratio, limits_[a].portion * ratio, limits_[a].most * ratio};
    limits_[b] = {limits_[b].least / ratio, limits_[b].portion / ratio, limits_[b].most / ratio};
  }

  void SwapShards(uint32_t a, uint32_t b) {
    constexpr size_t kNone = SIZE_MAX;
    size_t last_loaded = kNone;  // of the run, swapped already
    for (size_t vnode = 0; vnode < load_.size(); ++vnode) {
      uint32_t owner = ring_.owners[vnode];
      if (ring_.fixed[vnode] || (owner != a && owner != b)) {
        last_loaded = kNone;
        continue;
      }
      uint32_t taker = owner == a ? b : a;
      if (load_[vnode] == 0) continue;
      // All vnodes in between are of a and b, and without load.
      bool carried = last_loaded != kNone && vnode - last_loaded <= kMostCarried;
      for (size_t between = last_loaded + 1; carried && between < vnode; ++between) {
        bool of_the_run = homes_[between] == homes_[vnode] && ring_.owners[between] == owner;
        if (of_the_run) ring_.owners[between] = taker;
      }
      Put(vnode, vnode, taker);
      last_loaded = vnode;
    }
  }

  // Swaps all vnodes of two shards if each has more of the other's vnodes than of its own.
  bool ExchangeShards() {
    size_t shards = limits_.size();
    if (shards > kMostShards) return false;
    std::vector<std::vector<double>> from_to(shards, std::vector<double>(shards));
    std::vector<double> free(shards);
    for (size_t vnode = 0; vnode < load_.size(); ++vnode) {
      if (ring_.fixed[vnode]) continue;
      from_to[homes_[vnode]][ring_.owners[vnode]] += load_[vnode];
      free[ring_.owners[vnode]] += load_[vnode];
    }
    bool any = false;
    for (uint32_t a = 0; a < shards; ++a) {
      for (uint32_t b = a + 1; b < shards; ++b) {
        if (loads_.weight(a) == 0 || loads_.weight(b) == 0) continue;
        double gain = from_to[a][b] + from_to[b][a] - from_to[a][a] - from_to[b][b];
        double change = free[b] - free[a];
        if (gain <= 0) continue;
        if (!Fits({{a, change}, {b, -change}})) {
          if (!AsEvenAfter(a, b, change)) continue;
          ExchangeLimits(a, b);
        }
        SwapShards(a, b);
        for (auto& to : from_to) std::swap(to[a], to[b]);
        std::swap(free[a], free[b]);
        any = true;
      }
    }
    return any;
  }

  const std::vector<uint32_t>& homes_;
  const std::vector<double>& load_;
  PlannedRing& ring_;
  ShardLoads& loads_;
  std::vector<LoadWindow> limits_;
  std::vector<MovedRun> runs_;
};

}  // namespace

void ReturnVnodes(const std::vector<uint32_t>& homes, const std::vector<double>& load,
                  const std::vector<LoadWindow>& windows, std::optional<LoadPass> without,
                  PlannedRing& ring, ShardLoads& loads) {
  Returning(homes, load, windows, ring, loads).Go(without);
}

}  // namespace locus::internal
