// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/snowflake_layout.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;
using ::testing::StartsWith;

// One a line; a line that was cut off is left out.
std::vector<int64_t> WholeLines(const std::string& out) {
  std::vector<int64_t> ids;
  for (size_t begin = 0, end; (end = out.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string line = out.substr(begin, end - begin);
    ids.push_back(std::stoll(line));
    EXPECT_EQ(absl::StrCat(ids.back()), line);
  }
  return ids;
}

std::vector<int64_t> IdsOf(const Outcome& outcome) {
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_THAT(outcome.out, EndsWith("\n"));
  return WholeLines(outcome.out);
}

TEST(SnowflakeDecodeTest, GoldenIds) {
  nlohmann::json golden = golden::Load("snowflake.json");
  for (const auto& line : golden.at("valid")) {
    Outcome outcome = RunLocus({"snowflake", "decode", "--layout", line.at("layout"), "--epoch-ms",
                                absl::StrCat(line.at("epoch_ms").get<int64_t>()), line.at("id")});
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    nlohmann::json said = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(said.size(), 4u);
    for (const auto& [name, value] : said.items()) EXPECT_EQ(value, line.at(name)) << line;
  }
  for (const auto& line : golden.at("invalid")) {
    Outcome outcome =
        RunLocus({"snowflake", "decode", "--layout", line.at("layout"), "--", line.at("id")});
    EXPECT_EQ(outcome.exit, 3) << line;
    EXPECT_EQ(outcome.out, "\n") << line;
  }
}

TEST(SnowflakeDecodeTest, KnownIds) {
  // 2026-01-02T03:04:05.678Z is 94,791,845,678 ms after the epoch.
  int64_t id = int64_t{94791845678} << 22 | 3 << 17 | 9 << 12 | 77;
  Outcome outcome = RunLocus({"snowflake", "decode", absl::StrCat(id), "0", "9223372036854775807"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.out,
            "{\"time\":\"2026-01-02T03:04:05.678Z\",\"datacenter\":3,\"worker\":9,"
            "\"sequence\":77}\n"
            "{\"time\":\"2023-01-01T00:00:00.000Z\",\"datacenter\":0,\"worker\":0,"
            "\"sequence\":0}\n"
            "{\"time\":\"2092-09-06T15:47:35.551Z\",\"datacenter\":31,\"worker\":31,"
            "\"sequence\":4095}\n");
  Outcome js53 = RunLocus({"snowflake", "decode", "--layout", "js53",
                           absl::StrCat(int64_t{94791845678} << 12 | 9 << 7 | 77)});
  EXPECT_EQ(js53.out,
            "{\"time\":\"2026-01-02T03:04:05.678Z\",\"datacenter\":0,\"worker\":9,"
            "\"sequence\":77}\n");
  // A public post, its layout and epoch.
  Outcome post =
      RunLocus({"snowflake", "decode", "--epoch-ms=1288834974657", "1541815603606036480"});
  EXPECT_EQ(post.out,
            "{\"time\":\"2022-06-28T16:07:40.105Z\",\"datacenter\":11,\"worker\":26,"
            "\"sequence\":0}\n");
}

TEST(SnowflakeDecodeTest, HighestEpoch_EndsWithTheYear9999) {
  Outcome outcome =
      RunLocus({"snowflake", "decode", "--epoch-ms", "251203277544448", "9223372036854775807"});
  EXPECT_THAT(outcome.out, HasSubstr("\"9999-12-31T23:59:59.999Z\"")) << outcome.err;
}

TEST(SnowflakeDecodeTest, BadValues_AreNamedWithTheirPlace) {
  Outcome outcome = RunLocus({"snowflake", "decode", "1", "-1", "9223372036854775808", "x", "01"});
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.out, AllOf(StartsWith("{"), EndsWith("}\n\n\n\n\n")));
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("locus snowflake decode: value 2: \"-1\""),
                    HasSubstr("value 3: \"9223372036854775808\" is not a snowflake ID of this "
                              "layout: a decimal of at most 9223372036854775807 (2^63 - 1)"),
                    HasSubstr("value 4: \"x\""), HasSubstr("value 5: \"01\"")));
  Outcome js53 = RunLocus({"snowflake", "decode", "--layout=js53"}, "1\n9007199254740992\n");
  EXPECT_EQ(js53.exit, 3);
  EXPECT_THAT(js53.err, HasSubstr("line 2: \"9007199254740992\" is not a snowflake ID of this "
                                  "layout: a decimal of at most 9007199254740991 (2^53 - 1)"));
}

TEST(SnowflakeNextTest, IdsSayWhoMadeThemAndWhen) {
  absl::Time before = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now()));
  std::vector<int64_t> ids = IdsOf(
      RunLocus({"snowflake", "next", "--worker", "7", "--datacenter", "3", "--count", "10000"}));
  absl::Time after = absl::Now();
  ASSERT_EQ(ids.size(), 10000u);
  int64_t last = 0;
  for (int64_t id : ids) {
    EXPECT_GT(id, last);
    last = id;
    SnowflakeParts parts = SnowflakeDefaultLayout::Decompose(id).value();
    EXPECT_EQ(parts.datacenter, 3u);
    EXPECT_EQ(parts.worker, 7u);
    EXPECT_GT(parts.time, before);
    EXPECT_LT(parts.time, after);
  }
}

TEST(SnowflakeNextTest, NextAndDecodeAgree) {
  struct Case {
    std::vector<std::string> next;
    std::vector<std::string> decode;
    int datacenter, worker;
  };
  const std::vector<Case> cases = {
      {{"--worker=0"}, {}, 0, 0},
      {{"--worker=31", "--datacenter=31"}, {}, 31, 31},
      {{"--worker=1023"}, {}, 31, 31},
      {{"--worker=1023", "--datacenter=0", "--layout=default"}, {}, 31, 31},
      {{"--worker=31", "--layout=js53"}, {"--layout=js53"}, 0, 31},
      {{"--worker=5", "--epoch-ms=0"}, {"--epoch-ms=0"}, 0, 5},
  };
  for (const Case& each : cases) {
    std::vector<std::string> next = {"snowflake", "next"};
    next.insert(next.end(), each.next.begin(), each.next.end());
    std::vector<int64_t> ids = IdsOf(RunLocus(next));
    ASSERT_EQ(ids.size(), 1u);
    std::vector<std::string> decode = {"snowflake", "decode"};
    decode.insert(decode.end(), each.decode.begin(), each.decode.end());
    Outcome outcome = RunLocus(decode, absl::StrCat(ids[0], "\n"));
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    nlohmann::json json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json.at("datacenter"), each.datacenter) << outcome.out;
    EXPECT_EQ(json.at("worker"), each.worker) << outcome.out;
    EXPECT_EQ(json.at("sequence"), 0) << outcome.out;
  }
}

TEST(SnowflakeNextTest, OneRunAfterAnother_RepeatsNothing) {
  std::set<int64_t> all;
  for (int run = 0; run < 30; ++run) {
    for (int64_t id : IdsOf(RunLocus({"snowflake", "next", "--worker", "2", "--count", "3"}))) {
      EXPECT_TRUE(all.insert(id).second) << id;
      EXPECT_EQ(*all.rbegin(), id) << "and rises";
    }
  }
}

TEST(SnowflakeNextTest, EndsOnceItsLastMillisecondHasPassed) {
  for (int run = 0; run < 30; ++run) {
    std::vector<int64_t> ids = IdsOf(RunLocus({"snowflake", "next", "--worker", "3"}));
    absl::Time made = SnowflakeDefaultLayout::Decompose(ids.back()).value().time;
    EXPECT_GE(absl::Now(), made + absl::Milliseconds(1));
  }
}

TEST(SnowflakeNextTest, KilledAndRunAgain_RepeatsNothing) {
  int64_t last = 0;
  for (int run = 0; run < 10; ++run) {
    RunningCommand killed({"snowflake", "next", "--worker", "4", "--count", "1000000000"});
    int64_t first = std::stoll(killed.ReadLine());
    EXPECT_GT(first, last);
    killed.Signal(SIGKILL);
    Outcome outcome = killed.Finish();
    EXPECT_EQ(outcome.signal, SIGKILL);
    std::vector<int64_t> more = WholeLines(outcome.out);
    last = more.empty() ? first : more.back();
    int64_t next = IdsOf(RunLocus({"snowflake", "next", "--worker", "4"}))[0];
    EXPECT_GT(next, last);
    last = next;
  }
}

class SnowflakeLeaseTest : public testing::CommandTest {
 protected:
  std::vector<std::string> Next(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"snowflake", "next", "--lease", store_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  nlohmann::json Workers() {
    return nlohmann::json::parse(RunLocus({"lease", "list", store_, "--json"}).out)["workers"];
  }
};

TEST_F(SnowflakeLeaseTest, Lease_IsTakenAndGivenBack) {
  const Outcome missing = RunLocus(Next());
  EXPECT_EQ(missing.exit, 1);
  EXPECT_THAT(missing.err, HasSubstr("locus lease create"));
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  std::set<int64_t> all;
  for (int run = 0; run < 3; ++run) {
    for (int64_t id : IdsOf(RunLocus(Next({"--count", "5000"})))) {
      EXPECT_TRUE(all.insert(id).second) << id;
    }
  }
  for (const auto& worker : Workers()) EXPECT_NE(worker["state"], "held") << worker;
}

TEST_F(SnowflakeLeaseTest, TwoAtOnce_HaveAWorkerEach_AndAKilledOneKeepsItsOwn) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  RunningCommand running(Next({"--count", "1000000000"}));
  const SnowflakeParts parts =
      SnowflakeDefaultLayout::Decompose(std::stoll(running.ReadLine())).value();
  EXPECT_EQ(Workers().size(), 1u);
  ASSERT_EQ(IdsOf(RunLocus(Next())).size(), 1u);
  EXPECT_EQ(Workers().size(), 2u);
  running.Signal(SIGKILL);
  running.Finish();
  for (const auto& worker : Workers()) {
    const bool is_its_own = worker["worker"] == parts.datacenter * 32 + parts.worker;
    EXPECT_EQ(worker["state"] == "held", is_its_own) << worker;
  }
}

TEST_F(SnowflakeLeaseTest, Datacenter_BoundsTheWorker) {
  ASSERT_EQ(RunLocus({"lease", "create", store_, "--first-ever"}).exit, 0);
  const int64_t id = IdsOf(RunLocus(Next({"--datacenter", "7"})))[0];
  EXPECT_EQ(SnowflakeDefaultLayout::Decompose(id)->datacenter, 7u);
  EXPECT_EQ(Workers()[0]["worker"].get<uint64_t>() / 32, 7u);
}

TEST_F(SnowflakeLeaseTest, WorkerAndLease_ExcludeEachOther) {
  EXPECT_THAT(RunLocus(Next({"--worker", "1"})).err, HasSubstr("--worker and --lease"));
  EXPECT_THAT(RunLocus({"snowflake", "next", "--worker", "1", "--ttl", "1m"}).err,
              HasSubstr("--lease"));
}

TEST(SnowflakeNextTest, ClosedPipe_EndsWithoutAWord) {
  RunningCommand command({"snowflake", "next", "--worker", "6", "--count", "1000000000"});
  command.ReadLine();
  command.CloseStdout();
  Outcome outcome = command.Finish();
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST(SnowflakeNextTest, FullDevice_Fails) {
  Outcome outcome = RunningCommand({"snowflake", "next", "--worker", "6"}, "/dev/full").Finish();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

TEST(SnowflakeNextTest, EpochToCome_Fails) {
  std::string later = absl::StrCat(absl::ToUnixMillis(absl::Now() + absl::Hours(24)));
  Outcome outcome = RunLocus({"snowflake", "next", "--worker", "6", "--epoch-ms", later});
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, AllOf(StartsWith("locus snowflake next: "), HasSubstr("the epoch")));
}

TEST(SnowflakeUsageTest, BadValues_NameOptionValueAndLimit) {
  struct Case {
    std::vector<std::string> words;
    std::vector<std::string> named;
  };
  const std::vector<Case> cases = {
      {{"next"}, {"--worker"}},
      {{"next", "--worker", "1024"}, {"--worker", "\"1024\"", "0..1023"}},
      {{"next", "--worker", "-1"}, {"--worker", "\"-1\"", "0..1023"}},
      {{"next", "--worker", "32", "--datacenter", "1"}, {"--worker", "\"32\"", "0..31"}},
      {{"next", "--worker", "32", "--layout", "js53"}, {"--worker", "\"32\"", "0..31"}},
      {{"next", "--worker", "1", "--datacenter", "32"}, {"--datacenter", "\"32\"", "0..31"}},
      {{"next", "--worker", "1", "--datacenter", "1", "--layout", "js53"},
       {"--datacenter", "\"1\"", "0..0", "js53 has no datacenter"}},
      {{"next", "--worker", "1", "--layout", "js64"}, {"--layout", "\"js64\""}},
      {{"next", "--worker", "1", "--epoch-ms", "1.5"}, {"--epoch-ms", "\"1.5\""}},
      {{"next", "--worker", "1", "--epoch-ms", "251203277544449"},
       {"--epoch-ms", "\"251203277544449\"", "0..251203277544448"}},
      {{"next", "--worker", "1", "--count", "0"}, {"--count", "\"0\"", "1..1000000000"}},
      {{"next", "--worker", "1", "--count", "1000000001"}, {"--count", "\"1000000001\""}},
      {{"next", "--worker", "1", "5"}, {"\"5\""}},
      {{"decode", "--worker", "1", "5"}, {"\"--worker\""}},
      {{"decode", "--layout", "", "5"}, {"--layout", "\"\""}},
      {{"decode", "--epoch-ms", "-5", "5"}, {"--epoch-ms", "\"-5\""}},
      {{"encode"}, {"\"snowflake encode\""}},
  };
  for (const Case& each : cases) {
    std::vector<std::string> words = {"snowflake"};
    words.insert(words.end(), each.words.begin(), each.words.end());
    Outcome outcome = RunLocus(words);
    EXPECT_EQ(outcome.exit, 2) << outcome.err;
    EXPECT_EQ(outcome.out, "");
    for (const std::string& named : each.named) EXPECT_THAT(outcome.err, HasSubstr(named));
  }
}

TEST(SnowflakeUsageTest, HelpSaysWhoMustNotUseTheWorker) {
  EXPECT_THAT(RunLocus({"snowflake", "next", "--help"}).out,
              HasSubstr("no\nother process uses it at the same time"));
}

}  // namespace
}  // namespace locus
