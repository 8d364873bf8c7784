// SPDX-License-Identifier: Apache-2.0
// Who published the tables of a place, and why.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/table_place_fixture.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;

using TableHistoryTest = testing::TablePlaceTest;

TEST_F(TableHistoryTest, History_IsNewestFirstWithTimes) {
  EXPECT_EQ(RunLocus({"table", "history", uri_}).out, "");
  for (uint64_t epoch : {1, 2, 9}) Publish(Document(epoch));
  auto line = [](int epoch) {
    return absl::StrCat(epoch, "\t[-0-9]+T[:0-9]+Z\t[^\t]+@[^\t]*\t\n");
  };
  EXPECT_THAT(RunLocus({"table", "history", uri_}).out, MatchesRegex(line(9) + line(2) + line(1)));
  EXPECT_THAT(RunLocus({"table", "history", uri_, "--most", "1"}).out, MatchesRegex(line(9)));
  EXPECT_EQ(RunLocus({"table", "history", uri_, "--most", "0"}).exit, 2);
}

TEST_F(TableHistoryTest, AuthorAndReason_AreInTheHistory) {
  Publish(Document(1), {"--reason", "the first shard"});
  Publish(Weighted(2, 7));
  ASSERT_EQ(RunLocus({"table", "restore", uri_, "1"}).exit, 0);
  ASSERT_EQ(RunLocus({"table", "restore", uri_, "2", "--reason", "it was not the weight"}).exit, 0);
  const json tables = json::parse(RunLocus({"table", "history", uri_, "--json"}).out)["tables"];
  ASSERT_EQ(tables.size(), 4u);
  for (const json& table : tables) EXPECT_THAT(table["author"], HasSubstr("@")) << table;
  EXPECT_EQ(tables[0]["reason"], "it was not the weight");
  EXPECT_EQ(tables[1]["reason"], "restore epoch 1");
  EXPECT_FALSE(tables[2].contains("reason"));
  EXPECT_EQ(tables[3]["reason"], "the first shard");
  EXPECT_THAT(RunLocus({"table", "history", uri_, "--most", "1"}).out,
              MatchesRegex("4\t[^\t]+\t[^\t]+@[^\t]*\tit was not the weight\n"));
  for (const char* bad : {"a\nb",
                          "\xE2\x80\xAE"
                          "b",
                          "\xFF"}) {
    const Outcome outcome = RunLocus({"table", "publish", uri_, "--reason", bad}, Document(5));
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--reason: "));
    EXPECT_EQ(RunLocus({"table", "restore", uri_, "1", "--reason", bad}).exit, 2);
  }
}

TEST_F(TableHistoryTest, ReasonWithAPassword_IsRefusedAndNotRepeated) {
  const Outcome outcome = RunLocus(
      {"table", "publish", uri_, "--reason", "moved from mysql://root:s3cret/4@db1/orders today"},
      Document(1));
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--reason: "));
  EXPECT_THAT(outcome.err, HasSubstr("password"));
  EXPECT_THAT(outcome.err, Not(HasSubstr("s3cret")));
  Publish(Document(1), {"--reason", "ask olga@example.org, see https://tickets/4711: done"});
  EXPECT_THAT(RunLocus({"table", "history", uri_}).out, HasSubstr("https://tickets/4711"));
}

TEST_F(TableHistoryTest, ReasonOfATableThatIsTheNewest_IsSaidToBeDropped) {
  Publish(Document(1), {"--reason", "the first shard"});
  EXPECT_EQ(Publish(Document(1)), NothingToPublish(1));
  EXPECT_THAT(Publish(Document(1), {"--reason", "another"}),
              HasSubstr("epoch=1; --reason is not kept"));
  EXPECT_THAT(RunLocus({"table", "history", uri_}).out, HasSubstr("the first shard"));
}

}  // namespace
}  // namespace locus
