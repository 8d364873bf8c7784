// SPDX-License-Identifier: Apache-2.0
// The client of locusd and its API, over nodes of this process.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "locus/version.h"
#include "src/http/connection.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/support/private_server.h"
#include "tests/worker/worker_lease_store_contract.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class LocusdUnderTest : public WorkerStoreUnderTest {
 public:
  explicit LocusdUnderTest(int nodes) : cluster_(nodes, clock_) {}
  std::unique_ptr<WorkerLeaseStore> Connect() override { return cluster_.Connect(); }
  void LoseAll() override { cluster_.LoseAll(); }
  fakes::ManualClock& clock() override { return clock_; }
  bool is_open_to_many() const override { return true; }

 private:
  fakes::ManualClock clock_;
  ApiCluster cluster_;
};

INSTANTIATE_TEST_SUITE_P(
    Locusd, WorkerLeaseStoreContract,
    ::testing::Values(WorkerEngine{"one", [] { return std::make_unique<LocusdUnderTest>(1); }},
                      WorkerEngine{"three", [] { return std::make_unique<LocusdUnderTest>(3); }}));

class LocusdTest : public ::testing::Test {
 protected:
  WorkerAcquire Wish(const std::string& nonce) {
    WorkerAcquire wish;
    wish.nonce = nonce;
    wish.caller_now = clock_.Now();
    return wish;
  }
  static http::HttpAnswer Send(const std::string& endpoint, const http::HttpRequest& request) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    auto connection =
        http::HttpConnection::Connect(*http::Endpoint::Parse(endpoint), nullptr, deadline);
    EXPECT_TRUE(connection.ok()) << connection.status();
    auto answer = (*connection)->Send(request, 1 << 20, deadline);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : http::HttpAnswer();
  }

  fakes::ManualClock clock_;
  const SpaceName space_;
};

TEST_F(LocusdTest, LeadersKilled_EachLeaseStays) {
  ApiCluster cluster(3, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  auto grant = store->Acquire(space_, Wish("a"));
  ASSERT_TRUE(grant.ok()) << grant.status();
  for (int round = 0; round < 3; ++round) {
    const int leader = cluster.nodes().WaitForLeader();
    ASSERT_GE(leader, 0);
    cluster.Kill(leader);
    WorkerRenew renewal;
    renewal.worker = grant->worker;
    renewal.token = grant->token;
    renewal.ceiling = grant->ceiling;
    renewal.nonce = "a";
    renewal.caller_now = clock_.Now();
    auto renewed = store->Renew(space_, renewal);
    ASSERT_TRUE(renewed.ok()) << renewed.status();
    EXPECT_FALSE(renewed->loss_noticed);
    cluster.Start(leader);
  }
  EXPECT_GT(store->Stats().failures, 0u);
}

TEST_F(LocusdTest, Follower_RedirectsToTheLeader) {
  ApiCluster cluster(3, clock_);
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  const int follower = (leader + 1) % 3;
  ASSERT_TRUE(WaitUntil([&] { return cluster.nodes().node(follower)->Status().leader != 0; }));
  const http::HttpAnswer answer =
      Send(cluster.endpoint(follower), {"GET", "/v1/leases?space=orders", {}, ""});
  EXPECT_EQ(answer.status, 307u);
  EXPECT_EQ(answer.Header("Location"),
            "http://" + cluster.endpoint(leader) + "/v1/leases?space=orders");
  // A client that knows this node only gets no further; one that knows all does.
  LocusdOptions only = cluster.options();
  only.endpoints = {cluster.endpoint(follower)};
  only.timeout = absl::Milliseconds(300);
  EXPECT_EQ(cluster.Connect(only)->Show(space_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(cluster.Connect()->Show(space_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LocusdTest, SpaceThatRests_IsAnsweredAtOnceAndByOneNode) {
  ApiCluster cluster(3, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(store->Create(space_, {}, clock_.Now()).ok());
  const LocusdStats before = store->Stats();
  const absl::Status status = store->Acquire(space_, Wish("a")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no worker ID is granted before 2"));
  EXPECT_EQ(store->Stats().requests, before.requests + 1) << "another node would say the same";
  EXPECT_EQ(store->Stats().limited, before.limited + 1);
}

TEST_F(LocusdTest, RequestSentAgain_IsCarriedOutOnce) {
  ApiCluster cluster(1, clock_);
  auto store = cluster.Connect();
  ASSERT_TRUE(
      store->Create(space_, {.lost = true, .longest_ttl = absl::Minutes(1)}, clock_.Now()).ok());
  const std::string id =
      absl::StrCat(absl::ToUnixMillis(clock_.Now()), "-0123456789abcdef0123456789abcdef");
  const std::string body =
      absl::StrCat("{\"rest_ms\":60000,\"caller_now_ms\":", absl::ToUnixMillis(clock_.Now()), "}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        Send(cluster.endpoint(0), {"PUT", "/v1/spaces/orders", {{"Request-Id", id}}, body}).status,
        204u);
  }
  EXPECT_EQ(store->Show(space_)->losses, 2u) << "one of the client's call, one of the three";
}

TEST_F(LocusdTest, Token_IsAskedFor_ExceptWhereHealthIs) {
  ApiCluster cluster(1, clock_, {"s3cret", "0ther"});
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  EXPECT_TRUE(cluster.Connect()->Create(space_, {.first_ever = true}, clock_.Now()).ok());
  const http::HttpAnswer refused = Send(cluster.endpoint(0), {"GET", "/v1/status", {}, ""});
  EXPECT_EQ(refused.status, 401u);
  EXPECT_EQ(
      Send(cluster.endpoint(0), {"GET", "/v1/status", {{"Authorization", "Bearer 0ther"}}, ""})
          .status,
      200u);
  EXPECT_EQ(cluster.api(0).Health(/*ready=*/false), absl::OkStatus());
  EXPECT_EQ(cluster.api(0).Health(/*ready=*/true), absl::OkStatus());
  LocusdOptions wrong = cluster.options();
  wrong.token = "wr0ng";
  const absl::Status status = cluster.Connect(wrong)->Show(space_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(status.message().find("wr0ng"), absl::string_view::npos) << status;
  wrong.endpoints = {"10.1.2.3:7070"};
  EXPECT_EQ(LocusdWorkerLeaseStore::Open(wrong).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(LocusdTest, Refusals_AreProblemsThatNameTheReason) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  auto refused = [&](std::string_view method, std::string_view target, std::string_view body,
                     unsigned status, const char* says) {
    const http::HttpAnswer answer = Send(cluster.endpoint(0), {method, target, {}, body});
    EXPECT_EQ(answer.status, status) << target << answer.body;
    EXPECT_EQ(answer.Header("Content-Type"), "application/problem+json");
    EXPECT_THAT(answer.body, HasSubstr(says));
  };
  refused("GET", "/nothing", "", 404, "/nothing");
  refused("POST", "/v1/leases", "[]", 400, "no JSON object");
  refused("POST", "/v1/leases", "{}", 400, "space");
  refused("PUT", "/v1/leases/x", "{}", 400, "no worker ID");
  refused("GET", "/v1/leases", "", 400, "?space=NAME");
  refused("GET", "/v1/leases?space=orders", "", 404, "NOT_FOUND");
  refused("GET", "/v1/leases?space=orders&limit=0", "", 400,
          "limit=\\\"0\\\" is no number of 1 to 1024");
  refused("GET", "/v1/leases?space=orders&limit=1025", "", 400, "1025");
  refused("GET", "/v1/leases?space=orders&from=-1", "", 400, "from=");
  refused("GET", "/v1/leases?from=1", "", 400, "?space=NAME");
  refused("GET", "/v1/leases?space=orders&&limit=1", "", 400, "is none of");
  refused("GET", "/v1/leases?space=orders&limit", "", 400, "is none of");
  refused("GET", "/v1/leases?space=orders&space=orders", "", 400, "given twice");
  refused("PUT", "/v1/spaces/orders", R"({"rest_ms":1.5,"caller_now_ms":1})", 400, "rest_ms");
  refused("PUT", "/v1/spaces/orders", R"({"rest_ms":1,"caller_now_ms":1,"x":1})", 400, "not known");
  refused("POST", "/v1/members", R"({"id":"7","address":"a"})", 400, "host:port host:port");
  refused("DELETE", "/v1/members/7", "", 404, "NOT_FOUND");
}

TEST_F(LocusdTest, StatusMembersAndMetrics_TellOfTheNode) {
  ApiCluster cluster(3, clock_);
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  const std::string status = Send(cluster.endpoint(leader), {"GET", "/v1/status", {}, ""}).body;
  EXPECT_THAT(status, HasSubstr(R"("role":"leader","leads_for_sure":true)"));
  EXPECT_THAT(status, HasSubstr(R"("cluster":"leases")"));
  EXPECT_THAT(status, HasSubstr(absl::StrCat(R"("api":")", cluster.endpoint(leader), "\"")));
  EXPECT_THAT(status, HasSubstr(absl::StrCat(R"("version":")", Version(), "\"")));
  const std::string members = Send(cluster.endpoint(leader), {"GET", "/v1/members", {}, ""}).body;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(members, HasSubstr(cluster.endpoint(i)));
  EXPECT_THAT(cluster.api(leader).Metrics(), HasSubstr("locusd_leads 1\n"));
}

TEST_F(LocusdTest, Transfer_MovesTheLeadership) {
  ApiCluster cluster(3, clock_);
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  const int other = (leader + 1) % 3;
  const uint64_t id = cluster.nodes().node(other)->Status().self;
  ASSERT_TRUE(WaitUntil([&] { return cluster.nodes().node(other)->Status().leader != 0; }));
  EXPECT_EQ(
      Send(cluster.endpoint(other), {"POST", absl::StrCat("/v1/members/", id, ":transfer"), {}, ""})
          .status,
      307u)
      << "a node that does not lead has nothing to hand over";
  EXPECT_TRUE(WaitUntil([&] {
    return Send(cluster.endpoint(leader),
                {"POST", absl::StrCat("/v1/members/", id, ":transfer"), {}, ""})
               .status == 204;
  }));
  EXPECT_TRUE(WaitUntil([&] { return cluster.nodes().WaitForLeader() == other; }));
}

}  // namespace
}  // namespace locus
