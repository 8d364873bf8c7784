// SPDX-License-Identifier: Apache-2.0
// Many runs of small clusters, each from its own seed; and each flaw that others have shipped is
// noticed. raft_simulation_test --seed=N runs one, --runs=N so many; scripts/soak runs millions.
#include <atomic>
#include <cstdio>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "src/raft/core/flaw.h"
#include "tests/raft/core/cluster.h"

namespace locus::raft {
namespace {

uint64_t runs = 250'000;
uint64_t only_seed = 0;

Cluster::Options OptionsOf(uint64_t seed) {
  Cluster::Options options;
  options.nodes = seed % 4 == 0 ? 5 : seed % 4 == 1 ? 4 : 3;
  options.changes = seed % 3;
  options.unrest = seed % 7 == 0 ? 20 : 0;
  return options;
}

// The first seed below `most` that fails with the flaw; 0: none.
uint64_t SeedThatShows(Flaw one, ShellFlaw shell, uint64_t most, uint64_t changes,
                       std::string& what) {
  flaw = one;
  uint64_t seed = 1;
  for (; seed <= most; ++seed) {
    Cluster::Options options = OptionsOf(seed);
    options.shell_flaw = shell;
    options.events = 400;
    if (changes > 0) options.changes = changes;
    options.unrest = seed % 2 == 0 ? 25 : 0;
    what = Cluster(seed, options).Run();
    if (what.empty()) continue;
    flaw = Flaw::kNone;
    options.shell_flaw = ShellFlaw::kNone;
    EXPECT_EQ(Cluster(seed, options).Run(), "") << "without the flaw";
    return seed;
  }
  flaw = Flaw::kNone;
  return 0;
}

TEST(RaftSimulationTest, Disturbed_KeepsItsInvariantsAndRecovers) {
  if (only_seed != 0) {
    EXPECT_EQ(Cluster(only_seed, OptionsOf(only_seed)).Run(), "");
    return;
  }
  std::atomic<uint64_t> next = 1, elections = 0, applied = 0, reads = 0, crashes = 0, snapshots = 0,
                        changes = 0, failed = 0;
  auto work = [&] {
    for (uint64_t seed = next++; seed <= runs && failed == 0; seed = next++) {
      Cluster cluster(seed, OptionsOf(seed));
      const std::string what = cluster.Run();
      if (!what.empty() && failed.exchange(seed) == 0) {
        ADD_FAILURE() << what << "; repeat it by --seed=" << seed;
      }
      elections += cluster.counts().elections;
      applied += cluster.counts().applied;
      reads += cluster.counts().reads;
      crashes += cluster.counts().crashes;
      snapshots += cluster.counts().snapshots;
      changes += cluster.counts().changes;
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf(
      "%llu runs: %llu elections, %llu entries applied, %llu reads, %llu crashes, %llu "
      "snapshots, %llu changes of members\n",
      static_cast<unsigned long long>(runs), static_cast<unsigned long long>(elections.load()),
      static_cast<unsigned long long>(applied.load()),
      static_cast<unsigned long long>(reads.load()),
      static_cast<unsigned long long>(crashes.load()),
      static_cast<unsigned long long>(snapshots.load()),
      static_cast<unsigned long long>(changes.load()));
  EXPECT_GT(elections, runs / 2);
  EXPECT_GT(reads, runs / 4);
  EXPECT_GT(snapshots, runs / 100);
  EXPECT_GT(changes, runs / 100);
}

// Two more need a history of their own: core_test, MembersChangedBeforeAnOwnEntry and
// TermAndVoteWrittenApart.
TEST(RaftSimulationTest, FlawsThatOthersShipped_AreNoticed) {
  struct Case {
    Flaw flaw;
    ShellFlaw shell;
    const char* name;
    uint64_t changes = 0;
  };
  for (const Case& one : std::initializer_list<Case>{
           {Flaw::kVoteClearedAtStepDown, ShellFlaw::kNone, "vote cleared at a step-down"},
           {Flaw::kEarlierTermsCountedByIndex, ShellFlaw::kNone, "earlier terms counted"},
           {Flaw::kQuorumOfOldMembers, ShellFlaw::kNone, "quorum of the old members", 5},
           {Flaw::kMembersKeptAtTruncation, ShellFlaw::kNone, "members kept at truncation", 5},
           {Flaw::kOldSnapshotInstalled, ShellFlaw::kNone, "old snapshot installed"},
           {Flaw::kSnapshotDropsTheLog, ShellFlaw::kNone, "snapshot drops the log"},
           {Flaw::kReadsWithoutMajority, ShellFlaw::kNone, "reads without a majority"},
           {Flaw::kPreVoteCounted, ShellFlaw::kNone, "pre-vote counted"},
           {Flaw::kTwoChangesOfMembers, ShellFlaw::kNone, "two changes of members", 5},
           {Flaw::kVoteForShorterLog, ShellFlaw::kNone, "vote for a shorter log"},
           {Flaw::kOwnEntriesCountedEarly, ShellFlaw::kNone, "own entries counted early"},
           {Flaw::kNone, ShellFlaw::kRepliesBeforeFsync, "replies before fsync"}}) {
    std::string what;
    const uint64_t seed = SeedThatShows(one.flaw, one.shell, 300'000, one.changes, what);
    EXPECT_NE(seed, 0u) << one.name;
    std::printf("%-30s seed %6llu: %s\n", one.name, static_cast<unsigned long long>(seed),
                what.substr(0, what.find('\n')).c_str());
  }
}

}  // namespace
}  // namespace locus::raft

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    const bool known =
        (absl::ConsumePrefix(&word, "--seed=") &&
         absl::SimpleAtoi(word, &locus::raft::only_seed)) ||
        (absl::ConsumePrefix(&word, "--runs=") && absl::SimpleAtoi(word, &locus::raft::runs));
    if (!known) return 2;
  }
  return RUN_ALL_TESTS();
}
