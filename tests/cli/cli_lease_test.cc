// SPDX-License-Identifier: Apache-2.0
// locus lease.
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"

namespace locus {
namespace {

using nlohmann::json;
using testing::CommandTest;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;

class LeaseTest : public CommandTest {
 protected:
  static json Parsed(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return json::parse(outcome.out, nullptr, false);
  }
  json List() { return Parsed(RunLocus({"lease", "list", store_, "--json"})); }
};

TEST_F(LeaseTest, NothingCreated_EachVerbSaysHow) {
  for (const char* verb : {"list", "acquire"}) {
    const Outcome outcome = RunLocus({"lease", verb, store_});
    EXPECT_EQ(outcome.exit, 1);
    EXPECT_THAT(outcome.err, HasSubstr("`locus lease create " + store_ + "` creates it"));
  }
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const Outcome other = RunLocus({"lease", "list", store_, "--space", "other"});
  EXPECT_EQ(other.exit, 1);
  EXPECT_THAT(other.err, HasSubstr("there is no space other of worker IDs"));
}

TEST_F(LeaseTest, AcquireListRelease_TellOfOneLease) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const json grant = Parsed(RunLocus({"lease", "acquire", store_, "--range", "5-6", "--prefer", "6",
                                      "--ttl", "1h", "--holder", R"({"pod":"a"})"}));
  EXPECT_EQ(grant["worker"], 6);
  EXPECT_TRUE(grant["floor"].is_null());
  json listed = List();
  ASSERT_EQ(listed["workers"].size(), 1u);
  EXPECT_EQ(listed["workers"][0]["state"], "held");
  EXPECT_EQ(listed["workers"][0]["token"], grant["token"]);
  EXPECT_EQ(listed["workers"][0]["ceiling"], grant["ceiling"]);
  EXPECT_EQ(listed["workers"][0]["holder"]["pod"], "a");
  const std::string token = grant["token"].get<std::string>();
  EXPECT_EQ(RunLocus({"lease", "release", store_, "--worker", "6", "--token", "7"}).exit, 1);
  EXPECT_EQ(RunLocus({"lease", "release", store_, "--worker", "6", "--token", token}).exit, 0);
  EXPECT_EQ(List()["workers"][0]["state"], "resting");
  const Outcome text = RunLocus({"lease", "list", store_});
  EXPECT_THAT(text.out, HasSubstr("resting"));
  EXPECT_THAT(text.out, HasSubstr(token));
}

TEST_F(LeaseTest, ReleaseOfAWorkerThatNobodyHolds_SaysSo) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const json grant = Parsed(RunLocus({"lease", "acquire", store_, "--range", "5-5"}));
  const std::string token = grant["token"].get<std::string>();
  const auto release = [&](const std::string& worker, const std::string& its) {
    const Outcome outcome =
        RunLocus({"lease", "release", store_, "--worker", worker, "--token", its});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(release("6", token), HasSubstr("nothing was released: worker 6 of space orders"));
  EXPECT_THAT(release("5", token + "0"), HasSubstr("nothing was released"));
  EXPECT_EQ(release("5", token), "");
  EXPECT_THAT(release("5", token), HasSubstr("nothing was released: worker 5"));
}

TEST_F(LeaseTest, Delete_OfAnotherEngineOrWithoutASpace_IsRefused) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const Outcome other = RunLocus({"lease", "delete", store_, "--space", "orders"});
  EXPECT_EQ(other.exit, 1);
  EXPECT_THAT(other.err, HasSubstr("only locusd deletes spaces"));
  const Outcome unnamed = RunLocus({"lease", "delete", store_});
  EXPECT_EQ(unnamed.exit, 2);
  EXPECT_THAT(unnamed.err, HasSubstr("--space"));
  EXPECT_EQ(RunLocus({"lease", "list", store_}).exit, 0);
}

TEST_F(LeaseTest, Release_WithTheLastTimeUsed_FreesTheIdAtOnce) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const json first = Parsed(RunLocus({"lease", "acquire", store_, "--range", "1-1"}));
  const std::string token = first["token"].get<std::string>();
  EXPECT_EQ(RunLocus({"lease", "acquire", store_, "--range", "1-1"}).exit, 1);
  ASSERT_EQ(RunLocus({"lease", "release", store_, "--worker", "1", "--token", token, "--last-used",
                      "2020-01-01T00:00:00Z"})
                .exit,
            0);
  const json second = Parsed(RunLocus({"lease", "acquire", store_, "--range", "1-1"}));
  EXPECT_NE(second["token"], first["token"]);
  EXPECT_EQ(second["floor"], "2020-01-01T00:00:00.000Z");
}

TEST_F(LeaseTest, AllTaken_SaysHowManyAndWhenTheNextIsFree) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  ASSERT_EQ(RunLocus({"lease", "acquire", store_, "--range", "3-3"}).exit, 0);
  const Outcome outcome = RunLocus({"lease", "acquire", store_, "--range", "3-3"});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("all 1 worker IDs of 3..3 are taken, 1 of them held"));
}

TEST_F(LeaseTest, LostStoreCreatedAgain_GrantsTheHeldIdToNobody) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  ASSERT_EQ(RunLocus({"lease", "acquire", store_, "--range", "3-3"}).exit, 0);
  const std::string path = store_.substr(std::string_view("sqlite:").size());
  for (const char* file : {"", "-wal", "-shm", "-workers-locus"}) {
    std::filesystem::remove(path + file);
  }
  const Outcome created = RunLocus({"lease", "create", store_});
  EXPECT_EQ(created.exit, 0) << created.err;
  EXPECT_THAT(created.out, HasSubstr("space orders rests until 2"));
  const Outcome refused = RunLocus({"lease", "acquire", store_, "--range", "3-3"});
  EXPECT_EQ(refused.exit, 1);
  EXPECT_THAT(refused.err, HasSubstr("no worker ID is granted before 2"));
  EXPECT_EQ(RunLocus({"lease", "create", store_, "--first-ever", "--ttl", "1h"}).exit, 2);
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  EXPECT_EQ(RunLocus({"lease", "acquire", store_, "--range", "3-3"}).exit, 0)
      << "the caller's word";
}

TEST_F(LeaseTest, CreateLost_GrantsNothingForTheLongestTtl) {
  const Outcome guess = RunLocus({"lease", "create", store_, "--lost"});
  EXPECT_EQ(guess.exit, 2);
  EXPECT_THAT(guess.err, HasSubstr("--lost needs --ttl, the longest ttl of any holder"));
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--lost", "--ttl", "2h"}).exit, 0);
  const Outcome outcome = RunLocus({"lease", "acquire", store_});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("its store lost leases"));
  EXPECT_THAT(RunLocus({"lease", "list", store_}).out, HasSubstr("rests_until 2"));
}

TEST_F(LeaseTest, WrongUsage_NamesTheOption) {
  EXPECT_THAT(RunLocus({"lease", "acquire", store_, "--range", "9-5"}).err, HasSubstr("--range"));
  EXPECT_THAT(RunLocus({"lease", "acquire", store_, "--prefer", "2000"}).err,
              HasSubstr("--prefer"));
  EXPECT_THAT(RunLocus({"lease", "acquire", store_, "--ttl", "9s"}).err, HasSubstr("--ttl"));
  EXPECT_THAT(RunLocus({"lease", "release", store_, "--worker", "1"}).err, HasSubstr("--token"));
  EXPECT_THAT(RunLocus({"lease", "release", store_, "--worker", "1", "--token", "1", "--last-used",
                        "yesterday"})
                  .err,
              HasSubstr("--last-used"));
}

}  // namespace
}  // namespace locus
