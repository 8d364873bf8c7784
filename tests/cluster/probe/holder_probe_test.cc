// SPDX-License-Identifier: Apache-2.0
// Nodes of a cluster probe servers of HTTP, good and bad ones.
#include "src/cluster/probe/holder_probe.h"

#include <atomic>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/http/server.h"
#include "tests/cluster/node/test_cluster.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"

namespace locus::holder_probe {
namespace {

using ::testing::HasSubstr;

// A holder's server, which answers with a status of the test's choice.
class HolderServer {
 public:
  HolderServer() {
    auto server = http::Server::Start(
        {}, [this](const http::ServerRequest& request, const http::Server::Respond& respond) {
          ++requests;
          if (request.path != "/healthz") ++strange;
          respond({status.load(), {{"Location", elsewhere}}, body});
        });
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::string url() const { return absl::StrCat("http://127.0.0.1:", server_->port(), "/healthz"); }

  std::atomic<unsigned> status = 200;
  std::atomic<int> requests = 0;
  std::atomic<int> strange = 0;
  std::string elsewhere;
  std::string body;

 private:
  std::unique_ptr<http::Server> server_;
};

class HolderProbeTest : public ::testing::Test {
 protected:
  HolderProbeTest() {
    options_.allowed = {"127.0.0.0/8"};
    options_.interval = absl::Milliseconds(100);
    options_.timeout = absl::Milliseconds(100);
    options_.failures = 3;
  }
  void Begin(int nodes) {
    cluster_ = std::make_unique<TestCluster>(nodes, clock_);
    store_ = cluster_->Connect();
    ASSERT_TRUE(store_->Create(space_, {.first_ever = true}, clock_.Now()).ok());
    for (int i = 0; i < nodes; ++i) Probe(i);
  }
  void Probe(int node) {
    auto probe = HolderProbe::Start(*cluster_->node(node), options_);
    ASSERT_TRUE(probe.ok()) << probe.status();
    probes_[node] = *std::move(probe);
  }
  void Kill(int node) {
    probes_.erase(node);
    cluster_->Kill(node);
  }
  WorkerGrant Acquire(const std::string& nonce, const std::string& url) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.holder = absl::StrCat("{\"host\":\"a\",\"health\":\"", url, "\"}");
    wish.caller_now = clock_.Now();
    auto grant = store_->Acquire(space_, wish);
    EXPECT_TRUE(grant.ok()) << grant.status();
    return grant.ok() ? *grant : WorkerGrant();
  }
  // Its heartbeat.
  absl::Status Renew(const WorkerGrant& grant, const std::string& nonce, const std::string& url) {
    WorkerRenew renewal;
    renewal.worker = grant.worker;
    renewal.token = grant.token;
    renewal.ceiling = grant.ceiling;
    renewal.nonce = nonce;
    renewal.holder = absl::StrCat("{\"host\":\"a\",\"health\":\"", url, "\"}");
    renewal.caller_now = clock_.Now();
    return store_->Renew(space_, renewal).status();
  }
  bool WaitForRenewal(const WorkerGrant& grant, const std::string& nonce, const std::string& url,
                      absl::StatusCode code) {
    return WaitUntil([&] { return Renew(grant, nonce, url).code() == code; });
  }

  fakes::ManualClock clock_;
  const SpaceName space_;
  HolderProbeOptions options_;
  std::unique_ptr<TestCluster> cluster_;
  std::unique_ptr<WorkerLeaseStore> store_;
  std::map<int, std::unique_ptr<HolderProbe>> probes_;  // end before the nodes
};

constexpr auto kRefused = absl::StatusCode::kFailedPrecondition;
constexpr auto kOk = absl::StatusCode::kOk;

TEST_F(HolderProbeTest, AliveAndUseless_IsNotRenewed_UntilItIsHealthyAgain) {
  std::atomic<int> told = 0;
  options_.on_verdict = [&told](const ProbeEvent& event) {
    EXPECT_EQ(event.why.empty(), event.healthy);
    ++told;
  };
  HolderServer server;
  Begin(1);
  const WorkerGrant grant = Acquire("a", server.url());
  const WorkerGrant other = Acquire("b", "");
  EXPECT_TRUE(WaitUntil([&] { return server.requests >= 3; }));
  // On a busy machine three answers in a row may be too late.
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kOk));
  server.status = 503;
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kRefused));
  EXPECT_THAT(std::string(Renew(grant, "a", server.url()).message()), HasSubstr("unhealthy"));
  EXPECT_TRUE(Renew(other, "b", "").ok()) << "it asked for no probes";
  server.status = 204;
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kOk));
  EXPECT_TRUE(WaitUntil([&] { return told >= 2; }));
  const HolderProbe::Stats stats = probes_[0]->stats();
  EXPECT_GE(stats.unhealthy, 1u);
  EXPECT_GE(stats.healthy, 1u);
  EXPECT_GE(stats.failures, 3u);
  EXPECT_EQ(server.strange, 0);
  probes_.clear();
}

TEST_F(HolderProbeTest, OnlyTheLeaderProbes_AndTheNextOneContinues) {
  HolderServer server;
  Begin(3);
  const WorkerGrant grant = Acquire("a", server.url());
  server.status = 500;
  ASSERT_TRUE(WaitForRenewal(grant, "a", server.url(), kRefused));
  const int leader = cluster_->WaitForLeader();
  ASSERT_GE(leader, 0);
  for (int i = 0; i < 3; ++i) {
    if (i == leader) continue;
    EXPECT_EQ(probes_[i]->stats().probes, 0u) << i;
  }
  Kill(leader);
  const int next = cluster_->WaitForLeader();
  ASSERT_GE(next, 0);
  EXPECT_EQ(Renew(grant, "a", server.url()).code(), kRefused) << "the cluster remembers";
  server.status = 200;
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kOk));
  EXPECT_GT(probes_[next]->stats().probes, 0u);
  EXPECT_TRUE(WaitUntil([&] { return probes_[next]->stats().healthy >= 1; }));
  // And back: the old one comes again as a follower.
  cluster_->Start(leader);
  Probe(leader);
  server.status = 500;
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kRefused));
  probes_.clear();
}

TEST_F(HolderProbeTest, NodeThatHandsItsLeadershipOver_ProbesNoMore) {
  HolderServer server;
  Begin(3);
  Acquire("a", server.url());
  const int leader = cluster_->WaitForLeader();
  ASSERT_GE(leader, 0);
  ASSERT_TRUE(WaitUntil([&] { return probes_[leader]->stats().targets == 1; }));
  ASSERT_TRUE(WaitUntil([&] {
    cluster_->node(leader)->Transfer(0, [](const absl::Status&) {});
    return cluster_->node(leader)->Status().role != raft::Role::kLeader;
  }));
  EXPECT_TRUE(WaitUntil([&] { return probes_[leader]->stats().targets == 0; }));
}

TEST_F(HolderProbeTest, TenthFailureInARow_MakesItUnhealthy) {
  options_.failures = 10;
  options_.per_second = 10'000;
  HolderServer server;
  server.status = 503;
  Begin(1);
  const WorkerGrant grant = Acquire("a", server.url());
  EXPECT_TRUE(WaitForRenewal(grant, "a", server.url(), kRefused));
  EXPECT_GE(server.requests, 10);
  probes_.clear();
}

TEST_F(HolderProbeTest, UrlsOutsideTheAllowList_AreNeverAsked) {
  HolderServer server;
  server.status = 503;
  options_.allowed = {"10.0.0.0/8", "127.1.0.0/16"};
  Begin(1);
  const WorkerGrant grant = Acquire("a", server.url());
  EXPECT_TRUE(WaitUntil([&] { return probes_[0]->stats().refused == 1; }));
  EXPECT_THAT(probes_[0]->stats().last_refusal, HasSubstr("none of the blocks"));
  EXPECT_EQ(probes_[0]->stats().targets, 0u);
  EXPECT_TRUE(Renew(grant, "a", server.url()).ok());
  EXPECT_EQ(server.requests, 0);
  // By default there is no list.
  options_.allowed = {};
  Probe(0);
  EXPECT_TRUE(Renew(grant, "a", server.url()).ok());
  EXPECT_EQ(probes_[0]->stats().refused, 0u);
  EXPECT_EQ(server.requests, 0);
  probes_.clear();
}

TEST_F(HolderProbeTest, BadAnswers_AreFailures_AndDelayNoOtherHolder) {
  options_.at_once = 4;
  options_.per_second = 1000;
  HolderServer good, redirecting, target;
  good.body = std::string(size_t{1} << 20, 'x');  // which is not read
  redirecting.status = 302;
  redirecting.elsewhere = target.url();
  LyingServer hangs([](LyingPeer& peer) { peer.Hang(); });
  LyingServer drips([](LyingPeer& peer) { peer.Drip(std::string(1000, 'H'), 20); });
  LyingServer garbage([](LyingPeer& peer) { peer.Send("200 OK\r\n\r\n"); });
  LyingServer huge([](LyingPeer& peer) {
    peer.Send("HTTP/1.1 200 OK\r\nX: ");
    while (peer.Send(std::string(10'000, 'x'))) {
    }
  });
  LyingServer closes([](LyingPeer&) {});
  Begin(1);
  std::map<std::string, std::pair<std::string, WorkerGrant>> bad;
  auto add = [&](const std::string& name, const std::string& url) {
    bad[name] = {url, Acquire(name, url)};
  };
  auto url_of = [](uint16_t port) { return absl::StrCat("http://127.0.0.1:", port, "/"); };
  add("redirects", redirecting.url());
  add("drips", url_of(drips.port()));
  add("garbage", url_of(garbage.port()));
  add("huge", url_of(huge.port()));
  add("closes", url_of(closes.port()));
  add("nobody", url_of(FreePort()));
  for (int i = 0; i < 10; ++i) add(absl::StrCat("hangs", i), url_of(hangs.port()));
  const WorkerGrant fine = Acquire("good", good.url());
  for (const auto& [name, holder] : bad) {
    EXPECT_TRUE(WaitForRenewal(holder.second, name, holder.first, kRefused)) << name;
  }
  const int before = good.requests;
  EXPECT_TRUE(WaitUntil([&] { return good.requests >= before + 10; }));
  EXPECT_TRUE(WaitForRenewal(fine, "good", good.url(), kOk));
  EXPECT_EQ(target.requests, 0) << "redirections are not followed";
  probes_.clear();
}

TEST_F(HolderProbeTest, Options_OutsideTheirLimits_AreNamed) {
  auto refusal = [this](auto change) {
    HolderProbeOptions options = options_;
    change(options);
    const absl::Status status = options.Check();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  using O = HolderProbeOptions;
  EXPECT_TRUE(O().Check().ok());
  EXPECT_THAT(refusal([](O& o) { o.allowed = {"10.0.0.1"}; }), HasSubstr("10.0.0.1"));
  EXPECT_THAT(refusal([](O& o) { o.interval = absl::Milliseconds(99); }), HasSubstr("interval"));
  EXPECT_THAT(refusal([](O& o) { o.timeout = absl::Milliseconds(101); }), HasSubstr("timeout"));
  EXPECT_THAT(refusal([](O& o) { o.failures = 0; }), HasSubstr("failures"));
  EXPECT_THAT(refusal([](O& o) { o.at_once = 1; }), HasSubstr("at_once"));
  EXPECT_THAT(refusal([](O& o) { o.per_second = 0; }), HasSubstr("per_second"));
}

}  // namespace
}  // namespace locus::holder_probe
