// SPDX-License-Identifier: Apache-2.0
// Nodes of a cluster record into one table of a ClickHouse server.
#include <future>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/text/nonce_mark.h"
#include "src/cluster/audit/cluster_audit.h"
#include "src/number/type_text.h"
#include "tests/cluster/node/test_cluster.h"
#include "tests/engine/clickhouse/clickhouse_server.h"

namespace locus::cluster_audit {
namespace {

using Kind = AuditRecord::Kind;

class ClusterAuditClickHouseTest : public ::testing::Test {
 protected:
  static constexpr int kNodes = 3;

  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    auto audit = ClickHouseAudit::Open(server_.options());
    ASSERT_TRUE(audit.ok()) << audit.status();
    table_ = *std::move(audit);
    ASSERT_TRUE(table_->CreateTable().ok());
    for (int i = 0; i < kNodes; ++i) OpenSink(i, server_.options());
  }
  void OpenSink(int node, const ClickHouseOptions& options) {
    auto writer = ClickHouseAudit::Open(options);
    ASSERT_TRUE(writer.ok()) << writer.status();
    AuditSinkOptions of_sink;
    of_sink.process = absl::StrCat("node-", node);
    of_sink.linger = absl::ZeroDuration();
    auto sink = AuditSink::Open(*std::move(writer), of_sink);
    ASSERT_TRUE(sink.ok()) << sink.status();
    audits_[node].reset();
    sinks_[node] = *std::move(sink);
    ClusterAuditOptions of_audit;
    of_audit.cluster = "leases";
    of_audit.renewals = 1;
    audits_[node] = std::make_unique<ClusterAudit>(*sinks_[node], of_audit);
  }
  TestCluster::Adjust Hooks() {
    return [this](int node, cluster_node::ClusterNodeOptions& options) {
      options.on_fact = [this, node](raft::Index index, size_t place,
                                     const cluster_machine::Fact& fact,
                                     bool) { audits_[node]->OnFact(index, place, fact); };
      options.on_members = [this, node](raft::Index index, absl::Time time,
                                        const raft::Members& members) {
        audits_[node]->OnMembers(index, time, members);
      };
    };
  }
  // All nodes have applied all entries, and all sinks that can have written them.
  void Settle(TestCluster& cluster, const std::set<int>& cut_off = {}) {
    ASSERT_TRUE(WaitUntil([&] {
      std::set<raft::Index> applied;
      for (int i = 0; i < cluster.size(); ++i) {
        const raft::NodeStatus status = cluster.node(i)->Status();
        applied.insert(status.applied);
        applied.insert(status.last);
      }
      return applied.size() == 1;
    }));
    for (int i = 0; i < kNodes; ++i) {
      if (cut_off.count(i) > 0) continue;
      ASSERT_TRUE(sinks_[i]->Flush(absl::Minutes(1)).ok()) << i;
    }
  }
  std::map<Kind, int> Counted() {
    AuditQuery query;
    query.limit = 100'000;
    auto rows = table_->Query(query);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::map<Kind, int> counts;
    std::set<std::string> ids;
    for (const AuditRow& row : *rows) {
      ++counts[row.record.kind];
      EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    }
    return counts;
  }
  WorkerAcquire Wish(const std::string& nonce) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.holder = "{\"host\":\"" + nonce + "\"}";
    wish.term.ttl = absl::Seconds(10);
    wish.term.max_skew = absl::Seconds(5);
    wish.caller_now = clock_.Now();
    return wish;
  }
  // Each kind of fact but a loss: 1 created, 12 granted, 1 renewed, 1 released, 11 expired, 2
  // refused, 1 unhealthy, 1 healthy.
  void UseAll(TestCluster& cluster) {
    auto store = cluster.Connect();
    ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
    std::vector<WorkerGrant> grants;
    for (int i = 0; i < 12; ++i) {
      auto grant = store->Acquire(space_, Wish(absl::StrCat("n", i)));
      ASSERT_TRUE(grant.ok()) << grant.status();
      grants.push_back(*grant);
    }
    Tell(cluster, cluster_machine::Verdict{grants[0].worker, grants[0].token, false, "no answer"});
    WorkerRenew renewal;
    renewal.worker = grants[0].worker;
    renewal.token = grants[0].token;
    renewal.ceiling = grants[0].ceiling;
    renewal.term = Wish("n0").term;
    renewal.nonce = "n0";
    renewal.caller_now = clock_.Now();
    EXPECT_EQ(store->Renew(space_, renewal).status().code(), absl::StatusCode::kFailedPrecondition);
    Tell(cluster, cluster_machine::Verdict{grants[0].worker, grants[0].token, true, ""});
    ASSERT_TRUE(store->Renew(space_, renewal).ok());
    ASSERT_TRUE(
        store->Release(space_, {grants[1].worker, grants[1].token, clock_.Now(), "n1"}).ok());
    clock_.Advance(absl::Seconds(60));
    ASSERT_TRUE(WaitUntil([&] {
      const int leader = cluster.WaitForLeader();
      return leader >= 0 && cluster.node(leader)->stats().held == 0;
    }));
    renewal.caller_now = clock_.Now();
    EXPECT_EQ(store->Renew(space_, renewal).status().code(), absl::StatusCode::kAborted);
  }
  // A sequence type that is created, altered and dropped; and a change that is refused, which is
  // none.
  void UseTypes(TestCluster& cluster) {
    const type_machine::Type one{100, internal::TypeTextOf(SequenceType())};
    const type_machine::Type other{101, one.text};
    const type_machine::Type dropped{102, internal::DroppedTextOf(one.text)};
    Write(cluster, {"tickets", 0, one}, true);
    Write(cluster, {"tickets", 0, one}, false);
    Write(cluster, {"tickets", 100, other}, true);
    Write(cluster, {"tickets", 101, dropped}, true);
  }
  void Write(TestCluster& cluster, const type_machine::Call& call, bool done) {
    cluster_machine::RequestId id{clock_.Now(), 77, ++writes_, 1};
    cluster_machine::Answer answer;
    // Sent again until it is answered; it changes something once.
    ASSERT_TRUE(WaitUntil([&] {
      const int leader = cluster.WaitForLeader();
      std::promise<cluster_machine::Answer> said;
      cluster.node(leader)->Submit(
          {id, space_, call, {}},
          [&](const cluster_machine::Answer& each) { said.set_value(each); });
      answer = said.get_future().get();
      return answer.status.ok();
    })) << answer.status;
    EXPECT_EQ(std::get<type_machine::Reply>(answer.reply).done, done);
  }
  void Tell(TestCluster& cluster, cluster_machine::Verdict verdict) {
    const bool told = WaitUntil([&] {
      const int leader = cluster.WaitForLeader();
      std::promise<absl::Status> status;
      cluster.node(leader)->Submit(
          {std::nullopt, space_, verdict, {0x4bf92f3577b34da6, 0xa3ce929d0e0e4736}},
          [&](const cluster_machine::Answer& answer) { status.set_value(answer.status); });
      return status.get_future().get().ok();
    });
    EXPECT_TRUE(told);
  }
  void ExpectAll(const std::map<Kind, int>& counts) {
    EXPECT_THAT(counts, ::testing::IsSupersetOf(
                            std::vector<std::pair<const Kind, int>>{{Kind::kCreated, 1},
                                                                    {Kind::kGranted, 12},
                                                                    {Kind::kRenewed, 1},
                                                                    {Kind::kReleased, 1},
                                                                    {Kind::kExpired, 11},
                                                                    {Kind::kRefused, 2},
                                                                    {Kind::kUnhealthy, 1},
                                                                    {Kind::kHealthy, 1}}));
  }
  static void ExpectTypes(const std::map<Kind, int>& counts) {
    EXPECT_THAT(counts,
                ::testing::IsSupersetOf(std::vector<std::pair<const Kind, int>>{
                    {Kind::kTypeCreated, 1}, {Kind::kTypeAltered, 1}, {Kind::kTypeDropped, 1}}));
  }

  fakes::ManualClock clock_;
  const SpaceName space_;
  ClickHouseServer server_;
  std::unique_ptr<ClickHouseAudit> table_;
  std::map<int, std::unique_ptr<AuditSink>> sinks_;
  std::map<int, std::unique_ptr<ClusterAudit>> audits_;
  uint64_t writes_ = 0;
};

TEST_F(ClusterAuditClickHouseTest, FactsOfAllNodes_AndAgainAfterRestarts_CountOnce) {
  TestCluster cluster(kNodes, clock_, {}, Hooks());
  UseAll(cluster);
  UseTypes(cluster);
  // Adds and removes a learner that no process runs: two changes.
  for (auto kind : {raft::MemberChange::Kind::kAddLearner, raft::MemberChange::Kind::kRemove}) {
    ASSERT_TRUE(WaitUntil([&] {
      const int leader = cluster.WaitForLeader();
      std::promise<absl::Status> changed;
      cluster.node(leader)->ChangeMembers(
          {kind, 77, "127.0.0.1:1 127.0.0.1:2"},
          [&](const absl::Status& status) { changed.set_value(status); });
      return changed.get_future().get().ok();
    }));
  }
  Settle(cluster);
  auto counts = Counted();
  ExpectAll(counts);
  ExpectTypes(counts);
  EXPECT_EQ(counts[Kind::kMembers], 3) << "the first ones, and two changes";
  for (int i = 0; i < kNodes; ++i) {
    EXPECT_GE(sinks_[i]->Stats().recorded, 35u) << "each node records all";
  }
  for (int i = 0; i < kNodes; ++i) cluster.Kill(i);
  for (int i = 0; i < kNodes; ++i) cluster.Start(i);
  ASSERT_GE(cluster.WaitForLeader(), 0);
  Settle(cluster);
  for (int i = 0; i < kNodes; ++i) {
    EXPECT_GE(sinks_[i]->Stats().recorded, 70u) << "the log comes again";
  }
  counts = Counted();
  ExpectAll(counts);
  ExpectTypes(counts);
  EXPECT_EQ(counts[Kind::kMembers], 3) << "the first ones, and two changes";
  AuditQuery members;
  members.kinds = {Kind::kMembers};
  auto changes = table_->Query(members);
  ASSERT_TRUE(changes.ok()) << changes.status();
  for (const AuditRow& row : *changes) {
    EXPECT_GE(row.record.time, clock_.Now() - absl::Hours(1)) << row.record.detail;
  }
  AuditQuery unhealthy;
  unhealthy.kinds = {Kind::kUnhealthy};
  auto rows = table_->Query(unhealthy);
  ASSERT_TRUE(rows.ok() && rows->size() == 1) << rows.status();
  EXPECT_EQ((*rows)[0].record.trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ((*rows)[0].record.nonce, internal::NonceMark("n0"));
}

// The leader cannot reach the server, and ends with all of its records in memory.
TEST_F(ClusterAuditClickHouseTest, NodeThatLosesItsRecords_HasThemWrittenByTheOthers) {
  TestCluster cluster(kNodes, clock_, {}, Hooks());
  const int leader = cluster.WaitForLeader();
  ASSERT_GE(leader, 0);
  cluster.Kill(leader);
  ClickHouseOptions nowhere = server_.options();
  nowhere.endpoint = absl::StrCat("127.0.0.1:", FreePort());
  OpenSink(leader, nowhere);
  cluster.Start(leader);
  UseAll(cluster);
  Settle(cluster, {leader});
  EXPECT_EQ(sinks_[leader]->Stats().written, 0u);
  cluster.Kill(leader);
  ExpectAll(Counted());
}

}  // namespace
}  // namespace locus::cluster_audit
