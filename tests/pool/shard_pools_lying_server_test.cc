// SPDX-License-Identifier: Apache-2.0
// Shards that are no MariaDB, or a broken one: no answer to a session of ShardPools makes a caller
// throw, abort or wait past its deadline, or takes much memory.
#include <mysql.h>

#include <atomic>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/shard_pools.h"
#include "tests/engine/mysql/lying_mysql.h"
#include "tests/support/lying_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Shard ShardOn(const LyingServer& server) {
  Shard shard;
  shard.id = 1;
  shard.name = "a";
  shard.endpoint = absl::StrCat("mysql://127.0.0.1:", server.port(), "/db");
  return shard;
}

std::unique_ptr<ShardPools> MakePools(absl::Duration ping_after = absl::Seconds(5)) {
  ShardPoolsOptions options;
  options.user = "u";
  options.connect_timeout = options.timeout = absl::Seconds(1);
  options.ping_after = ping_after;
  return ShardPools::Create(options).value();
}

absl::StatusOr<ShardConnection> Take(ShardPools& pools, const LyingServer& server,
                                     std::chrono::milliseconds within) {
  return pools.Take(ShardOn(server), std::chrono::steady_clock::now() + within);
}

constexpr auto kLong = std::chrono::seconds(60);

// The session's first statement, and what is set again after each reset.
std::string Honest(const std::string& statements) {
  if (!absl::StrContains(statements, "CURRENT_ROLE")) {
    return MysqlAnswer(HonestResults(statements));
  }
  FakeResult facts;
  facts.columns = 3;
  facts.rows = {{"6462", "0", std::nullopt}};
  return MysqlAnswer({facts});
}

MysqlLie Except(const std::string& words, const std::string& lie) {
  return [=](const std::string& statements) {
    return absl::StrContains(statements, words) ? lie : Honest(statements);
  };
}

TEST(ShardPoolsLyingServerTest, HonestShard_ServesTakers) {
  LyingServer server([](LyingPeer& peer) { ServeMysql(peer, Honest); });
  auto pools = MakePools(absl::ZeroDuration());
  for (int i = 0; i < 3; ++i) {
    auto connection = Take(*pools, server, kLong);
    ASSERT_TRUE(connection.ok()) << connection.status();
  }
  EXPECT_EQ(pools->Stats()[0].connects, 1u) << "it is pinged, reset and kept";
}

TEST(ShardPoolsLyingServerTest, FactsOfAnotherShape_AreRefused) {
  FakeResult short_row, no_row, two_rows, null, quote, nothing;
  short_row.columns = 2;
  short_row.rows = {{"6462", "0"}};
  no_row.columns = 3;
  two_rows.columns = 3;
  two_rows.rows = {{"6462", "0", "r"}, {"6462", "0", "r"}};
  null.columns = 3;
  null.rows = {{std::nullopt, "0", "r"}};
  quote.columns = 3;
  quote.rows = {{"' OR 1", "0", "r"}};
  for (const std::vector<FakeResult>& lie : std::vector<std::vector<FakeResult>>{
           {short_row}, {no_row}, {two_rows}, {null}, {quote}, {nothing}, {short_row, short_row}}) {
    LyingServer server(
        [&](LyingPeer& peer) { ServeMysql(peer, Except("CURRENT_ROLE", MysqlAnswer(lie))); });
    auto pools = MakePools();
    absl::Status status = Take(*pools, server, kLong).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
}

TEST(ShardPoolsLyingServerTest, DrippingShard_IsGivenUp) {
  for (const char* words : {"CURRENT_ROLE", "SET SESSION"}) {
    LyingServer server([&](LyingPeer& peer) {
      ServeMysql(peer, [&](const std::string& statements) {
        if (!absl::StrContains(statements, words)) return Honest(statements);
        FakeResult large;
        large.columns = 3;
        large.rows = {{std::string(5000, '1'), "0", "r"}};
        peer.Drip(MysqlAnswer({large}), 100);
        return std::string();
      });
    });
    auto pools = MakePools();
    absl::Time start = absl::Now();
    absl::Status status = Take(*pools, server, kLong).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("did not end within"));
    EXPECT_LT(absl::Now() - start, absl::Seconds(40)) << "the answer takes eight minutes";
  }
}

TEST(ShardPoolsLyingServerTest, FloodingShard_TakesLittleMemory) {
  const size_t before = PeakMemoryMiB();
  LyingServer server([](LyingPeer& peer) {
    ServeMysql(peer, [&](const std::string& statements) {
      if (!absl::StrContains(statements, "CURRENT_ROLE")) return Honest(statements);
      FakeResult rows;
      rows.columns = 3;
      rows.rows.assign(200'000, {std::string(100, 'x'), "0", "r"});
      return MysqlAnswer({rows});
    });
  });
  const size_t with_lies = PeakMemoryMiB();
  auto pools = MakePools();
  EXPECT_FALSE(Take(*pools, server, kLong).ok());
  EXPECT_LT(PeakMemoryMiB() - std::max(before, with_lies), 256u) << "mostly the liar's own";
}

TEST(ShardPoolsLyingServerTest, TextOfAShard_IsEscapedInMessages) {
  LyingServer server([](LyingPeer& peer) {
    ServeMysql(peer, Except("CURRENT_ROLE", MysqlError(1045, "28000", "no \x1B[31mentry")));
  });
  auto pools = MakePools();
  absl::Status status = Take(*pools, server, kLong).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b[31m"));
}

// One connection hangs, as behind a router that lost it, and the shard answers on another one
// afterwards.
TEST(ShardPoolsLyingServerTest, OldConnectionHangs_ConnectionsThatAnswerContinue) {
  std::atomic<int> peers = 0;
  LyingServer server([&](LyingPeer& peer) {
    int set_ups = ++peers == 1 ? 0 : 2;
    ServeMysql(peer, [&](const std::string& statements) {
      if (absl::StrContains(statements, "SET SESSION") && ++set_ups == 2) peer.Hang();
      return Honest(statements);
    });
  });
  auto pools = MakePools();
  std::vector<ShardConnection> both;
  for (int i = 0; i < 2; ++i) {
    auto connection = Take(*pools, server, kLong);
    ASSERT_TRUE(connection.ok()) << connection.status();
    both.push_back(*std::move(connection));
  }
  both.erase(both.begin());  // the reset is never answered
  both.clear();
  auto lives = Take(*pools, server, kLong);
  ASSERT_TRUE(lives.ok()) << lives.status();
  auto next = Take(*pools, server, kLong);
  EXPECT_TRUE(next.ok()) << next.status();
  ShardPoolStats stats = pools->Stats()[0];
  EXPECT_EQ(stats.failures, 1u);
  EXPECT_EQ(stats.refusals, 0u);
  EXPECT_EQ(stats.open, 2u);
}

TEST(ShardPoolsLyingServerTest, RandomAnswers_DoNoHarm) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      RandomLies lies(seed);
      uint32_t asked = seed;
      ServeMysql(peer, [&](const std::string& statements) {
        if (++asked % 3 != 0) return Honest(statements);
        std::string said = lies.Answer(statements);
        if (!lies.cut_off()) return said;
        peer.Send(said);
        return std::string();
      });
    });
    auto pools = MakePools(absl::ZeroDuration());
    for (int i = 0; i < 4; ++i) {
      auto connection = Take(*pools, server, std::chrono::milliseconds(500));
      if (connection.ok()) mysql_query(connection->handle(), "DO 1");
    }
  }
}

}  // namespace
}  // namespace locus
