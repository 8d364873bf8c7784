// SPDX-License-Identifier: Apache-2.0
// A cluster of three masters, and a master that sentinels watch.
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "src/engine/redis/servers.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {
namespace {

std::vector<std::string> ClusterNode(uint16_t bus_port) {
  return {"--cluster-enabled",
          "yes",
          "--cluster-port",
          absl::StrCat(bus_port),
          "--cluster-require-full-coverage",
          "no"};
}

// Three masters, slots dealt out in three runs.
class Cluster {
 public:
  Cluster() {
    for (int i = 0; i < 3; ++i) {
      bus_ports_.push_back(FreePort());
      nodes_.push_back(std::make_unique<RedisServer>(ClusterNode(bus_ports_.back())));
      nodes_.back()->Ask(absl::StrCat("CLUSTER SET-CONFIG-EPOCH ", i + 1));
      int first = 16384 * i / 3, last = 16384 * (i + 1) / 3 - 1;
      EXPECT_EQ(nodes_.back()->Ask(absl::StrCat("CLUSTER ADDSLOTSRANGE ", first, " ", last)), "OK");
    }
    for (int i = 1; i < 3; ++i) Meet(*nodes_[0], i);
    EXPECT_TRUE(WaitUntil([&] { return Agree(3); }));
  }

  void Meet(RedisServer& by, int i) {
    by.Ask(absl::StrCat("CLUSTER MEET 127.0.0.1 ", nodes_[i]->port(), " ", bus_ports_[i]));
  }
  bool Agree(int known) {
    for (auto& node : nodes_) {
      std::string state = node->Ask("CLUSTER INFO");
      if (state.find("cluster_state:ok") == std::string::npos ||
          state.find("cluster_slots_ok:16384") == std::string::npos ||
          state.find(absl::StrCat("cluster_known_nodes:", known)) == std::string::npos) {
        return false;
      }
    }
    return true;
  }
  // A fourth server, which follows node i.
  void AddReplicaOf(size_t i) {
    bus_ports_.push_back(FreePort());
    nodes_.push_back(std::make_unique<RedisServer>(ClusterNode(bus_ports_.back())));
    Meet(*nodes_[0], 3);
    ASSERT_TRUE(WaitUntil(
        [&] { return nodes_[3]->Ask(absl::StrCat("CLUSTER REPLICATE ", IdOf(i))) == "OK"; }));
    ASSERT_TRUE(WaitUntil([&] {
      std::string info = nodes_[3]->Ask("INFO replication");
      return info.find("master_link_status:up") != info.npos && Agree(4) &&
             nodes_[i]->Ask("WAIT 1 100") == "1";
    }));
  }

  RedisServer& node(size_t i) { return *nodes_[i]; }
  std::string IdOf(size_t i) { return nodes_[i]->Ask("CLUSTER MYID"); }
  size_t OwnerOf(uint16_t slot) const {
    size_t owner = 0;
    while (slot > 16384 * (static_cast<int>(owner) + 1) / 3 - 1) ++owner;
    return owner;
  }
  RedisOptions options() const {
    RedisOptions options = nodes_[0]->options();
    options.addresses.push_back(nodes_[1]->address());
    return options;
  }

 private:
  std::vector<uint16_t> bus_ports_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

std::unique_ptr<RedisSequencer> Open(const RedisOptions& server) {
  auto sequencer = RedisSequencer::Open(server, SequencerOptions());
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return *std::move(sequencer);
}

class RedisClusterTest : public ::testing::Test {
 protected:
  Cluster cluster_;
};

TEST_F(RedisClusterTest, Slots_AreReckonedAsTheClusterDoes) {
  std::mt19937_64 random(5);
  std::vector<std::string> keys = {
      "a", "{a}b", "b{a}", "{}a", "a{}{b}", "{{a}}", "a{b", "}a{b}", "locus:sequence:{shop}/42"};
  for (int i = 0; i < 200; ++i) {
    std::string key;
    for (uint64_t n = 1 + random() % 30; n > 0; --n) {
      key += random() % 5 == 0 ? "{}"[random() % 2] : static_cast<char>(random());
    }
    keys.push_back(key);
  }
  for (const std::string& key : keys) {
    EXPECT_EQ(cluster_.node(0).AskWords({"CLUSTER", "KEYSLOT", key}),
              absl::StrCat(redis::SlotOf(key)));
  }
}

TEST_F(RedisClusterTest, Keys_AreCountedWhereTheyLie) {
  auto sequencer = Open(cluster_.options());
  std::vector<std::string> keys;
  for (int i = 0; i < 60; ++i) keys.push_back(absl::StrCat("key", i));
  keys.push_back("{tag}one");
  keys.push_back("a}{b");
  std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int64_t round = 1; round <= 3; ++round) {
    for (const auto& number : sequencer->NextEach(views)) {
      ASSERT_TRUE(number.ok()) << number.status();
      EXPECT_EQ(*number, round);
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_NE(cluster_.node(i).Ask("DBSIZE"), "0");
  EXPECT_EQ(sequencer->Stats().redirects, 0u) << "each was sent to its node at once";
  EXPECT_EQ(sequencer->Stats().connects, 3u);
}

TEST_F(RedisClusterTest, DatabaseOtherThan0_IsRefused) {
  RedisOptions options = cluster_.options();
  options.database = 1;
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST_F(RedisClusterTest, SlotThatMigrates_IsFollowedByAskAndThenByMoved) {
  auto sequencer = Open(cluster_.options());
  ASSERT_EQ(sequencer->Next("{k}").value(), 1);
  uint16_t slot = redis::SlotOf("locus:sequence:{k}");
  size_t from = cluster_.OwnerOf(slot), to = (from + 1) % 3;
  RedisServer &source = cluster_.node(from), &target = cluster_.node(to);
  ASSERT_EQ(target.Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " IMPORTING ", cluster_.IdOf(from))),
            "OK");
  ASSERT_EQ(source.Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " MIGRATING ", cluster_.IdOf(to))),
            "OK");
  EXPECT_EQ(sequencer->Next("{k}").value(), 2) << "still there";
  EXPECT_EQ(sequencer->Stats().redirects, 0u);
  EXPECT_EQ(sequencer->Next("{k}new").value(), 1) << "asked of the new node";
  EXPECT_EQ(sequencer->Stats().redirects, 1u);
  ASSERT_EQ(
      source.Ask(absl::StrCat("MIGRATE 127.0.0.1 ", target.port(), " locus:sequence:{k} 0 5000")),
      "OK");
  EXPECT_EQ(sequencer->Next("{k}").value(), 3);
  EXPECT_EQ(sequencer->Stats().redirects, 2u);
  for (size_t i : {to, from, size_t{3} - to - from}) {
    cluster_.node(i).Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " NODE ", cluster_.IdOf(to)));
  }
  EXPECT_EQ(sequencer->Next("{k}").value(), 4);
  EXPECT_EQ(sequencer->Stats().redirects, 3u) << "moved";
  EXPECT_EQ(sequencer->Next("{k}").value(), 5);
  EXPECT_EQ(sequencer->Stats().redirects, 3u) << "and remembered";
  EXPECT_EQ(Open(cluster_.options())->Next("{k}new").value(), 2);
}

TEST_F(RedisClusterTest, MasterKilled_ItsReplicaTakesOverAndNothingRepeats) {
  uint16_t slot = redis::SlotOf("locus:ceiling:k");
  size_t owner = cluster_.OwnerOf(slot);
  ASSERT_NO_FATAL_FAILURE(cluster_.AddReplicaOf(owner));
  TemporaryDirectory directory;
  SqliteSegmentStore::Options file;
  file.create = true;
  std::shared_ptr<Sequencer> durable =
      SqliteSequencer::Open(directory / "ceilings.db", file, SequencerOptions()).value();
  RedisOptions options = cluster_.options();
  options.timeout = options.connect_timeout = absl::Seconds(5);
  auto sequencer = CeilingSequencer::Open(options, SequencerOptions(), durable).value();
  int64_t last = 0;
  for (int i = 0; i < 100; ++i) last = sequencer->Next("k").value();
  cluster_.node(owner).KillHard();
  ASSERT_TRUE(WaitUntil([&] {
    auto number = sequencer->Next("k");
    if (!number.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(number.status())) << number.status();
      return false;
    }
    EXPECT_GT(*number, last);
    last = *number;
    return true;
  }));
  EXPECT_EQ(sequencer->Next("k").value(), last + 1);
  EXPECT_GE(sequencer->Stats().losses, 2u);
}

TEST_F(RedisClusterTest, SegmentStore_LivesInOneSlotAndCountsAMoveAsALoss) {
  auto store = RedisSegmentStore::Open(cluster_.options()).value();
  SpaceName space;
  ASSERT_TRUE(store->Create(space, SpaceOptions(), absl::Now()).ok());
  std::vector<SegmentRequest> requests;
  for (uint16_t section = 0; section < 256; ++section) requests.push_back({section, 64, 0});
  SegmentReply before = store->Allocate(space, SpaceOptions(), requests, absl::Now()).value();
  EXPECT_EQ(before.grants.size(), 256u);
  uint16_t slot = redis::SlotOf("orders");
  size_t from = cluster_.OwnerOf(slot), to = (from + 1) % 3;
  cluster_.node(to).Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " IMPORTING ", cluster_.IdOf(from)));
  cluster_.node(from).Ask(absl::StrCat("CLUSTER SETSLOT ", slot, " MIGRATING ", cluster_.IdOf(to)));
  ASSERT_EQ(cluster_.node(from).Ask(absl::StrCat("MIGRATE 127.0.0.1 ", cluster_.node(to).port(),
                                                 " locus:segments:{orders} 0 5000")),
            "OK");
  SegmentReply after = store->Allocate(space, SpaceOptions(), requests, absl::Now()).value();
  EXPECT_TRUE(after.loss_noticed);
  for (size_t i = 0; i < 256; ++i) {
    EXPECT_GE(after.grants[i].segment.first, before.grants[i].segment.end());
  }
}

TEST(RedisAddressesTest, SeveralThatAreNoClusterAndNoSentinels_AreRefused) {
  RedisServer one, other;
  RedisOptions options = one.options();
  options.addresses.push_back(other.address());
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
}

TEST(RedisSentinelTest, MasterKilled_ItsSuccessorIsFoundAndCeilingsHold) {
  RedisServer master, replica;
  ASSERT_TRUE(Replicate(master, replica));
  RedisSentinel sentinel(master);
  RedisOptions options;
  options.addresses = {{"127.0.0.1", FreePort()}, {"127.0.0.1", sentinel.port()}};  // one is down
  options.master_name = "orders";
  options.timeout = options.connect_timeout = absl::Seconds(5);
  auto plain = Open(options);
  TemporaryDirectory directory;
  SqliteSegmentStore::Options file;
  file.create = true;
  std::shared_ptr<Sequencer> durable =
      SqliteSequencer::Open(directory / "ceilings.db", file, SequencerOptions()).value();
  auto sequencer = CeilingSequencer::Open(options, SequencerOptions(), durable).value();
  int64_t last = 0;
  for (int i = 0; i < 100; ++i) last = sequencer->Next("k").value();
  ASSERT_EQ(plain->Next("p").value(), 1);
  ASSERT_TRUE(WaitUntil([&] {  // the sentinel knows the replica
    return AskRedis(sentinel.port(), {"SENTINEL", "replicas", "orders"})
               .find(absl::StrCat(replica.port())) != std::string::npos;
  }));
  master.KillHard();
  ASSERT_TRUE(WaitUntil([&] {
    auto number = sequencer->Next("k");
    if (!number.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(number.status())) << number.status();
      return false;
    }
    EXPECT_GT(*number, last);
    last = *number;
    return true;
  }));
  EXPECT_EQ(sentinel.MasterPort(), replica.port());
  EXPECT_TRUE(WaitUntil([&] { return plain->Next("p").ok(); }));
}

// The time that one sentinel may take is all that a call has.
TEST(RedisSentinelTest, SentinelThatHangs_DoesNotTakeTheTimeOfEachCall) {
  RedisServer master;
  RedisSentinel hangs(master), answers(master);
  RedisOptions options;
  options.addresses = {{"127.0.0.1", hangs.port()}, {"127.0.0.1", answers.port()}};
  options.master_name = "orders";
  options.timeout = options.connect_timeout = absl::Seconds(1);
  auto sequencer = Open(options);
  ASSERT_TRUE(sequencer->Next("k").ok());
  hangs.Stall();
  AskRedis(master.port(), {"CLIENT", "KILL", "TYPE", "normal"});
  absl::Status last;
  EXPECT_TRUE(WaitUntil(
      [&] {
        last = sequencer->Next("k").status();
        return last.ok();
      },
      absl::Seconds(30)))
      << last;
}

TEST(RedisSentinelTest, NameThatSentinelsDoNotKnow_IsRefused) {
  RedisServer master;
  RedisSentinel sentinel(master);
  RedisOptions options;
  options.addresses = {{"127.0.0.1", sentinel.port()}};
  options.master_name = "other";
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("other"), absl::string_view::npos);
}

TEST(RedisSentinelTest, SentinelWithAPassword_IsAskedWithIt) {
  RedisServer master;
  RedisSentinel sentinel(master, 1, "requirepass watch\n");
  RedisOptions options;
  options.addresses = {{"127.0.0.1", sentinel.port()}};
  options.master_name = "orders";
  EXPECT_TRUE(absl::IsFailedPrecondition(RedisSequencer::Open(options, {}).status()));
  options.sentinel_password = "watch";
  EXPECT_TRUE(Open(options)->Next("k").ok());
}

}  // namespace
}  // namespace locus
