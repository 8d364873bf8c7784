// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_load.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "routing/planner/rebalance_big_vnodes.h"
#include "routing/planner/rebalance_few_vnodes.h"
#include "routing/planner/rebalance_return.h"
#include "routing/planner/rebalance_runs.h"
#include "routing/planner/rebalance_single_vnodes.h"
#include "routing/planner/shard_loads.h"

// Each vnode moves at most once, and only until shards are in windows around their portions, so
// little more load moves than must. Vnodes that need not have moved return at the end. LoadPass has
// the passes in their order.

namespace locus::internal {
namespace {

// A vnode that has this part of a shard's mean load is placed on its own.
constexpr double kBigPart = 0.02;
// A vnode that has this part does not travel inside a run.
constexpr double kBigInRun = 0.15;
// Runs aim at the inside of the windows, because they cannot meet an edge exactly; single vnodes
// correct what is left.
constexpr double kInnerWindow = 0.75;
// A shard gives up to kMostHotVnodes hot vnodes instead of runs, if the runs would hold kHotGain
// times as many vnodes.
constexpr size_t kMostHotVnodes = 64;
constexpr double kHotGain = 8;
constexpr double kRounding = 1e-12;  // of all load

double Slack(const LoadWindow& window, double tolerance) { return window.portion * tolerance; }

// The argument from 0 to `tolerance` at which `amount`, a falling function, is `wanted`.
double Solve(double tolerance, double wanted, const std::function<double(double)>& amount) {
  double low = 0;
  double high = tolerance;
  for (int i = 0; i < 50; ++i) {
    double middle = (low + high) / 2;
    (amount(middle) > wanted ? low : high) = middle;
  }
  return high;
}

class LoadPlan {
 public:
  LoadPlan(const std::vector<uint32_t>& weights, const std::vector<double>& load, double tolerance,
           std::optional<LoadPass> without, PlannedRing& ring)
      : load_(load),
        tolerance_(tolerance),
        without_(without),
        ring_(ring),
        loads_(weights),
        windows_(weights.size()) {
    for (uint32_t weight : weights) weighted_ += weight > 0;
  }

  void Go() {
    const PlannedRing before = ring_;
    double sum = LoadFixed();
    if (sum == 0) return Empty();  // all load is where it cannot leave from
    const ShardLoads fixed_loads = loads_;
    if (AllWithinTolerance(fixed_loads, sum)) {
      LoadOthers();
      return Empty();  // only vnodes without load are left on shards without a weight
    }
    if (Runs(LoadPass::kBigVnodes)) {
      PlaceBigVnodes(load_, sum, tolerance_, kBigPart * sum / weighted_,
                     Runs(LoadPass::kExchangeBigVnodes), ring_, loads_);
    }
    SetWindows(sum, before.fixed, fixed_loads);
    LoadOthers();
    std::vector<double> surplus = Surplus();
    if (Runs(LoadPass::kHotVnodes)) GiveHotVnodes(surplus);
    // A placed vnode that stayed at home may still travel inside a run, unless it is one of the
    // biggest: a run would break at a vnode that no taker has room for.
    for (size_t i = 0; i < load_.size(); ++i) {
      bool may_go = ring_.owners[i] == before.owners[i] && load_[i] < kBigInRun * sum / weighted_;
      if (may_go) ring_.fixed[i] = before.fixed[i];
    }
    if (Runs(LoadPass::kRuns)) GiveRunsOf(sum, surplus);
    Empty();
    ring_.fixed = before.fixed;
    if (Runs(LoadPass::kSingleVnodes)) MoveSingleVnodes(load_, windows_, ring_, loads_);
    if (Runs(LoadPass::kFewVnodes)) {
      DealFewVnodes(before.owners, load_, Level(), tolerance_, ring_, loads_);
    }
    ReturnVnodes(before.owners, load_, windows_, without_, ring_, loads_);
  }

 private:
  bool Runs(LoadPass pass) const { return without_ != pass; }

  // Whether no shard is further from its portion than the tolerance. Then only vnodes on shards
  // without a weight have to move.
  bool AllWithinTolerance(const ShardLoads& fixed_loads, double sum) const {
    std::vector<double> loads(windows_.size());
    for (size_t i = 0; i < load_.size(); ++i) loads[ring_.owners[i]] += load_[i];
    PortionLevel least(fixed_loads, sum);
    for (uint32_t shard = 0; shard < loads.size(); ++shard) {
      double portion = std::max(least.load(shard), least.level() * loads_.weight(shard));
      double slack = portion * tolerance_ + sum * kRounding;
      if (loads_.weight(shard) == 0) slack = 0;
      if (std::abs(loads[shard] - portion) > slack) return false;
    }
    return true;
  }

  // Adds the load of all vnodes that are not fixed to loads_.
  void LoadOthers() {
    std::vector<double> others(windows_.size());
    for (size_t i = 0; i < load_.size(); ++i) {
      if (!ring_.fixed[i]) others[ring_.owners[i]] += load_[i];
    }
    for (uint32_t shard = 0; shard < others.size(); ++shard) loads_.Add(shard, others[shard]);
  }

  // Adds the load that cannot move to loads_. Returns the load that all shards with a weight will
  // have together.
  double LoadFixed() {
    std::vector<double> fixed(windows_.size());
    double sum = 0;
    for (size_t i = 0; i < load_.size(); ++i) {
      if (ring_.fixed[i]) fixed[ring_.owners[i]] += load_[i];
      if (!ring_.fixed[i] || loads_.weight(ring_.owners[i]) > 0) sum += load_[i];
    }
    for (uint32_t shard = 0; shard < fixed.size(); ++shard) loads_.Add(shard, fixed[shard]);
    return sum;
  }

  // Sets each shard's window around its portion. A shard whose fixed or heaviest vnodes alone
  // exceed its portion has that load as its portion, and the others share the rest.
  void SetWindows(double sum, const std::vector<bool>& fixed, const ShardLoads& least) {
    std::vector<std::pair<double, uint32_t>> heaviest(windows_.size());
    for (uint32_t i = 0; i < load_.size(); ++i) {
      if (ring_.fixed[i] && !fixed[i]) {
        heaviest[ring_.owners[i]] = std::max(heaviest[ring_.owners[i]], {load_[i], i});
      }
    }
    std::vector<uint32_t> shards(windows_.size());
    std::iota(shards.begin(), shards.end(), 0);
    std::erase_if(shards, [&](uint32_t shard) { return heaviest[shard].first == 0; });
    auto ratio = [&](uint32_t shard) { return heaviest[shard].first / least.weight(shard); };
    std::ranges::sort(shards, std::greater<>(), ratio);
    PortionLevel least_of(least, sum);
    for (uint32_t shard : shards) {
      if (ratio(shard) <= least_of.level()) break;
      least_of.Raise(shard, heaviest[shard].first);
    }
    double level = least_of.level();
    for (uint32_t shard = 0; shard < windows_.size(); ++shard) {
      LoadWindow& window = windows_[shard];
      window.portion = least_of.load(shard);
      if (loads_.weight(shard) > 0) {
        window.portion = std::max(window.portion, level * loads_.weight(shard));
      }
      window.least = window.portion - Slack(window, tolerance_);
      window.most = window.portion + Slack(window, tolerance_);
    }
  }

  // The portion over the weight of a shard that has no vnode above its portion.
  double Level() const {
    double level = std::numeric_limits<double>::infinity();
    for (uint32_t shard = 0; shard < windows_.size(); ++shard) {
      if (loads_.weight(shard) == 0) continue;
      level = std::min(level, windows_[shard].portion / loads_.weight(shard));
    }
    return level;
  }

  double Above(double part) const {
    double sum = 0;
    for (uint32_t shard = 0; shard < windows_.size(); ++shard) {
      // Shards without a weight give all.
      double slack = loads_.weight(shard) > 0 ? Slack(windows_[shard], part) : 0;
      sum += std::max(0.0, loads_.of(shard) - windows_[shard].portion - slack);
    }
    return sum;
  }
  double Below(double part) const {
    double sum = 0;
    for (uint32_t shard = 0; shard < windows_.size(); ++shard) {
      sum +=
          std::max(0.0, windows_[shard].portion - Slack(windows_[shard], part) - loads_.of(shard));
    }
    return sum;
  }

  // How much load each shard should give (above 0) or take (below 0), so that as little moves as
  // the windows allow.
  std::vector<double> Surplus() const {
    double inner = tolerance_ * kInnerWindow;
    double moved = std::max(Above(inner), Below(inner));
    double above = Solve(inner, moved, [&](double part) { return Above(part); });
    double below = Solve(inner, moved, [&](double part) { return Below(part); });
    std::vector<double> surplus(windows_.size());
    for (uint32_t shard = 0; shard < windows_.size(); ++shard) {
      double excess = loads_.of(shard) - windows_[shard].portion;
      if (loads_.weight(shard) == 0) {
        surplus[shard] = excess;
      } else if (excess > 0) {
        surplus[shard] = std::max(0.0, excess - Slack(windows_[shard], above));
      } else {
        surplus[shard] = std::min(0.0, excess + Slack(windows_[shard], below));
      }
    }
    return surplus;
  }

  void Move(size_t vnode, uint32_t to) {
    loads_.Add(ring_.owners[vnode], -load_[vnode]);
    loads_.Add(to, load_[vnode]);
    ring_.owners[vnode] = to;
  }

  void GiveHotVnodes(std::vector<double>& surplus) {
    std::vector<std::vector<std::pair<double, uint32_t>>> hottest(surplus.size());
    std::vector<size_t> vnodes(surplus.size());
    for (uint32_t i = 0; i < load_.size(); ++i) {
      uint32_t owner = ring_.owners[i];
      if (ring_.fixed[i] || surplus[owner] <= 0 || loads_.weight(owner) == 0) continue;
      ++vnodes[owner];
      // A vnode below this cannot be one of at most kMostHotVnodes that make up the surplus.
      if (load_[i] * kHotGain < surplus[owner] / kMostHotVnodes) continue;
      if (load_[i] <= surplus[owner]) hottest[owner].emplace_back(load_[i], i);
    }
    std::set<std::pair<double, uint32_t>> takers;  // the one that lacks most comes first
    for (uint32_t shard = 0; shard < surplus.size(); ++shard) {
      if (surplus[shard] < 0) takers.emplace(surplus[shard], shard);
    }
    for (uint32_t shard = 0; shard < surplus.size(); ++shard) {
      GiveHotVnodes(shard, vnodes[shard], hottest[shard], takers, surplus);
    }
  }

  void GiveHotVnodes(uint32_t shard, size_t vnodes,
                     std::vector<std::pair<double, uint32_t>>& hottest,
                     std::set<std::pair<double, uint32_t>>& takers, std::vector<double>& surplus) {
    size_t count = std::min(hottest.size(), kMostHotVnodes);
    std::partial_sort(hottest.begin(), hottest.begin() + static_cast<ptrdiff_t>(count),
                      hottest.end(), std::greater<>());
    std::vector<uint32_t> given;
    double left = surplus[shard];
    for (size_t i = 0; i < count; ++i) {
      if (hottest[i].first > left) continue;
      left -= hottest[i].first;
      given.push_back(hottest[i].second);
    }
    double done = surplus[shard] - left;
    double in_runs = static_cast<double>(vnodes) * surplus[shard] / loads_.of(shard);
    if (given.empty() || left > surplus[shard] / 4) return;
    if (static_cast<double>(given.size()) * kHotGain > in_runs * done / surplus[shard]) return;
    for (uint32_t vnode : given) {
      if (takers.empty()) return;
      auto [lacks, taker] = *takers.begin();
      if (lacks + load_[vnode] > 0) continue;
      Move(vnode, taker);
      surplus[shard] -= load_[vnode];
      surplus[taker] += load_[vnode];
      takers.erase(takers.begin());
      if (surplus[taker] < 0) takers.emplace(surplus[taker], taker);
    }
  }

  void GiveRunsOf(double sum, std::vector<double>& surplus) {
    std::vector<double> load_before(load_.size() + 1);
    for (size_t i = 0; i < load_.size(); ++i) load_before[i + 1] = load_before[i] + load_[i];
    std::vector<uint32_t> before = ring_.owners;
    GiveRuns(load_before, sum * 1e-9, ring_, surplus);
    std::vector<double> change(windows_.size());
    for (size_t i = 0; i < load_.size(); ++i) {
      if (before[i] == ring_.owners[i]) continue;
      change[before[i]] -= load_[i];
      change[ring_.owners[i]] += load_[i];
    }
    for (uint32_t shard = 0; shard < change.size(); ++shard) loads_.Add(shard, change[shard]);
  }

  // Gives away the vnodes that are left on shards without a weight: those with load to the least
  // loaded shard, the others to the owner of the vnode before.
  void Empty() {
    for (size_t i = 0; i < load_.size(); ++i) {
      if (ring_.fixed[i] || loads_.weight(ring_.owners[i]) > 0) continue;
      uint32_t taker = loads_.BestFor(load_[i]);
      if (load_[i] == 0 && i > 0 && loads_.weight(ring_.owners[i - 1]) > 0) {
        taker = ring_.owners[i - 1];
      }
      Move(i, taker);
    }
  }

  const std::vector<double>& load_;
  const double tolerance_;
  const std::optional<LoadPass> without_;
  PlannedRing& ring_;
  ShardLoads loads_;
  std::vector<LoadWindow> windows_;
  double weighted_ = 0;
};

}  // namespace

void BalanceByLoad(const std::vector<uint32_t>& weights, const std::vector<double>& load,
                   double tolerance, PlannedRing& ring, std::optional<LoadPass> without) {
  LoadPlan(weights, load, tolerance, without, ring).Go();
}

}  // namespace locus::internal
