// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/redis/redis_server.h"
#include "tests/sequence_type/sequence_type_store_contract.h"

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

TEST(RedisSequenceTypeTest, FieldThatIsNoRule_IsDataLoss) {
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

}  // namespace
}  // namespace locus
