// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/fault/fault_targets.h"

#include <optional>

#include "gtest/gtest.h"
#include "tests/engine/etcd/etcd_server.h"
#include "tests/engine/mysql/mariadb_replica.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/engine/zookeeper/zookeeper_server.h"
#include "tests/locusd/locusd_cluster.h"

namespace locus {
namespace {

template <typename Store>
absl::StatusOr<std::shared_ptr<SegmentStore>> Shared(absl::StatusOr<std::unique_ptr<Store>> store) {
  if (!store.ok()) return store.status();
  return std::shared_ptr<SegmentStore>(*std::move(store));
}

constexpr char kDatabase[] = "locus_faults";

class MariadbTarget : public FaultTarget {
 public:
  MariadbTarget() {
    EXPECT_TRUE(primary_.Start() && replica_.Start());
    Replicate(primary_, replica_);
    EXPECT_TRUE(MakeSchema());
  }

  absl::StatusOr<std::shared_ptr<SegmentStore>> Open() override {
    MysqlOptions options = primary_.Account(kDatabase);
    options.hosts.push_back({"127.0.0.1", replica_.port()});
    return Shared(MysqlSegmentStore::Open(options));
  }
  void KillHard() override { primary_.KillHard(); }
  bool Restart() override { return primary_.Start(); }
  void Stall() override { primary_.Stall(); }
  void Resume() override { primary_.Resume(); }
  bool RestartEmpty() override {
    primary_.Empty();
    return primary_.Start() && MakeSchema();
  }

  bool FailOver(const std::function<void()>& meanwhile) override {
    WaitForReplica(primary_, replica_);
    CutOff(replica_);
    meanwhile();
    primary_.KillHard();
    Promote(replica_);
    return !::testing::Test::HasFailure();
  }

 private:
  bool MakeSchema() {
    absl::Status made = MysqlSegmentStore::CreateSchema(primary_.OptionsFor(kDatabase));
    EXPECT_TRUE(made.ok()) << made;
    return made.ok();
  }

  MariadbServer primary_{ReplicaSettings(1)};
  MariadbServer replica_{ReplicaSettings(2)};
};

class RedisTarget : public FaultTarget {
 public:
  absl::StatusOr<std::shared_ptr<SegmentStore>> Open() override {
    RedisOptions options;
    options.addresses = {{"127.0.0.1", sentinel_.port()}};
    options.master_name = "orders";
    return Shared(RedisSegmentStore::Open(options));
  }
  void KillHard() override { master_.KillHard(); }
  bool Restart() override { return master_.Start(); }
  void Stall() override { master_.Stall(); }
  void Resume() override { master_.Resume(); }
  bool RestartEmpty() override {
    master_.KillHard();
    return master_.Start() && master_.Ask("FLUSHALL") == "OK";
  }

  // The sentinel does it, as soon as it misses the master.
  bool FailOver(const std::function<void()>& meanwhile) override {
    RedisServer& replica = replica_.emplace();
    auto sentinel_knows = [&] {
      return AskRedis(sentinel_.port(), {"SENTINEL", "replicas", "orders"})
                 .find(std::to_string(replica.port())) != std::string::npos;
    };
    if (!Replicate(master_, replica) || !WaitUntil(sentinel_knows)) return false;
    CutOff(replica);
    meanwhile();
    master_.KillHard();
    return WaitUntil([&] { return sentinel_.MasterPort() == replica.port(); });
  }

 private:
  RedisServer master_{{"--appendonly", "yes", "--appendfsync", "everysec"}};
  // It promotes only a replica that its master has missed for less than ten times this.
  RedisSentinel sentinel_{master_, 1, "sentinel down-after-milliseconds orders 3000\n"};
  std::optional<RedisServer> replica_;
};

// Three members, killed or stalled all at once. An answer is that of a majority, so there
// is no replica that lacks one.
class EtcdTarget : public FaultTarget {
 public:
  EtcdTarget() { EXPECT_TRUE(cluster_.Start()); }

  absl::StatusOr<std::shared_ptr<SegmentStore>> Open() override {
    return Shared(EtcdSegmentStore::Open(cluster_.options()));
  }
  void KillHard() override { cluster_.KillHard(); }
  bool Restart() override { return cluster_.Start(); }
  void Stall() override {
    for (int i = 0; i < cluster_.members(); ++i) cluster_.Stall(i);
  }
  void Resume() override {
    for (int i = 0; i < cluster_.members(); ++i) cluster_.Resume(i);
  }
  bool RestartEmpty() override { return cluster_.RestartEmpty(); }
  bool FailOver(const std::function<void()>&) override { return false; }

 private:
  EtcdServer cluster_{3};
};

// As EtcdTarget.
class ZookeeperTarget : public FaultTarget {
 public:
  ZookeeperTarget() { EXPECT_TRUE(ensemble_.Start()); }

  absl::StatusOr<std::shared_ptr<SegmentStore>> Open() override {
    return Shared(ZookeeperSegmentStore::Open(ensemble_.options()));
  }
  void KillHard() override { ensemble_.KillHard(); }
  bool Restart() override { return ensemble_.Start(); }
  void Stall() override {
    for (int i = 0; i < ensemble_.members(); ++i) ensemble_.Stall(i);
  }
  void Resume() override {
    for (int i = 0; i < ensemble_.members(); ++i) ensemble_.Resume(i);
  }
  bool RestartEmpty() override { return ensemble_.RestartEmpty(); }
  bool FailOver(const std::function<void()>&) override { return false; }

 private:
  ZookeeperServer ensemble_{3};
};

// Three processes that agree, as EtcdTarget; or only the leader is harmed.
class LocusdTarget : public FaultTarget {
 public:
  absl::StatusOr<std::shared_ptr<SegmentStore>> Open() override {
    return Shared(LocusdSegmentStore::Open(cluster_.Options(absl::Seconds(1))));
  }
  void KillHard() override {
    Each([](PrivateServer& node) { node.KillHard(); });
  }
  bool Restart() override {
    bool all = true;
    for (int i = 0; i < cluster_.size(); ++i) all = cluster_.node(i).Start() && all;
    return all && cluster_.WaitForLeader() >= 0;
  }
  void Stall() override {
    Each([](PrivateServer& node) { node.Stall(); });
  }
  void Resume() override {
    Each([](PrivateServer& node) { node.Resume(); });
  }
  bool RestartEmpty() override { return cluster_.BeginAnew(); }
  bool FailOver(const std::function<void()>&) override { return false; }

 private:
  template <typename Do>
  void Each(Do what) {
    for (int i = 0; i < cluster_.size(); ++i) what(cluster_.node(i).process());
  }

  LocusdCluster cluster_{3, {.more_api = "store = true\n"}};
};

template <typename Target>
FaultEngine Named(const char* name, bool has_replica) {
  return {name, has_replica, [] { return std::make_unique<Target>(); }};
}

}  // namespace

std::vector<FaultEngine> FaultEngines() {
  return {Named<MariadbTarget>("mariadb", true), Named<RedisTarget>("redis", true),
          Named<EtcdTarget>("etcd", false), Named<ZookeeperTarget>("zookeeper", false),
          Named<LocusdTarget>("locusd", false)};
}

}  // namespace locus
