// SPDX-License-Identifier: Apache-2.0
// A cleanup of an old move that had kept its rows, beside later moves that bring some of its vnodes
// back to the same shard and away again, while clients keep rows of the fence. Each statement is a
// step of the simulation, with the locks that the server gives it; anybody dies between two of
// them. What a regroup changes is planned by the code of the product. No row is deleted that a
// later move has brought. Each rule that is left out is caught.
#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/routing_table.h"
#include "migration/fence/regroup.h"
#include "tests/fence/row_locks.h"

namespace locus::internal {
namespace {

constexpr uint32_t kVnodes = 12, kCohorts = RoutingTable::kMaxPermyriad;
constexpr uint64_t kSeeds = 3000;
constexpr FencedRange kOld{3, 8};  // the vnodes of the old move

enum class Mutant {
  kNone,
  kTrustsStoredEnd,      // the cleaner takes a row for its own that ends where its move did
  kReadsMapWithoutLock,  // a regroup may end between its look and its deletion
  kAsksNoRecords,        // it cleans up while a later move may still go back
  kTokenStays,           // a row that a regroup changes keeps its token
};

constexpr int kCleaner = 1, kRunner = 2, kClient = 3;

// The shard from which the old move went.
struct World : RowLocks {
  World(uint64_t seed, Mutant which) : random(seed), mutant(which) {
    rows[0] = {0, kOld.lo - 1, 0, kCohorts, 0, 1, ""};
    rows[kOld.lo] = {kOld.lo, kOld.hi, kCohorts, kCohorts, 2, 1, "old"};
    rows[kOld.hi + 1] = {kOld.hi + 1, kVnodes - 1, 0, kCohorts, 0, 1, ""};
    tokens.insert(kOld.lo);
    for (uint32_t vnode = 0; vnode < kVnodes; ++vnode) {
      map.push_back(std::prev(rows.upper_bound(vnode))->first);
    }
    later.lo = kOld.lo + Pick(3) * Pick(2);
    later.hi = Pick(2) == 0 ? kOld.hi : later.lo + Pick(kOld.hi - later.lo + 1);
  }
  uint32_t Pick(uint32_t n) { return static_cast<uint32_t>(random() % n); }

  // A client that reads the fence by the map, and keeps what it read for long.
  void Hold() {
    if (Pick(4) == 0 || calm) return Release(kClient);
    const uint32_t vnode = Pick(kVnodes);
    Share(kClient, {true, vnode});
    Share(kClient, {false, map[vnode].value_or(0)});
  }

  // Moves of `later`, first to this shard, then away from it.
  struct Mover {
    bool away = false;
    enum { kPlanned, kReads, kInserts, kPoints, kEnds, kSteps, kEnding, kOver } stage = kPlanned;
    Regroup regroup;
    std::optional<RegroupPlan> plan;
    std::optional<RegroupPlan::Pointing> one;
  };
  void Move() {
    if (mover.stage == Mover::kOver) return;
    if (mover.stage < Mover::kSteps && mover.stage > Mover::kPlanned && Pick(20) == 0) {
      return Again();  // it dies, and another one begins
    }
    switch (mover.stage) {
      case Mover::kPlanned:
        // Of a move away, the record stands on this shard.
        if (mover.away && cleaning) return;
        mover.stage = Mover::kReads;
        return;
      case Mover::kReads:
        return Read();
      case Mover::kInserts:
        return Insert();
      case Mover::kPoints:
        return Point();
      case Mover::kEnds:
        return EndRows();
      case Mover::kSteps:
        return Step();
      case Mover::kEnding:
        // Finalized: these rows have no owner any more. It may go back before.
        live.clear();
        mover.stage = Mover::kOver;
        return;
      default:
        return;
    }
  }
  void Again() {
    Release(kRunner);
    mover.plan.reset();
    mover.one.reset();
    mover.stage = Mover::kReads;
  }
  void Read() {
    mover.regroup = {};
    for (const auto& [lo, row] : rows) mover.regroup.stored.push_back(row);
    auto recut = RecutOf(Apart(mover.regroup.stored), {later}, mover.away);
    if (!recut.ok()) {
      violation = std::string(recut.status().message());
      return;
    }
    mover.regroup.removed = recut->removed;
    mover.regroup.rest = recut->inserted;
    const uint32_t own = mover.away ? kCohorts : 0;
    mover.regroup.made = {
        {later.lo, later.hi, 0, own, mover.away ? 20u : 10u, 1, mover.away ? "away" : "back"}};
    mover.plan.emplace(mover.regroup);
    mover.stage = Mover::kInserts;
  }
  void Insert() {
    for (const FenceRow& row : mover.plan->Inserted()) rows[row.lo] = row;
    mover.stage = Mover::kPoints;
  }
  void Point() {
    if (!mover.one) {
      auto wrong = mover.plan->WrongPointers(map);
      if (!wrong.ok()) {
        violation = std::string(wrong.status().message());
        return;
      }
      if (wrong->empty()) {
        mover.stage = Mover::kEnds;
        return;
      }
      mover.one = (*wrong)[Pick(static_cast<uint32_t>(wrong->size()))];
      mover.one->first += Pick(mover.one->last - mover.one->first + 1);
      return;
    }
    if (Free(kRunner, {true, mover.one->first})) map[mover.one->first] = mover.one->to;
    mover.one.reset();
  }
  void EndRows() {
    for (const RegroupPlan::End& end : mover.plan->Ends()) {
      if (!Free(kRunner, {false, end.row.lo})) {
        if (end.may_stay) continue;
        return Again();
      }
      if (mutant != Mutant::kTokenStays) tokens.erase(end.row.lo);
      if (end.becomes) {
        rows[end.row.lo] = *end.becomes;
      } else {
        rows.erase(end.row.lo);
      }
      if (Pick(4) == 0) return Again();
    }
    // The copy begins.
    for (uint32_t vnode = later.lo; vnode <= later.hi && !mover.away; ++vnode) live.insert(vnode);
    mover.stage = Mover::kSteps;
  }
  // The whole band goes in one step, by the exclusive lock of the row.
  void Step() {
    FenceRow& row = rows[later.lo];
    if (row.other != (mover.away ? "away" : "back")) violation = "a row of a move is lost";
    if (!Free(kRunner, {false, row.lo})) return;
    ++row.step;
    row.own_lo = mover.away ? kCohorts : 0;
    row.own_hi = kCohorts;
    if (!mover.away) {
      Again();
      mover.stage = Mover::kPlanned;
      mover.away = true;
      return;
    }
    tokens.insert(row.lo);
    mover.stage = Mover::kEnding;
  }

  // `locus move cleanup` of the old move, which is DONE: CleanAgain, then the transactions of its
  // runner.
  void Clean() {
    if (!cleaning) {
      const bool under_way = mover.away && mover.stage > Mover::kPlanned &&
                             mover.stage < Mover::kOver && mutant != Mutant::kAsksNoRecords;
      cleaning = !under_way && IsOwn();
      return;
    }
    if (Pick(10) == 0 || looked == 2) {
      // It dies, or has committed.
      Release(kCleaner);
      looked = 0;
      cleaning = Pick(8) != 0;
      return;
    }
    if (looked == 0) {
      bool pointed = true;
      for (uint32_t vnode = kOld.lo; vnode <= kOld.hi; ++vnode) {
        if (mutant != Mutant::kReadsMapWithoutLock && mutant != Mutant::kTrustsStoredEnd) {
          Share(kCleaner, {true, vnode});
        }
        pointed = pointed && map[vnode] == kOld.lo;
      }
      Share(kCleaner, {false, kOld.lo});
      looked = 1;
      if (IsOwn() && (pointed || mutant == Mutant::kTrustsStoredEnd)) return;
      // The move is held, and `cleanup --keep` ends it.
      Release(kCleaner);
      looked = 0;
      cleaning = false;
      return;
    }
    for (uint32_t vnode = kOld.lo; vnode <= kOld.hi; ++vnode) {
      if (live.contains(vnode)) {
        violation = absl::StrCat("the rows of vnode ", vnode, " are deleted, and a later move ",
                                 mover.away ? "may go back to them" : "brought them");
      }
    }
    deleted = true;
    looked = 2;
  }
  // As the cleaner and IsUsedLater judge the row.
  bool IsOwn() const {
    std::vector<FenceRow> stored;
    for (const auto& [lo, row] : rows) stored.push_back(row);
    if (mutant != Mutant::kTrustsStoredEnd) stored = Apart(std::move(stored));
    const auto own = std::ranges::find(stored, kOld.lo, &FenceRow::lo);
    return own != stored.end() && own->hi == kOld.hi && own->own_lo >= own->own_hi &&
           tokens.contains(kOld.lo);
  }

  void Act() {
    const uint32_t who = Pick(4);
    if (who == 0) return Hold();
    if (who == 1) return Clean();
    Move();
  }

  std::mt19937_64 random;
  const Mutant mutant;
  bool calm = false;
  FencedRange later;
  std::map<uint32_t, FenceRow> rows;
  std::set<uint32_t> tokens;  // rows that have one
  std::vector<std::optional<uint32_t>> map;
  Mover mover;
  std::set<uint32_t> live;  // vnodes of which rows here are a later move's
  bool cleaning = false, deleted = false;
  int looked = 0;  // of a transaction of the cleaner: 1: it has looked, 2: it has deleted
  std::string violation;
};

struct Found {
  uint64_t seed = 0;  // that breaks a rule; 0: none
  std::string why;
  uint64_t deleted = 0, over = 0;
};
Found FirstBroken(Mutant mutant) {
  Found found;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed, mutant);
    bool over = false;
    for (int i = 0; i < 4000 && world.violation.empty() && !over; ++i) {
      world.calm = i >= 2000;
      world.Act();
      over = world.mover.stage == World::Mover::kOver;
    }
    if (!over && world.violation.empty()) world.violation = "a move never ends";
    if (!world.violation.empty()) return {seed, world.violation, found.deleted, found.over};
    found.deleted += world.deleted ? 1 : 0;
    found.over += over ? 1 : 0;
  }
  return found;
}

TEST(CleanerSimulationTest, LaterMovesOfItsVnodes_NoRowOfTheirsIsDeleted) {
  const Found found = FirstBroken(Mutant::kNone);
  EXPECT_EQ(found.seed, 0u) << "seed " << found.seed << ": " << found.why;
  EXPECT_EQ(found.over, kSeeds);
  EXPECT_GT(found.deleted, kSeeds / 2) << "the cleaner hardly ever had its turn";
}

struct MutantCase {
  Mutant mutant;
  const char* name;
};
class CleanerMutantTest : public ::testing::TestWithParam<MutantCase> {};

TEST_P(CleanerMutantTest, IsCaught) {
  const Found found = FirstBroken(GetParam().mutant);
  EXPECT_NE(found.seed, 0u);
  std::cout << "seed " << found.seed << ": " << found.why << "\n";
}

INSTANTIATE_TEST_SUITE_P(Mutants, CleanerMutantTest,
                         ::testing::Values(MutantCase{Mutant::kTrustsStoredEnd, "TrustsStoredEnd"},
                                           MutantCase{Mutant::kReadsMapWithoutLock,
                                                      "ReadsMapWithoutLock"},
                                           MutantCase{Mutant::kAsksNoRecords, "AsksNoRecords"},
                                           MutantCase{Mutant::kTokenStays, "TokenStays"}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace locus::internal
