// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/strict/verdict.h"

#include <filesystem>

#include "apps/proof/strict/call_log.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::strict_proof {
namespace {

using strict::Drawn;

TEST(CallLogTest, NumbersAfterOneAnother_AreOneRun) {
  const std::vector<uint64_t> uids = {3, 3, 3, 3, 4, 5, 5};
  std::vector<Drawn> runs;
  ASSERT_TRUE(RunsOf(uids, std::vector<uint64_t>{7, 8, 10, 11, 12, 1, 2}, 100, 200, runs));
  ASSERT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs[0].number, 7u);
  EXPECT_EQ(runs[0].last(), 8u);
  EXPECT_EQ(runs[1].number, 10u);
  EXPECT_EQ(runs[1].count, 2u);
  EXPECT_EQ(runs[2].uid, 4u);
  EXPECT_EQ(runs[3].count, 2u);
  EXPECT_EQ(runs[3].answered, 200);
  for (const uint64_t last : {8u, 7u}) {
    EXPECT_FALSE(
        RunsOf(std::vector<uint64_t>{3, 3, 3}, std::vector<uint64_t>{7, 8, last}, 1, 2, runs))
        << last;
  }
}

TEST(CallLogTest, FileOfAKilledCaller_IsReadUpToTheCut) {
  const TemporaryDirectory directory;
  const std::string file = directory / "log";
  const std::vector<Drawn> answer = {{1, 10, 0, 5, 3}, {2, 7, 0, 5, 1}};
  {
    CallLog log(file);
    log.Add(answer);
  }
  CallLog(file).Add(answer);
  std::filesystem::resize_file(file, 4 * sizeof(Drawn) - 1);
  std::vector<Drawn> history;
  ASSERT_TRUE(ReadCalls(file, history).ok());
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[1].number, 7u);
  EXPECT_EQ(history[2].count, 3u);
  EXPECT_TRUE(absl::IsUnavailable(ReadCalls(directory / "none", history)));
}

TEST(VerdictTest, GoodHistory_IsCountedAndASpoiltOneIsFound) {
  std::vector<Drawn> history;
  for (int64_t i = 0; i < 10; ++i) {
    const auto number = static_cast<uint64_t>(i * 10 + 1);
    history.push_back({7, number, i * 10, i * 10 + 5, 10});
    history.push_back({8, number, 0, 1000, 10});  // all at once
  }
  Verdict verdict = Judge(history);
  EXPECT_TRUE(verdict.ok()) << Told(verdict);
  EXPECT_EQ(verdict.numbers, 200u);
  EXPECT_EQ(verdict.uids, 2u);
  EXPECT_EQ(verdict.ordered, 9u);
  for (uint64_t choice : {0u, 5u, 15u}) {
    std::vector<Drawn> spoilt = history;
    ASSERT_TRUE(Spoil(spoilt, choice));
    EXPECT_NE(Judge(spoilt).flaws.order, "") << choice;
  }
  std::erase_if(history, [](const Drawn& drawn) { return drawn.uid == 7; });
  EXPECT_FALSE(Spoil(history, 3)) << "no call began after another one";
}

}  // namespace
}  // namespace locus::strict_proof
