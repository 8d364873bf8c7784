// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

RedisServer& SharedServer() {
  static auto* server = new RedisServer();
  static bool stops = std::atexit([] { delete server; }) == 0;
  EXPECT_TRUE(stops);
  return *server;
}

class RedisTypesUnderTest : public SequenceTypeStoreUnderTest {
 public:
  RedisTypesUnderTest() { EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK"); }
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return RedisSequenceTypeStore::Open(SharedServer().options()).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return RedisSequencer::Open(SharedServer().options(), options).value();
  }
};

INSTANTIATE_TEST_SUITE_P(Redis, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "redis", [] { return std::make_unique<RedisTypesUnderTest>(); }}));

TEST(RedisSequenceTypeTest, FieldThatIsNoType_IsDataLoss) {
  EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK");
  auto store = RedisSequenceTypeStore::Open(SharedServer().options()).value();
  for (const char* spoilt : {"words", "0", "7", "-7"}) {
    SharedServer().Ask(std::string("HSET locus:sequence_types a ") + spoilt);
    EXPECT_TRUE(absl::IsDataLoss(store->Find("a").status())) << spoilt;
    EXPECT_TRUE(absl::IsDataLoss(store->List().status())) << spoilt;
    EXPECT_TRUE(absl::IsDataLoss(store->Drop("a", 7))) << spoilt;
  }
}

// Together they are larger than an answer may be.
TEST(RedisSequenceTypeTest, AnyNumberOfTypes_AreListed) {
  EXPECT_EQ(SharedServer().Ask("FLUSHALL"), "OK");
  SharedServer().AskWords({"EVAL",
                           "for i = 1, 5000 do redis.call('HSET', KEYS[1], 't' .. i,"
                           " '1 ' .. string.rep('x', 4000)) end",
                           "1", "locus:sequence_types"});
  const auto all = RedisSequenceTypeStore::Open(SharedServer().options()).value()->ListAny();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 5000u);
}

// Of another server a place in the list is another one.
TEST(RedisSequenceTypeTest, KeyThatGoesToAnotherNodeWhileItIsListed_NoTypeIsMissed) {
  constexpr int kTypes = 5000;
  const auto node = [] {
    return std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-port",
                                    absl::StrCat(FreePort())};
  };
  RedisServer one(node()), two(node());
  RedisServer* nodes[] = {&one, &two};
  ASSERT_EQ(one.Ask("CLUSTER ADDSLOTSRANGE 0 16383"), "OK");
  const std::string bus = one.Ask("CONFIG GET cluster-port");
  ASSERT_EQ(two.Ask(absl::StrCat("CLUSTER MEET 127.0.0.1 ", one.port(), " ",
                                 bus.substr(bus.find_last_of(" \n") + 1))),
            "OK");
  for (RedisServer* server : nodes) {
    ASSERT_TRUE(WaitUntil(
        [&] { return server->Ask("CLUSTER INFO").find("cluster_state:ok") != std::string::npos; }));
  }
  one.AskWords(
      {"EVAL",
       absl::StrCat("for i = 1, ", kTypes, " do redis.call('HSET', KEYS[1], 't' .. i, '1 x') end"),
       "1", "locus:sequence_types"});
  const std::string slot = one.Ask("CLUSTER KEYSLOT locus:sequence_types");
  const std::string ids[] = {one.Ask("CLUSTER MYID"), two.Ask("CLUSTER MYID")};
  const auto migrate = [](RedisServer& from, RedisServer& to) {
    EXPECT_EQ(
        from.Ask(absl::StrCat("MIGRATE 127.0.0.1 ", to.port(), " locus:sequence_types 0 5000")),
        "OK");
  };
  ASSERT_EQ(two.Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " IMPORTING ", ids[0])), "OK");
  auto store = RedisSequenceTypeStore::Open(one.options()).value();
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    ASSERT_EQ(one.Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " MIGRATING ", ids[1])), "OK");
    std::atomic<bool> gone = false;
    std::thread operates([&] {
      migrate(one, two);
      gone = true;
    });
    for (bool last = false; !last;) {
      last = gone;
      const auto all = store->ListAny();
      EXPECT_TRUE(all.ok()) << all.status();
      if (all.ok()) EXPECT_EQ(all->size(), size_t{kTypes});
    }
    operates.join();
    ASSERT_EQ(one.Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " STABLE")), "OK");
    migrate(two, one);
  }
}

}  // namespace
}  // namespace locus
