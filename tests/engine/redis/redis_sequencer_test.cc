// SPDX-License-Identifier: Apache-2.0
// The sequencer on one private server: the contract, then what is Redis's own.
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "src/counter/sequencer_rules.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

RedisServer& SharedServer() {
  static auto* server = new RedisServer();
  static bool stops = std::atexit([] { delete server; }) == 0;
  EXPECT_TRUE(stops);
  return *server;
}

std::unique_ptr<RedisSequencer> Open(const RedisOptions& server,
                                     const SequencerOptions& options = {}) {
  auto sequencer = RedisSequencer::Open(server, options);
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return sequencer.ok() ? *std::move(sequencer) : nullptr;
}

class RedisUnderTest : public SequencerUnderTest {
 public:
  RedisUnderTest() { EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK"); }
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return Open(SharedServer().options(), options);
  }
};

INSTANTIATE_TEST_SUITE_P(Redis, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "redis", [] { return std::make_unique<RedisUnderTest>(); }}));

class RedisSequencerTest : public ::testing::Test {
 protected:
  RedisSequencerTest() { EXPECT_EQ(server_.Ask("FLUSHALL"), "OK"); }
  RedisServer& server_ = SharedServer();
};

TEST_F(RedisSequencerTest, KeyInRedis_HasTheDocumentedNameAndFields) {
  auto sequencer = Open(server_.options());
  ASSERT_TRUE(sequencer->NextBatch("a", 7).ok());
  EXPECT_EQ(server_.Ask("HGET locus:sequence:a value"), "7");
  EXPECT_EQ(server_.Ask("DBSIZE"), "1");
}

TEST_F(RedisSequencerTest, DatabaseOfOptions_IsUsed) {
  RedisOptions options = server_.options();
  options.database = 3;
  ASSERT_TRUE(Open(options)->Next("a").ok());
  EXPECT_TRUE(absl::IsNotFound(Open(server_.options())->Get("a").status()));
}

TEST_F(RedisSequencerTest, DatabaseThatTheServerLacks_IsNamed) {
  RedisOptions options = server_.options();
  options.database = 99;
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("database 99"), std::string::npos) << status;
}

TEST_F(RedisSequencerTest, NextEach_AnswersInOneRoundTripAndOneByOne) {
  SequencerOptions limited;
  limited.max_value = 2;
  auto sequencer = Open(server_.options(), limited);
  ASSERT_TRUE(sequencer->Set("full", 2).ok());
  uint64_t calls = sequencer->Stats().calls;
  std::string long_key(513, 'k');
  std::vector<std::string_view> keys = {"a", "full", "b", "", long_key, "a"};
  auto numbers = sequencer->NextEach(keys);
  ASSERT_EQ(numbers.size(), 6u);
  EXPECT_TRUE(absl::IsOutOfRange(numbers[1].status())) << numbers[1].status();
  EXPECT_EQ(numbers[2].value(), 1);
  EXPECT_TRUE(absl::IsInvalidArgument(numbers[3].status()));
  EXPECT_TRUE(absl::IsInvalidArgument(numbers[4].status()));
  EXPECT_EQ(numbers[0].value() + numbers[5].value(), 3) << "1 and 2, in either order";
  EXPECT_TRUE(sequencer->NextEach({}).empty());
  EXPECT_LE(sequencer->Stats().calls - calls, 8u) << "four, and as many again for new scripts";
}

TEST_F(RedisSequencerTest, ForgottenScripts_AreLoadedAgain) {
  auto sequencer = Open(server_.options());
  ASSERT_TRUE(sequencer->Next("a").ok());
  ASSERT_EQ(server_.Ask("SCRIPT FLUSH"), "OK");
  uint64_t reloads = sequencer->Stats().reloads;
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  EXPECT_EQ(sequencer->Stats().reloads, reloads + 1);
  EXPECT_EQ(sequencer->Next("a").value(), 3);
  EXPECT_EQ(sequencer->Stats().reloads, reloads + 1);
}

TEST_F(RedisSequencerTest, ThreadsShareOneConnection_EachNumberOnce) {
  auto sequencer = Open(server_.options());
  constexpr int kThreads = 8, kCalls = 300;
  std::vector<std::vector<int64_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        auto number = sequencer->Next("shared");
        if (number.ok()) got[t].push_back(*number);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> all;
  for (const auto& numbers : got) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    all.insert(numbers.begin(), numbers.end());
  }
  EXPECT_EQ(all.size(), size_t{kThreads * kCalls});
  EXPECT_EQ(sequencer->Stats().connects, 1u);
}

// Around each place where the arithmetic of doubles, of halves and of 64 bits ends.
TEST_F(RedisSequencerTest, EdgesOfTheArithmetic_AreAsTheRulesSay) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> edges;
  for (int64_t middle : {int64_t{1'000'000'000}, int64_t{1} << 53, int64_t{1} << 62,
                         int64_t{1'000'000'000'000'000'000}, kHighest - 2}) {
    for (int64_t d = -2; d <= 2; ++d) edges.push_back(middle + d);
  }
  std::mt19937_64 random(7);
  for (auto at_max : {SequencerOptions::AtMax::kError, SequencerOptions::AtMax::kWrap}) {
    for (int64_t max_value : edges) {
      SequencerOptions options;
      options.max_value = max_value;
      options.at_max = at_max;
      auto sequencer = Open(server_.options(), options);
      for (int i = 0; i < 12; ++i) {
        int64_t current = edges[random() % edges.size()];
        int64_t span = 1 + static_cast<int64_t>(random() % 4);
        if (random() % 3 == 0) span = std::min(max_value, edges[random() % edges.size()]);
        if (current > max_value) current = max_value - static_cast<int64_t>(random() % 4);
        ASSERT_TRUE(sequencer->Set("k", current).ok());
        auto expected = sequencer_rules::Advance(current, span, options, "k");
        auto batch = sequencer->NextBatch("k", span);
        ASSERT_EQ(batch.status().code(), expected.status().code())
            << current << " + " << span << " of " << max_value << ": " << batch.status();
        int64_t now = expected.value_or(current);
        EXPECT_EQ(batch.ok() ? batch->last() : current, now);
        EXPECT_EQ(sequencer->Get("k").value(), now);
      }
    }
  }
}

TEST_F(RedisSequencerTest, KeyOfAnotherKind_IsDataLossAndLeftAlone) {
  auto sequencer = Open(server_.options());
  server_.Ask("SET locus:sequence:text 5");
  server_.Ask("HSET locus:sequence:other field 5");
  server_.Ask("HSET locus:sequence:minus value -5 version 1");
  server_.Ask("HSET locus:sequence:huge value 9223372036854775808 version 1");
  server_.Ask("HSET locus:sequence:zeros value 05 version 1");
  server_.Ask("HSET locus:sequence:half value 5");
  for (const char* key : {"text", "other", "minus", "huge", "zeros", "half"}) {
    EXPECT_TRUE(absl::IsDataLoss(sequencer->Next(key).status())) << key;
    EXPECT_TRUE(absl::IsDataLoss(sequencer->Get(key).status())) << key;
    EXPECT_TRUE(absl::IsDataLoss(sequencer->Set(key, 1))) << key;
    EXPECT_TRUE(absl::IsDataLoss(sequencer->SetIfNotExists(key, 1).status())) << key;
  }
  EXPECT_EQ(server_.Ask("HGET locus:sequence:minus value"), "-5");
  EXPECT_EQ(server_.Ask("HEXISTS locus:sequence:other value"), "0");
}

TEST_F(RedisSequencerTest, ForkedChild_IsRefusedAndTouchesNoSocket) {
  auto sequencer = Open(server_.options());
  ASSERT_EQ(sequencer->Next("a").value(), 1);
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(sequencer->Next("a").status()) &&
                   absl::IsFailedPrecondition(sequencer->Get("a").status());
    sequencer.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  EXPECT_EQ(sequencer->Stats().connects, 1u);
}

TEST(RedisOptionsTest, OptionThatCannotBe_IsNamed) {
  auto refused = [](auto spoil) {
    RedisOptions options;
    options.addresses = {{"127.0.0.1", 6379}};
    spoil(options);
    absl::Status status = options.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(RedisSequencer::Open(options, {}).status(), status);
    EXPECT_EQ(status.message().find("secret"), absl::string_view::npos);
    return std::string(status.message());
  };
  using O = RedisOptions;
  EXPECT_NE(refused([](O& o) { o.addresses.clear(); }).find("addresses"), std::string::npos);
  EXPECT_NE(refused([](O& o) { o.addresses[0].port = 0; }).find("port"), std::string::npos);
  EXPECT_NE(refused([](O& o) { o.addresses[0].host = "a b"; }).find("host"), std::string::npos);
  EXPECT_NE(refused([](O& o) { o.database = -1; }).find("database"), std::string::npos);
  EXPECT_NE(refused([](O& o) { o.user = "u"; }).find("user"), std::string::npos);
  EXPECT_NE(refused([](O& o) { o.timeout = absl::ZeroDuration(); }).find("timeout"),
            std::string::npos);
  EXPECT_NE(refused([](O& o) {
              o.password = "secret";
              o.connect_timeout = absl::Hours(2);
            }).find("connect_timeout"),
            std::string::npos);
}

}  // namespace
}  // namespace locus
