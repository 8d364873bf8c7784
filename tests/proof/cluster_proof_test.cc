// SPDX-License-Identifier: Apache-2.0
// Clusters of real locusd, and clients that make IDs under leases of them, while nodes are killed,
// stopped, cut off, given wrong clocks and bad disks. After each run every ID is compared with
// every other one and with its lease, and the history of all calls is checked for linearizability.
//
//   cluster_proof_test --seeds=10 [--first=1]   so many seeds, from the first on
//                      [--jobs=4]               so many at once
//                      [--length=24]            seconds of faults, of each
//                      [--minutes=M]            until then, instead of --seeds
//   cluster_proof_test --seed=7 [--keep]        that seed again, with its whole story; its files
//                                               are kept if anything is wrong
//   cluster_proof_test --judge=DIRECTORY        the files that were kept, once more
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/proof/process.h"
#include "tests/proof/seeds.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

struct Settings {
  uint64_t first = 1, seeds = 3, jobs = 3, seed = 0, minutes = 0, length = 24;
  bool keep = false;
};
Settings settings;

// On the average of a run of 24 s; it depends on how long its faults leave all clients without a
// lease.
constexpr uint64_t kLeastIds = 1'700'000;

class SeedsAtOnce {
 public:
  void Start(uint64_t seed) {
    Command command;
    command.words = {std::filesystem::read_symlink("/proc/self/exe"), absl::StrCat("--seed=", seed),
                     absl::StrCat("--length=", settings.length)};
    if (settings.keep) command.words.push_back("--keep");
    command.log = LogOf(seed);
    running_[seed].Start(command);
  }
  size_t running() const { return running_.size(); }

  void Reap() {
    for (auto at = running_.begin(); at != running_.end();) {
      const auto [seed, process] = std::tie(at->first, at->second);
      const auto how = process.Ended();
      if (!how) {
        ++at;
        continue;
      }
      std::ifstream in(LogOf(seed));
      const std::string told{std::istreambuf_iterator<char>(in), {}};
      const bool summed = AddSummary(told, sum_);
      EXPECT_TRUE(*how == 0 && summed) << "seed " << seed << " ended with " << *how << "\n" << told;
      if (summed) std::cout << "seed " << seed << ": " << told.substr(told.rfind("summary ") + 8);
      at = running_.erase(at);
    }
  }
  const Verdict& sum() const { return sum_; }

 private:
  std::string LogOf(uint64_t seed) const { return directory_ / absl::StrCat(seed); }

  TemporaryDirectory directory_;
  std::map<uint64_t, Process> running_;
  Verdict sum_;
};

TEST(ClusterProofTest, EverySeed_NoIdRepeatsAndHistoriesAreLinearizable) {
  SeedsAtOnce seeds;
  const absl::Time end = absl::Now() + absl::Minutes(settings.minutes);
  uint64_t started = 0;
  while (true) {
    const bool more = settings.minutes > 0 ? absl::Now() < end : started < settings.seeds;
    if (!more && seeds.running() == 0) break;
    if (more && seeds.running() < settings.jobs) {
      seeds.Start(settings.first + started++);
    } else {
      WaitUntil([&] {
        const size_t before = seeds.running();
        seeds.Reap();
        return seeds.running() < before;
      });
    }
  }
  const Verdict& sum = seeds.sum();
  std::cout << started << " seeds: " << sum.ids << " IDs, none twice; " << sum.leases << " leases; "
            << sum.calls << " calls; " << sum.stale_reads
            << " histories spoilt by a stale read, all found; " << sum.torn << " torn writes, "
            << sum.failures << " failures of disks\n";
  EXPECT_GE(sum.stale_reads, started);
  if (started >= 10) {
    EXPECT_GE(sum.ids, started * kLeastIds * settings.length / 24);
  }
  if (started >= 30) {  // so many writes were to be torn that one was, whatever the disk's speed
    EXPECT_GT(sum.torn, 0u);
    EXPECT_GT(sum.failures, 0u);
  }
}

bool ReadNumber(std::string_view argument, std::string_view name, uint64_t& number) {
  if (!argument.starts_with(name)) return false;
  number = std::strtoull(argument.substr(name.size()).data(), nullptr, 10);
  return true;
}

int Main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--judge=")) {
      return JudgeKept(std::string(argument.substr(argument.find('=') + 1))) ? 0 : 1;
    }
    if (argument == "--keep") {
      settings.keep = true;
    } else if (ReadNumber(argument, "--seeds=", settings.seeds)) {
      settings.minutes = 0;
    } else if (!ReadNumber(argument, "--seed=", settings.seed) &&
               !ReadNumber(argument, "--first=", settings.first) &&
               !ReadNumber(argument, "--jobs=", settings.jobs) &&
               !ReadNumber(argument, "--length=", settings.length) &&
               !ReadNumber(argument, "--minutes=", settings.minutes)) {
      std::cerr << argv[0] << ": " << argument << " is no option; the file's head lists them\n";
      return 2;
    }
  }
  if (settings.seed != 0) {
    return RunSeed(settings.seed, absl::Seconds(settings.length), settings.keep) ? 0 : 1;
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace locus::proof

int main(int argc, char** argv) { return locus::proof::Main(argc, argv); }
