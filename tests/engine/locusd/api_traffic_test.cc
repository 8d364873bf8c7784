// SPDX-License-Identifier: Apache-2.0
// The API's handling of requests before they reach the cluster: forwarding, limits, traces.
#include <deque>
#include <future>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "src/base/run/mutex.h"
#include "src/cluster/api/bodies.h"
#include "src/http/connection.h"
#include "src/http/server.h"
#include "tests/engine/locusd/api_cluster.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using cluster_api::ApiOptions;
using cluster_api::RequestEvent;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

constexpr char kTraceparent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr char kTraceId[] = "4bf92f3577b34da6a3ce929d0e0e4736";

class ApiTrafficTest : public ::testing::Test {
 protected:
  // Collects each API's log events, and the facts that each node applies.
  ApiCluster::Adjust Listening(std::function<void(ApiOptions&)> more = {}) {
    return [this, more](int node, ApiOptions& options) {
      options.on_request = [this, node](const RequestEvent& event) {
        internal::MutexLock lock(mutex_);
        events_.push_back({node, event});
      };
      if (more) more(options);
    };
  }
  TestCluster::Adjust FactsKept() {
    return [this](int, cluster_node::ClusterNodeOptions& options) {
      options.on_fact = [this](raft::Index, size_t, const cluster_machine::Fact& fact, bool) {
        internal::MutexLock lock(mutex_);
        facts_.push_back(fact);
      };
    };
  }
  std::vector<RequestEvent> EventsOf(int node) {
    internal::MutexLock lock(mutex_);
    std::vector<RequestEvent> found;
    for (const auto& [at, event] : events_) {
      if (at == node) found.push_back(event);
    }
    return found;
  }
  std::string CreateBody(int rest_ms = 60'000) {
    return absl::StrCat("{\"rest_ms\":", rest_ms,
                        ",\"caller_now_ms\":", absl::ToUnixMillis(clock_.Now()), "}");
  }
  std::string Id(int number) {
    return absl::StrCat(absl::ToUnixMillis(clock_.Now()), "-0123456789abcdef0123456789abcde",
                        number);
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
  // A node that knows the leader and does not lead; -1: none.
  static int WaitForFollower(ApiCluster& cluster) {
    const int leader = cluster.nodes().WaitForLeader();
    const int follower = (leader + 1) % cluster.nodes().size();
    const bool knows = WaitUntil(
        [&] { return cluster.nodes().node(follower)->Status().leader == cluster.id(leader); });
    return leader >= 0 && knows ? follower : -1;
  }

  fakes::ManualClock clock_;
  const SpaceName space_;
  internal::Mutex mutex_;
  std::deque<std::pair<int, RequestEvent>> events_ ABSL_GUARDED_BY(mutex_);
  std::vector<cluster_machine::Fact> facts_ ABSL_GUARDED_BY(mutex_);
};

TEST_F(ApiTrafficTest, OperatorTokens_AreNeededForOperatorsRequests) {
  ApiCluster cluster(1, clock_, {"client"}, Listening([](ApiOptions& options) {
                       options.admit = AdmitTokens({"client"}, {"oper"});
                     }));
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  auto send = [&](const std::string& token, const char* method, const char* path) {
    return Send(cluster.endpoint(0),
                {method, path, {{"Authorization", "Bearer " + token}}, CreateBody()});
  };
  constexpr std::pair<const char*, const char*> kOfOperators[] = {
      {"PUT", "/v1/spaces/orders"},      {"DELETE", "/v1/spaces/orders"},
      {"POST", "/v1/members"},           {"DELETE", "/v1/members/7"},
      {"POST", "/v1/members/7:promote"}, {"POST", "/v1/members/7:transfer"},
      {"POST", "/v1/time:advance"}};
  for (const auto& [method, path] : kOfOperators) {
    const http::HttpAnswer refused = send("client", method, path);
    EXPECT_EQ(refused.status, 403u) << method << " " << path;
    EXPECT_THAT(refused.body, HasSubstr("operator tokens")) << path;
    EXPECT_EQ(send("guessed", method, path).status, 401u) << path;
  }
  EXPECT_EQ(send("oper", "PUT", "/v1/spaces/orders").status, 204u);
  EXPECT_NE(send("oper", "POST", "/v1/members").status, 403u);
  for (const char* token : {"client", "oper"}) {
    EXPECT_EQ(send(token, "GET", "/v1/members").status, 200u);
    EXPECT_EQ(send(token, "GET", "/v1/leases?space=orders").status, 200u);
  }
}

TEST_F(ApiTrafficTest, SpaceWithoutHolders_IsDeleted) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  const std::string at = cluster.endpoint(0), place = "/v1/spaces/orders";
  EXPECT_EQ(Send(at, {"DELETE", place, {}, ""}).status, 404u);
  ASSERT_EQ(Send(at, {"PUT", place, {}, CreateBody(0)}).status, 204u);
  clock_.Advance(absl::Milliseconds(10));
  const http::HttpAnswer deleted = Send(at, {"DELETE", place, {}, ""});
  EXPECT_EQ(deleted.status, 204u) << deleted.body;
  EXPECT_EQ(Send(at, {"GET", "/v1/leases?space=orders", {}, ""}).status, 404u);
  ASSERT_EQ(Send(at, {"PUT", place, {}, CreateBody()}).status, 204u);
  const http::HttpAnswer rests = Send(at, {"DELETE", place, {}, ""});
  EXPECT_EQ(rests.status, 412u) << rests.body;
}

TEST_F(ApiTrafficTest, Leases_AreListedInPages) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  const std::string at = cluster.endpoint(0);
  ASSERT_EQ(Send(at, {"PUT", "/v1/spaces/orders", {}, CreateBody(0)}).status, 204u);
  clock_.Advance(absl::Milliseconds(10));
  constexpr uint64_t kHeld = 1030;  // more than one answer lists
  std::atomic<uint64_t> granted = 0;
  for (uint64_t i = 0; i < kHeld; ++i) {
    WorkerAcquire wish;
    wish.range = {3, 2 + kHeld};
    wish.start = 3;
    wish.nonce = absl::StrCat("n", i);
    wish.caller_now = clock_.Now();
    cluster.nodes().node(0)->Submit(
        {std::nullopt, SpaceName::Parse("orders").value(), wish},
        [&](const cluster_machine::Answer& answer) { granted += answer.status.ok() ? 1 : 0; });
  }
  ASSERT_TRUE(WaitUntil([&] { return granted == kHeld; }));
  auto list = [&](const char* query) {
    return cluster_api::ParsePage(
               Send(at, {"GET", absl::StrCat("/v1/leases?space=orders", query), {}, ""}).body)
        .value();
  };
  const cluster_api::ViewPage some = list("&limit=2&from=5");
  ASSERT_EQ(some.view.workers.size(), 2u);
  EXPECT_EQ(some.view.workers[0].worker, 5u);
  EXPECT_EQ(some.next, 7u);
  EXPECT_EQ(list("").view.workers.size(), 1024u);
  EXPECT_EQ(list("").next, 1027u);
  EXPECT_EQ(list("&from=1027").view.workers.size(), 6u);
  EXPECT_EQ(list("&from=1027").next, std::nullopt);
  EXPECT_EQ(list("&from=1027&limit=6").next, std::nullopt) << "none is left";
  EXPECT_EQ(list("&from=2000").view.workers.size(), 0u);
  // The client takes all pages.
  LocusdOptions options;
  options.endpoints = {at};
  auto store = LocusdWorkerLeaseStore::Open(options, clock_);
  ASSERT_TRUE(store.ok()) << store.status();
  auto view = (*store)->Show(SpaceName::Parse("orders").value());
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_EQ(view->workers.size(), kHeld);
  for (uint64_t i = 0; i < kHeld; ++i) EXPECT_EQ(view->workers[i].worker, 3 + i);
}

TEST_F(ApiTrafficTest, ListingsBeyondTheirMost_AreRefusedUntilOneIsSent) {
  ApiCluster cluster(1, clock_);
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  ASSERT_EQ(Send(cluster.endpoint(0), {"PUT", "/v1/spaces/orders", {}, CreateBody()}).status, 204u);
  // The listing that a server would send; the server keeps an answer until then.
  auto list = [&cluster] {
    http::ServerRequest request;
    request.method = "GET";
    request.path = "/v1/leases";
    request.query = "space=orders";
    std::promise<http::ServerAnswer> answer;
    cluster.api(0).Handle(std::move(request), [&answer](http::ServerAnswer given) {
      answer.set_value(std::move(given));
    });
    return answer.get_future().get();
  };
  std::vector<http::ServerAnswer> kept;
  for (int i = 0; i < 32; ++i) {
    kept.push_back(list());
    ASSERT_EQ(kept.back().status, 200u);
  }
  EXPECT_THAT(kept[0].make_body(), HasSubstr("\"workers\":[]"));
  http::ServerAnswer refused = list();
  EXPECT_EQ(refused.status, 503u);
  EXPECT_THAT(refused.body, HasSubstr("32 listings"));
  EXPECT_THAT(refused.headers, Contains(Pair("Retry-After", "1")));
  kept.pop_back();
  EXPECT_EQ(list().status, 200u);
  EXPECT_EQ(list().status, 200u) << "none is kept";
}

TEST_F(ApiTrafficTest, FollowerThatIsAsked_Forwards_WithTokenRequestIdAndTrace) {
  ApiCluster cluster(3, clock_, {"s3cret"}, Listening(), FactsKept());
  const int follower = WaitForFollower(cluster);
  ASSERT_GE(follower, 0);
  const std::string at = cluster.endpoint(follower);
  const std::string id = Id(1), body = CreateBody();
  http::HttpRequest request{"PUT",
                            "/v1/spaces/orders",
                            {{"Authorization", "Bearer s3cret"},
                             {"Request-Id", id},
                             {"traceparent", kTraceparent},
                             {"Prefer", "respond-async, forward;x=1"}},
                            body};
  for (int i = 0; i < 3; ++i) {
    const http::HttpAnswer answer = Send(at, request);
    EXPECT_EQ(answer.status, 204u) << answer.body;
    EXPECT_EQ(answer.Header("Preference-Applied"), "forward");
  }
  const http::HttpAnswer view =
      Send(at, {"GET",
                "/v1/leases?space=orders",
                {{"Authorization", "Bearer s3cret"}, {"Prefer", "forward"}},
                ""});
  EXPECT_EQ(view.status, 200u);
  EXPECT_THAT(view.body, HasSubstr("\"losses\":1")) << "carried out once: the ID went along";
  EXPECT_EQ(view.Header("Content-Type"), "application/json");
  const http::HttpAnswer refused =
      Send(at, {"GET",
                "/v1/leases?space=nothing",
                {{"Authorization", "Bearer s3cret"}, {"Prefer", "forward"}},
                ""});
  EXPECT_EQ(refused.status, 404u) << "the leader's refusal is the answer";
  EXPECT_THAT(refused.body, HasSubstr("NOT_FOUND"));
  {
    internal::MutexLock lock(mutex_);
    ASSERT_FALSE(facts_.empty());
    EXPECT_EQ(ToString(facts_[0].trace), kTraceId);
  }
  // An event comes after its answer.
  EXPECT_TRUE(WaitUntil([&] { return EventsOf(follower).size() >= 5; }));
  const std::vector<RequestEvent> events = EventsOf(follower);
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(events[0].forwarded);
  EXPECT_EQ(events[0].method, "PUT");
  EXPECT_EQ(events[0].path, "/v1/spaces/orders");
  EXPECT_EQ(events[0].status, 204u);
  EXPECT_EQ(events[0].peer, "127.0.0.1");
  EXPECT_EQ(events[0].trace_id, kTraceId);
  EXPECT_GT(events[0].duration, absl::ZeroDuration());
  EXPECT_EQ(events[3].trace_id, "");
  EXPECT_EQ(
      Send(at, {"PUT", "/v1/spaces/orders", {{"Authorization", "Bearer s3cret"}}, body}).status,
      307u)
      << "nobody asked to forward";
}

// Two nodes that take each other for the leader hand a request on once.
TEST_F(ApiTrafficTest, ForwardedRequest_IsNotForwardedAgain) {
  ApiCluster cluster(3, clock_, {}, Listening());
  const int follower = WaitForFollower(cluster);
  ASSERT_GE(follower, 0);
  const http::HttpAnswer answer = Send(
      cluster.endpoint(follower),
      {"GET", "/v1/leases?space=orders", {{"Prefer", "forward"}, {"Locusd-Forwarded", "1"}}, ""});
  EXPECT_EQ(answer.status, 307u);
}

TEST_F(ApiTrafficTest, TooManyForwards_AreRedirected_AndALeaderThatHangsIsGivenUp) {
  ApiCluster cluster(3, clock_, {}, Listening([](ApiOptions& options) {
                       options.forward.most = 1;
                       options.forward.timeout = absl::Seconds(2);
                     }));
  const int follower = WaitForFollower(cluster);
  ASSERT_GE(follower, 0);
  const int leader = cluster.nodes().WaitForLeader();
  // The node leads on, but its API is another program, which never answers.
  cluster.StopServing(leader);
  internal::Mutex mutex;
  std::vector<http::Server::Respond> unanswered;
  http::ServerOptions in_place;
  in_place.listen = cluster.endpoint(leader);
  auto hangs =
      http::Server::Start(in_place, [&](const http::ServerRequest&, http::Server::Respond respond) {
        internal::MutexLock lock(mutex);
        unanswered.push_back(std::move(respond));
      });
  ASSERT_TRUE(hangs.ok()) << hangs.status();
  const std::string body = CreateBody();
  const http::HttpRequest request{"PUT", "/v1/spaces/orders", {{"Prefer", "forward"}}, body};
  std::thread first([&] {
    const http::HttpAnswer answer = Send(cluster.endpoint(follower), request);
    EXPECT_EQ(answer.status, 503u);
    EXPECT_THAT(answer.body, HasSubstr("may have carried the request out"));
  });
  EXPECT_TRUE(WaitUntil([&] { return (*hangs)->stats().requests == 1; }));
  EXPECT_EQ(Send(cluster.endpoint(follower), request).status, 307u) << "one at once";
  EXPECT_EQ(Send(cluster.endpoint(follower), {"GET", "/v1/status", {}, ""}).status, 200u)
      << "the server's thread is free";
  first.join();
}

TEST_F(ApiTrafficTest, AddressThatSendsTooMuch_Gets429_AndTheClientComesAgain) {
  ApiCluster cluster(1, clock_, {}, Listening([](ApiOptions& options) {
                       options.rate.per_second = 1;
                       options.rate.burst = 3;
                     }));
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  const std::string at = cluster.endpoint(0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Send(at, {"GET", "/v1/status", {}, ""}).status, 200u);
  const http::HttpAnswer limited = Send(at, {"GET", "/v1/status", {}, ""});
  EXPECT_EQ(limited.status, 429u);
  EXPECT_EQ(limited.Header("Retry-After"), "1");
  EXPECT_THAT(limited.body, HasSubstr("\"status\":429"));
  EXPECT_THAT(limited.body, HasSubstr("127.0.0.1"));
  auto store = cluster.Connect();
  EXPECT_EQ(store->Show(space_).status().code(), absl::StatusCode::kNotFound) << "it waited";
  EXPECT_GE(store->Stats().limited, 1u);
  EXPECT_LE(store->Stats().requests, 3u) << "and did not hammer";
  LocusdOptions hasty = cluster.options();
  hasty.timeout = absl::Milliseconds(100);
  EXPECT_EQ(cluster.Connect(hasty)->Show(space_).status().code(), absl::StatusCode::kUnavailable);
}

// The header alone lifts no limit: in the second cluster this client's address is no member's, and
// in the first its limit is ten times as high.
TEST_F(ApiTrafficTest, ForwardedByAMember_HasALimitOfItsOwn_ByAnotherItHasNot) {
  for (const bool member : {true, false}) {
    ApiCluster cluster(1, clock_, {}, Listening([](ApiOptions& options) {
                         options.rate.per_second = 0.001;
                         options.rate.burst = 1;
                       }),
                       {}, member ? "127.0.0.1" : "localhost");
    ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
    int answered = 0;
    while (
        answered < 12 &&
        Send(cluster.endpoint(0), {"GET", "/v1/status", {{"Locusd-Forwarded", "1"}}, ""}).status ==
            200) {
      ++answered;
    }
    EXPECT_EQ(answered, member ? 10 : 1);
  }
}

TEST_F(ApiTrafficTest, TooMuchUnderWay_IsRefused_AndWorksAgainLater) {
  ApiCluster cluster(3, clock_, {},
                     Listening([](ApiOptions& options) { options.most_under_way = 2; }));
  const int leader = cluster.nodes().WaitForLeader();
  ASSERT_GE(leader, 0);
  // Nothing is committed any more: requests wait until the leader gives up.
  for (int i = 0; i < 3; ++i) {
    if (i != leader) cluster.Kill(i);
  }
  const std::string body = CreateBody();
  std::vector<std::thread> waiting;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 12; ++i) {
    waiting.emplace_back([&] {
      const http::HttpAnswer answer =
          Send(cluster.endpoint(leader), {"PUT", "/v1/spaces/orders", {}, body});
      EXPECT_EQ(answer.status, 503u);
      refused += answer.body.find("under way") != std::string::npos;
    });
  }
  for (std::thread& one : waiting) one.join();
  EXPECT_GE(refused, 1);
  EXPECT_EQ(Send(cluster.endpoint(leader), {"GET", "/v1/status", {}, ""}).status, 200u);
  EXPECT_THAT(cluster.api(leader).Metrics(),
              HasSubstr(absl::StrCat("locusd_requests_overload_total ", refused.load(), "\n")));
}

TEST_F(ApiTrafficTest, Traceparent_ThatIsMalformedOrSentTwice_IsIgnored) {
  ApiCluster cluster(1, clock_, {}, Listening());
  ASSERT_GE(cluster.nodes().WaitForLeader(), 0);
  auto status = [&](std::vector<std::pair<std::string_view, std::string_view>> headers) {
    return Send(cluster.endpoint(0), {"GET", "/v1/status", std::move(headers), ""}).status;
  };
  EXPECT_EQ(status({{"traceparent", "nonsense"}}), 200u);
  EXPECT_EQ(status({{"traceparent", kTraceparent}, {"traceparent", kTraceparent}}), 200u);
  EXPECT_EQ(status({{"TraceParent", kTraceparent}}), 200u);
  EXPECT_TRUE(WaitUntil([&] { return EventsOf(0).size() >= 3; }));
  const auto events = EventsOf(0);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].trace_id, "");
  EXPECT_EQ(events[1].trace_id, "");
  EXPECT_EQ(events[2].trace_id, kTraceId);
}

TEST_F(ApiTrafficTest, Options_OutsideTheirLimits_AreNamed) {
  TestCluster nodes(1, clock_);
  auto refusal = [&](auto change) {
    ApiOptions options;
    change(options);
    const absl::Status status = cluster_api::Api::Make(*nodes.node(0), options).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](ApiOptions& o) { o.most_under_way = 0; }), HasSubstr("under way"));
  EXPECT_THAT(refusal([](ApiOptions& o) { o.forward.most = 10'001; }), HasSubstr("10001"));
  EXPECT_THAT(refusal([](ApiOptions& o) { o.forward.timeout = absl::Milliseconds(1); }),
              HasSubstr("1ms"));
  EXPECT_THAT(refusal([](ApiOptions& o) { o.rate.burst = 0; }), HasSubstr("at once"));
}

}  // namespace
}  // namespace locus
