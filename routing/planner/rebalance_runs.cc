// SPDX-License-Identifier: Apache-2.0
#include "routing/planner/rebalance_runs.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>

namespace locus::internal {
namespace {

constexpr size_t kNone = SIZE_MAX;

// Neighbouring vnodes first..last of one shard, in a list in the order of the ring.
struct Run {
  size_t first;
  size_t last;
  uint32_t owner;
  bool fixed;
  size_t before = kNone;  // the runs beside it
  size_t after = kNone;
  uint64_t offer = 0;  // the newest of them
};

// A part of a run that could be given: all of it, or a part at one of its ends.
struct Gift {
  size_t first;
  size_t last;
  uint32_t taker;
  double load;
  double most;    // that the two shards could exchange
  int cost;       // how many more moves and ranges there are by it
  bool may_join;  // the next run may go to the same taker
};

// Gifts that add no ranges and moves come first, and of these the largest. The others are ordered
// by the cost if the two shards exchanged all they could by gifts like this one. Equal gifts are
// ordered by place, so that gifts of neighbouring vnodes join.
using Rank = std::tuple<int, double, bool, size_t>;

Rank RankOf(const Gift& gift) {
  if (gift.cost <= 0) return {gift.cost, -gift.load, !gift.may_join, gift.first};
  return {1, gift.cost * gift.most / gift.load, !gift.may_join, gift.first};
}

class Giving {
 public:
  Giving(const std::vector<double>& load_before, double least, PlannedRing& ring,
         std::vector<double>& surplus)
      : load_before_(load_before), least_(least), ring_(ring), surplus_(surplus) {
    for (uint32_t shard = 0; shard < surplus.size(); ++shard) {
      if (Takes(shard)) takers_.emplace(-surplus[shard], shard);
    }
    for (size_t vnode = 0; vnode < ring.owners.size(); ++vnode) {
      uint32_t owner = ring.owners[vnode];
      bool fixed = ring.fixed[vnode];
      if (runs_.empty() || runs_.back().owner != owner || runs_.back().fixed != fixed) {
        Append({vnode, vnode, owner, fixed});
      }
      runs_.back().last = vnode;
    }
  }

  void Go() {
    for (size_t run = 0; run < runs_.size(); ++run) Offer(run);
    while (!offers_.empty() && !takers_.empty()) {
      auto [rank, run, offer] = offers_.top();
      offers_.pop();
      if (offer != runs_[run].offer) continue;
      std::optional<Gift> gift = BestGift(run);
      if (gift && RankOf(*gift) == rank) {
        Give(run, *gift);
      } else {
        // The shards' surpluses have changed since the offer was made: make the offer that is best
        // now.
        Offer(run);
      }
    }
  }

 private:
  using Offered = std::tuple<Rank, size_t, uint64_t>;

  bool Gives(uint32_t shard) const { return surplus_[shard] > least_; }
  bool Takes(uint32_t shard) const { return surplus_[shard] < -least_; }
  double Load(size_t first, size_t last) const {
    return load_before_[last + 1] - load_before_[first];
  }
  bool CanGive(size_t run) const {
    return run != kNone && !runs_[run].fixed && Gives(runs_[run].owner);
  }
  uint32_t OwnerOf(size_t run) const { return runs_[run].owner; }

  void Append(Run run) {
    if (!runs_.empty()) {
      run.before = runs_.size() - 1;
      runs_.back().after = runs_.size();
    }
    runs_.push_back(run);
  }

  void Offer(size_t run) {
    if (!CanGive(run)) return;
    std::optional<Gift> gift = BestGift(run);
    if (gift) offers_.emplace(RankOf(*gift), run, ++runs_[run].offer);
  }

  // How many of the two ends of first..last in `run` would be borders between shards if `owner` had
  // these vnodes.
  int Borders(const Run& run, size_t first, size_t last, uint32_t owner) const {
    int borders = 0;
    if (first > run.first) {
      borders += owner != run.owner;
    } else if (run.before != kNone) {
      borders += owner != OwnerOf(run.before);
    }
    if (last < run.last) {
      borders += owner != run.owner;
    } else if (run.after != kNone) {
      borders += owner != OwnerOf(run.after);
    }
    return borders;
  }

  Gift GiftOf(const Run& run, size_t first, size_t last, uint32_t taker, double most) const {
    int ranges = Borders(run, first, last, taker) - Borders(run, first, last, run.owner);
    bool may_join =
        (first == run.first && CanGive(run.before)) || (last == run.last && CanGive(run.after));
    return {first, last, taker, Load(first, last), most, 1 + ranges, may_join};
  }

  // The longest parts at either end of the run whose load is not above `most`. They do not end in
  // vnodes without load.
  std::optional<size_t> LastOfPart(const Run& run, double most) const {
    auto begin = load_before_.begin() + static_cast<ptrdiff_t>(run.first);
    auto end = load_before_.begin() + static_cast<ptrdiff_t>(run.last) + 2;
    auto above = std::upper_bound(begin, end, *begin + most + least_);
    double reached = *(above - 1);
    auto first_there = std::lower_bound(begin, end, reached - least_);
    if (first_there == begin) return std::nullopt;
    return static_cast<size_t>(first_there - load_before_.begin()) - 1;
  }
  std::optional<size_t> FirstOfPart(const Run& run, double most) const {
    auto begin = load_before_.begin() + static_cast<ptrdiff_t>(run.first);
    auto end = load_before_.begin() + static_cast<ptrdiff_t>(run.last) + 2;
    double all = *(end - 1);
    auto reached = std::lower_bound(begin, end, all - most - least_);
    auto last_there = std::prev(std::upper_bound(reached, end, *reached + least_));
    if (last_there == std::prev(end)) return std::nullopt;
    return static_cast<size_t>(last_there - load_before_.begin());
  }

  void Consider(const Run& run, uint32_t taker, std::optional<Gift>& best) const {
    double most = std::min(surplus_[run.owner], -surplus_[taker]);
    auto consider = [&](size_t first, size_t last) {
      Gift gift = GiftOf(run, first, last, taker, most);
      if (gift.load > least_ && (!best || RankOf(gift) < RankOf(*best))) best = gift;
    };
    if (Load(run.first, run.last) <= most + least_) return consider(run.first, run.last);
    if (std::optional<size_t> last = LastOfPart(run, most)) consider(run.first, *last);
    if (std::optional<size_t> first = FirstOfPart(run, most)) consider(*first, run.last);
  }

  std::optional<Gift> BestGift(size_t index) const {
    if (!CanGive(index) || takers_.empty()) return std::nullopt;
    const Run& run = runs_[index];
    std::optional<Gift> best;
    for (size_t beside : {run.before, run.after}) {
      if (beside != kNone && Takes(OwnerOf(beside))) Consider(run, OwnerOf(beside), best);
    }
    // The taker that lacks just this much, else the one that lacks most.
    double most = std::min(surplus_[run.owner], Load(run.first, run.last));
    auto taker = takers_.lower_bound({most, 0});
    if (taker == takers_.end() || taker->first > most + least_) taker = std::prev(takers_.end());
    Consider(run, taker->second, best);
    return best;
  }

  void Give(size_t index, const Gift& gift) {
    surplus_[runs_[index].owner] -= gift.load;
    takers_.erase({-surplus_[gift.taker], gift.taker});
    surplus_[gift.taker] += gift.load;
    if (Takes(gift.taker)) takers_.emplace(-surplus_[gift.taker], gift.taker);
    std::fill(ring_.owners.begin() + static_cast<ptrdiff_t>(gift.first),
              ring_.owners.begin() + static_cast<ptrdiff_t>(gift.last) + 1, gift.taker);

    size_t before = runs_[index].before;
    size_t after = runs_[index].after;
    if (gift.first == runs_[index].first && gift.last == runs_[index].last) {
      runs_[index].owner = gift.taker;
    } else if (gift.first == runs_[index].first) {
      runs_[index].first = gift.last + 1;
      Insert({gift.first, gift.last, gift.taker, false, before, index});
    } else {
      runs_[index].last = gift.first - 1;
      Insert({gift.first, gift.last, gift.taker, false, index, after});
    }
    for (size_t run : {before, index, after}) Offer(run);
  }

  void Insert(Run run) {
    if (run.before != kNone) runs_[run.before].after = runs_.size();
    if (run.after != kNone) runs_[run.after].before = runs_.size();
    runs_.push_back(run);
  }

  const std::vector<double>& load_before_;
  const double least_;
  PlannedRing& ring_;
  std::vector<double>& surplus_;
  std::vector<Run> runs_;
  std::set<std::pair<double, uint32_t>> takers_;  // by how much they lack
  // Only the newest offer of a run is valid.
  std::priority_queue<Offered, std::vector<Offered>, std::greater<>> offers_;
};

}  // namespace

void GiveRuns(const std::vector<double>& load_before, double least, PlannedRing& ring,
              std::vector<double>& surplus) {
  Giving(load_before, least, ring, surplus).Go();
}

}  // namespace locus::internal
