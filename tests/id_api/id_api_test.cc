// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_api.h"

#include <future>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/key_ring.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "tests/support/private_server.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;
using ::testing::HasSubstr;

// A store that does not answer while it is held, and fails while it is broken.
class HeldStore : public MemorySegmentStore {
 public:
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time now) override {
    {
      internal::MutexLock lock(mutex_);
      ++waiting_;
      while (held_) changed_.Wait(mutex_);
      --waiting_;
      if (!broken_.ok()) return broken_;
    }
    return MemorySegmentStore::Allocate(space, options, requests, now);
  }
  void Hold(bool held) {
    internal::MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }
  // OK: it works again.
  void Break(absl::Status broken) {
    internal::MutexLock lock(mutex_);
    broken_ = std::move(broken);
  }
  int waiting() {
    internal::MutexLock lock(mutex_);
    return waiting_;
  }

 private:
  internal::Mutex mutex_;
  internal::CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

RoutingTable Table() {
  const std::vector<Shard> shards = {
      {.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/a", .labels = {}},
      {.id = 2, .name = "b \"2\"", .endpoint = "mysql://127.0.0.1:2/b", .labels = {}}};
  return RoutingTable::Make(7, shards, {{32767, 1}, {65535, 2}},
                            {{.first = 0, .last = 9'999, .to = 2, .permyriad = 2500, .step = 3}})
      .value();
}

class IdApiTest : public ::testing::Test {
 protected:
  void SetUp() override { Open({}); }

  void Open(const IdApiOptions& options, bool with_all = true) {
    api_.reset();
    store_ = std::make_shared<HeldStore>();
    auto opened = std::make_shared<IdParts>();
    IdParts& parts = *opened;
    OrderIdGenerator::Options orders;
    orders.create_space = true;
    parts.orders = OrderIdGenerator::Create(store_, orders).value();
    if (with_all) {
      parts.order_no_codec =
          std::make_shared<const OrderNoCodec>(OrderNoCodec::Create(ring_).value());
      parts.router = std::make_unique<Router>(Table());
      SequencerOptions in_fives;
      in_fives.step = 5;
      parts.sequences = std::make_shared<SequenceSet>(MemorySequencer::Create(in_fives).value(), 3);
      auto leases = std::make_shared<MemoryWorkerLeaseStore>();
      ASSERT_TRUE(leases->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
      parts.snowflake = LeasedSnowflake<>::Create(leases, {}).value();
    }
    auto api = IdApi::Make(std::move(opened), options);
    ASSERT_TRUE(api.ok()) << api.status();
    api_ = *std::move(api);
  }

  using Headers = std::vector<std::pair<std::string, std::string>>;
  std::future<ServerAnswer> Begin(const std::string& method, const std::string& target,
                                  const std::string& body = "", const Headers& headers = {},
                                  const std::string& client = "shop") {
    ServerRequest request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (request.path.size() < target.size()) request.query = target.substr(request.path.size() + 1);
    request.headers = headers;
    request.body = body;
    EXPECT_NE(api_->Routes().Find(request.path).path, nullptr) << target;
    auto promise = std::make_shared<std::promise<ServerAnswer>>();
    api_->Handle(std::move(request), Access{client, Scopes::All()},
                 [promise](ServerAnswer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  ServerAnswer Ask(const std::string& method, const std::string& target,
                   const std::string& body = "", const Headers& headers = {}) {
    return Begin(method, target, body, headers).get();
  }
  // The body of a good answer.
  json Get(const std::string& target) { return Good(Ask("GET", target)); }
  json Post(const std::string& target, const json& body) {
    return Good(Ask("POST", target, body.dump()));
  }
  static json Good(const ServerAnswer& answer) {
    EXPECT_EQ(answer.status, 200u) << answer.body;
    EXPECT_EQ(answer.headers[0].second, "application/json");
    return json::parse(answer.body);
  }
  void ExpectRefused(const ServerAnswer& answer, unsigned status, const std::string& why) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.headers[0].second, "application/problem+json");
    EXPECT_THAT(answer.body, HasSubstr(why));
  }

  KeyRing ring_ = KeyRing::Generate().value();
  std::shared_ptr<HeldStore> store_;
  std::unique_ptr<IdApi> api_;
};

TEST_F(IdApiTest, OrderIds_HaveTheGeneNumberAndShardOfTheirBuyer) {
  const OrderNoCodec codec = OrderNoCodec::Create(ring_).value();
  const Router router(Table());
  std::set<std::string> made;
  for (int round = 0; round < 3; ++round) {
    json buyers = json::array();
    for (int i = 0; i < 500; ++i) buyers.push_back(absl::StrCat(i % 50));
    const json orders = Post("/v1/orders/ids", {{"buyers", buyers}})["orders"];
    ASSERT_EQ(orders.size(), 500u);
    for (size_t i = 0; i < orders.size(); ++i) {
      const std::string text = orders[i]["order_id"];
      const OrderId id = OrderId::Parse(text).value();
      EXPECT_EQ(id.gene(), ShardGene::Of(BuyerKey::Uint64(i % 50)));
      EXPECT_EQ(orders[i]["order_no"], codec.Encode(id)->ToString());
      EXPECT_EQ(orders[i]["shard"], router.Route(id).name);
      EXPECT_TRUE(made.insert(text).second) << text << " twice";
    }
  }
}

TEST_F(IdApiTest, ServiceWithoutKeysAndTable_OffersLess) {
  Open({}, /*with_all=*/false);
  const json order = Post("/v1/orders/ids", {{"buyers", {"1"}}})["orders"][0];
  EXPECT_TRUE(order.contains("order_id"));
  EXPECT_EQ(order.size(), 1u);
  ExpectRefused(Ask("GET", "/v1/snowflake"), 404, "no Snowflake IDs");
  ExpectRefused(Ask("GET", "/v1/sequences/a/next"), 404, "no sequence");
  ExpectRefused(Ask("GET", "/v1/route?buyer=1"), 404, "no routing table");
  ExpectRefused(Ask("POST", "/v1/route", R"({"items":[]})"), 404, "no routing table");
  ExpectRefused(Ask("POST", "/v1/order_no:decode", R"({"order_nos":["x"]})"), 404, "no keys");
}

TEST_F(IdApiTest, Numbers_ComeFromTheirCounter) {
  EXPECT_EQ(Get("/v1/sequences/a/next")["numbers"], json({"5"}));
  EXPECT_EQ(Get("/v1/sequences/a/next?n=3")["numbers"], json({"10", "15", "20"}));
  const json many = Get("/v1/sequences/a/next?n=10000")["numbers"];
  ASSERT_EQ(many.size(), 10'000u);
  for (size_t i = 0; i < many.size(); ++i) EXPECT_EQ(many[i], absl::StrCat(25 + 5 * i));
  EXPECT_EQ(Get("/v1/sequences/b%2Fc/next")["numbers"], json({"5"}));
  EXPECT_EQ(Get("/v1/sequences/d/next")["numbers"], json({"5"}));
  ExpectRefused(Ask("GET", "/v1/sequences/e/next"), 404, "no more than 3");
  ExpectRefused(Ask("GET", "/v1/sequences/%4/next"), 400, "two hex digits");
}

TEST_F(IdApiTest, SnowflakesAndUuids_Rise) {
  int64_t last = 0;
  std::string last_uuid;
  for (const int count : {1, 10, 10'000}) {
    const json ids = Get(absl::StrCat("/v1/snowflake?n=", count))["ids"];
    ASSERT_EQ(ids.size(), static_cast<size_t>(count));
    for (const std::string text : ids) {
      EXPECT_GT(std::stoll(text), last);
      last = std::stoll(text);
    }
    const json uuids = Get(absl::StrCat("/v1/uuid?n=", count))["uuids"];
    ASSERT_EQ(uuids.size(), static_cast<size_t>(count));
    for (const std::string text : uuids) {
      EXPECT_GT(text, last_uuid);
      last_uuid = text;
    }
  }
}

TEST_F(IdApiTest, Routes_AreThoseOfTheTable) {
  const Router router(Table());
  const OrderNoCodec codec = OrderNoCodec::Create(ring_).value();
  json items = json::array();
  json expected = json::array();
  auto expect = [&](const char* by, const std::string& text, const json& routes) {
    EXPECT_EQ(Get(absl::StrCat("/v1/route?", by, "=", text)),
              json({{"epoch", "7"}, {"routes", routes}}));
    items.push_back({{by, text}});
    expected.push_back({{"routes", routes}});
  };
  auto route = [](const RoutedShard& shard, uint32_t first, uint32_t end) {
    return json{{"shard", {{"id", shard.id}, {"name", shard.name}, {"endpoint", shard.endpoint}}},
                {"first_cohort", first},
                {"end_cohort", end}};
  };
  for (uint64_t buyer = 0; buyer < 20; ++buyer) {
    const ShardGene gene = ShardGene::Of(BuyerKey::Uint64(buyer));
    const OrderId id = OrderId::FromParts(gene, 1000 + buyer * 77).value();
    expect("order_id", id.ToString(),
           json::array({route(router.Route(id), id.cohort(), id.cohort() + 1)}));
    json routes = json::array();
    for (const BuyerRoute& each : router.RoutesOf(gene)) {
      routes.push_back(route(*each.shard, each.first_cohort, each.end_cohort));
    }
    expect("buyer", absl::StrCat(buyer), routes);
    expect("order_no", codec.Encode(id)->ToString(), routes);
  }
  EXPECT_EQ(Post("/v1/route", {{"items", items}}), json({{"epoch", "7"}, {"items", expected}}));
  ExpectRefused(Ask("GET", "/v1/route"), 400, "is needed");
  ExpectRefused(Ask("GET", "/v1/route?buyer=1&order_id=1"), 400, "is needed");
  ExpectRefused(Ask("GET", "/v1/route?order_id=-1"), 400, "-1");
  ExpectRefused(Ask("POST", "/v1/route", R"({"items":[{"buyer":"1"},{"order_id":"x"}]})"), 400,
                R"(\"items\"[1])");
  for (const char* const bad : {R"([1])", R"([{}])", R"([{"buyer":1}])", R"([{"a":"1"}])",
                                R"([{"buyer":"1","order_id":"1"}])"}) {
    EXPECT_EQ(Ask("POST", "/v1/route", absl::StrCat(R"({"items":)", bad, "}")).status, 400u) << bad;
  }
}

TEST_F(IdApiTest, OrderNosAreDecoded_StrangersAreNull) {
  const OrderNoCodec codec = OrderNoCodec::Create(ring_).value();
  const OrderNoCodec other = OrderNoCodec::Create(KeyRing::Generate().value()).value();
  const OrderId wide = OrderId::FromParts(ShardGene(), OrderId::kMaxSequence).value();
  const json ids = Post("/v1/order_no:decode",
                        {{"order_nos",
                          {codec.Encode(wide)->ToString(), other.Encode(OrderId())->ToString(),
                           codec.Encode(OrderId())->ToHex()}}})["order_ids"];
  EXPECT_EQ(ids, json({wide.ToString(), nullptr, "0"}));
  ExpectRefused(Ask("POST", "/v1/order_no:decode", R"({"order_nos":["x"]})"), 400, "x");
}

TEST_F(IdApiTest, Lines_AreOneForEachElement) {
  const Headers lines = {{"Accept", "application/x-ndjson, application/json"}};
  const ServerAnswer answer = Ask("POST", "/v1/orders/ids", R"({"buyers":["1","2","3"]})", lines);
  EXPECT_EQ(answer.headers[0].second, "application/x-ndjson");
  const std::vector<std::string> each = absl::StrSplit(answer.body, '\n');
  ASSERT_EQ(each.size(), 4u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(json::parse(each[i]).contains("order_id"));
  EXPECT_EQ(each[3], "");
  EXPECT_EQ(Ask("GET", "/v1/sequences/a/next?n=2", "", lines).body, "\"5\"\n\"10\"\n");
  EXPECT_EQ(Ask("GET", "/v1/uuid", "", {{"Accept", "application/json, application/x-ndjson"}})
                .headers[0]
                .second,
            "application/json");
}

TEST_F(IdApiTest, BadRequests_AreRefusedWithTheReason) {
  auto post = [this](const std::string& body) { return Ask("POST", "/v1/orders/ids", body); };
  ExpectRefused(post(""), 400, "no JSON object");
  ExpectRefused(post("[]"), 400, "no JSON object");
  ExpectRefused(post(R"({})"), 400, "buyers");
  ExpectRefused(post(R"({"buyers":[]})"), 400, "empty");
  ExpectRefused(post(R"({"buyers":["1"],"more":1})"), 400, "more");
  ExpectRefused(post(R"({"buyers":[1]})"), 400, R"(\"buyers\"[0] is 1)");
  ExpectRefused(post(R"({"buyers":["1","x"]})"), 400, R"(\"x\" is no number)");
  ExpectRefused(post(R"({"buyers":["18446744073709551616"]})"), 400, "18446744073709551615");
  std::string many = R"({"buyers":["1")";
  for (size_t i = 0; i < IdApi::kMost; ++i) many += R"(,"1")";
  ExpectRefused(post(many + "]}"), 400, "10000");
  ExpectRefused(post(std::string(100'000, '[')), 400, "no JSON object");
  ExpectRefused(Ask("GET", "/v1/orders/ids"), 404, "no GET");
  ExpectRefused(Ask("DELETE", "/v1/uuid"), 404, "no DELETE");
  ExpectRefused(Ask("GET", "/v1/uuid?n=0"), 400, "1 to 10000");
  ExpectRefused(Ask("GET", "/v1/uuid?n=10001"), 400, "1 to 10000");
  ExpectRefused(Ask("GET", "/v1/uuid?m=1"), 400, "unknown");
  ExpectRefused(Ask("GET", "/v1/uuid", "{}"), 400, "no body");
  ExpectRefused(Ask("POST", "/v1/orders/ids?n=1", R"({"buyers":["1"]})"), 400, "unknown");
}

TEST_F(IdApiTest, StoreThatDoesNotAnswer_IsWaitedForAndThenRefused) {
  Open({.wait = absl::Milliseconds(200), .waiters = 1, .most_waiting = 2, .memory = {}});
  store_->Hold(true);
  // One waits for the store, one for the thread; the third is too many.
  std::future<ServerAnswer> first = Begin("POST", "/v1/orders/ids", R"({"buyers":["1"]})");
  std::future<ServerAnswer> second = Begin("POST", "/v1/orders/ids", R"({"buyers":["1"]})");
  ExpectRefused(Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})"), 503, "which is the most");
  // What needs no store is answered meanwhile.
  Get("/v1/uuid");
  ExpectRefused(first.get(), 503, "");
  const ServerAnswer late = second.get();
  ExpectRefused(late, 503, "");
  EXPECT_THAT(late.headers, ::testing::Contains(::testing::Pair("Retry-After", "1")));
  store_->Hold(false);
  EXPECT_TRUE(WaitUntil(
      [&] { return Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})").status == 200; }));
}

TEST_F(IdApiTest, WaitsOfAServiceThatEnds_EndWithIt) {
  Open({.wait = absl::Minutes(10), .waiters = 1, .most_waiting = 8, .memory = {}});
  store_->Hold(true);
  std::vector<std::future<ServerAnswer>> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(Begin("POST", "/v1/orders/ids", R"({"buyers":["1"]})"));
  }
  api_->EndWaiting(absl::ZeroDuration());
  for (auto& each : waiting) {
    // They must not wait for ten minutes.
    const bool came = each.wait_for(std::chrono::minutes(2)) == std::future_status::ready;
    if (!came) store_->Hold(false);
    ASSERT_TRUE(came);
    ExpectRefused(each.get(), 503, "this process ends");
  }
  store_->Hold(false);
}

TEST_F(IdApiTest, PartThatGivesNothingAnyMore_IsNotReady) {
  ASSERT_TRUE(api_->Ready().ok()) << api_->Ready();
  ASSERT_TRUE(api_->parts()->snowflake->Release().ok());
  EXPECT_THAT(std::string(api_->Ready().message()), HasSubstr("its lease was released"));

  Open({.wait = absl::Milliseconds(200)}, /*with_all=*/false);
  ASSERT_TRUE(api_->Ready().ok()) << api_->Ready();
  store_->Break(absl::UnavailableError("the store is away"));
  EXPECT_EQ(Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})").status, 503u);
  EXPECT_TRUE(api_->Ready().ok()) << "others that share the store could not help";
  store_->Break(absl::NotFoundError("the store has no such space"));
  ASSERT_TRUE(WaitUntil(
      [&] { return Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})").status == 500; }));
  EXPECT_TRUE(absl::IsUnavailable(api_->Ready()));
  EXPECT_THAT(std::string(api_->Ready().message()), HasSubstr("order IDs: the store has no such"));
  store_->Break(absl::OkStatus());
  ASSERT_TRUE(WaitUntil(
      [&] { return Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})").status == 200; }));
  EXPECT_TRUE(api_->Ready().ok()) << api_->Ready();
}

TEST_F(IdApiTest, RefusedRequestsForSequences_MakeNone) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Ask("GET", absl::StrCat("/v1/sequences/", name, "/next?n=0"));
    Ask("GET", absl::StrCat("/v1/sequences/", name, "/next?m=1"));
  }
  ExpectRefused(Ask("GET", "/v1/sequences/%FF/next"), 400, "is not UTF-8");
  ExpectRefused(Ask("GET", "/v1/sequences/a%0Ab/next"), 400, "control characters");
  for (const char* name : {"a", "b", "c"}) Get(absl::StrCat("/v1/sequences/", name, "/next"));
  ExpectRefused(Ask("GET", "/v1/sequences/d/next"), 404, "no more than 3");
}

TEST_F(IdApiTest, RepetitionWithItsKey_GetsTheSameIds) {
  const Headers key = {{"Idempotency-Key", "k1"}};
  const std::string body = R"({"buyers":["1","2"]})";
  const ServerAnswer first = Ask("POST", "/v1/orders/ids", body, key);
  EXPECT_EQ(Ask("POST", "/v1/orders/ids", body, key).body, first.body);
  EXPECT_NE(Ask("POST", "/v1/orders/ids", body).body, first.body);
  EXPECT_NE(Ask("POST", "/v1/orders/ids", body, {{"Idempotency-Key", "k2"}}).body, first.body);
  EXPECT_NE(Begin("POST", "/v1/orders/ids", body, key, "another shop").get().body, first.body);
  // Another token under the name of one that a reload took away.
  EXPECT_NE(Ask("POST", "/v1/orders/ids", body,
                {{"Idempotency-Key", "k1"}, {"Authorization", "Bearer another"}})
                .body,
            first.body);
  // The scheme has no case.
  const std::string a =
      Ask("GET", "/v1/uuid", "", {{"Idempotency-Key", "k5"}, {"Authorization", "Bearer T"}}).body;
  EXPECT_EQ(
      Ask("GET", "/v1/uuid", "", {{"Idempotency-Key", "k5"}, {"Authorization", "bearer T"}}).body,
      a);
  EXPECT_NE(
      Ask("GET", "/v1/uuid", "", {{"Idempotency-Key", "k5"}, {"Authorization", "Bearer t"}}).body,
      a);
  // Which of them would a proxy in front take?
  ExpectRefused(Ask("GET", "/v1/uuid", "", {{"Idempotency-Key", "k6"}, {"idempotency-key", "k7"}}),
                400, "two Idempotency-Keys");
  ExpectRefused(Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})", key), 422, "another request");
  ExpectRefused(Ask("GET", "/v1/uuid", "", key), 422, "another request");
  ExpectRefused(Ask("GET", "/v1/uuid", "", {{"Idempotency-Key", std::string(257, 'k')}}), 400,
                "257 bytes");
  const Headers other = {{"Idempotency-Key", "k3"}};
  EXPECT_EQ(Ask("GET", "/v1/sequences/a/next", "", other).body,
            Ask("GET", "/v1/sequences/a/next", "", other).body);
  EXPECT_EQ(Ask("GET", "/v1/snowflake?n=9", "", {{"Idempotency-Key", "k4"}}).body,
            Ask("GET", "/v1/snowflake?n=9", "", {{"Idempotency-Key", "k4"}}).body);
}

TEST_F(IdApiTest, RepetitionWhileTheStoreIsSlow_GetsTheSameIds) {
  Open({.wait = absl::Minutes(1), .waiters = 1, .most_waiting = 2, .memory = {}});
  store_->Hold(true);
  const Headers key = {{"Idempotency-Key", "k1"}};
  std::vector<std::future<ServerAnswer>> answers;
  for (int i = 0; i < 5; ++i) {
    answers.push_back(Begin("POST", "/v1/orders/ids", R"({"buyers":["1"]})", key));
  }
  store_->Hold(false);
  const std::string body = answers[0].get().body;
  EXPECT_THAT(body, HasSubstr("order_id"));
  for (int i = 1; i < 5; ++i) EXPECT_EQ(answers[i].get().body, body);
}

// A refusal is none of the answers that a key keeps.
TEST_F(IdApiTest, KeyOfARefusedRequest_IsFree) {
  Open({.wait = absl::Milliseconds(50), .waiters = 1, .most_waiting = 2, .memory = {}});
  store_->Break(absl::UnavailableError("the store is broken"));
  const Headers key = {{"Idempotency-Key", "k1"}};
  ExpectRefused(Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})", key), 503, "broken");
  store_->Break(absl::OkStatus());
  EXPECT_TRUE(WaitUntil(
      [&] { return Ask("POST", "/v1/orders/ids", R"({"buyers":["1"]})", key).status == 200; }));
}

TEST_F(IdApiTest, ManyAtOnce_GetEachIdOnceAndRepetitionsTheSame) {
  constexpr int kThreads = 6, kRounds = 60;
  std::vector<std::vector<std::string>> plain(kThreads);
  std::vector<std::vector<std::string>> keyed(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &plain, &keyed] {
      for (int round = 0; round < kRounds; ++round) {
        const std::string body = absl::StrCat(R"({"buyers":[")", round * 997, R"("]})");
        plain[t].push_back(Ask("POST", "/v1/orders/ids", body).body);
        plain[t].push_back(Ask("GET", "/v1/sequences/a/next?n=7").body);
        plain[t].push_back(Ask("GET", "/v1/snowflake?n=3").body);
        keyed[t].push_back(
            Ask("POST", "/v1/orders/ids", body, {{"Idempotency-Key", absl::StrCat(round)}}).body);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> made;
  for (const auto& of : plain) {
    for (const std::string& body : of) EXPECT_TRUE(made.insert(body).second) << body;
  }
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(keyed[t], keyed[0]);
  for (const std::string& body : keyed[0]) EXPECT_TRUE(made.insert(body).second) << body;
}

TEST_F(IdApiTest, Paths_AreThoseOfIds) {
  auto owns = [this](const std::string& path) { return api_->Routes().Find(path).path != nullptr; };
  EXPECT_TRUE(owns("/v1/sequences/a/next"));
  for (const char* const other :
       {"/", "/v1/uuids", "/v1/leases", "/v1/sequences/next", "/v1/sequences//next",
        "/v1/sequences/a", "/v1/orders/ids/", "/metrics"}) {
    EXPECT_FALSE(owns(other)) << other;
  }
}

TEST_F(IdApiTest, Metrics_TellWhatWasDone) {
  Get("/v1/uuid");
  Ask("GET", "/v1/uuid?n=0");
  Get("/v1/sequences/a/next");
  const std::string text = api_->Metrics();
  EXPECT_THAT(text, HasSubstr("locus_id_requests_total 3\n"));
  EXPECT_THAT(text, HasSubstr("locus_id_requests_refused_total 1\n"));
  EXPECT_THAT(text, HasSubstr("sequence=\"a\""));
  EXPECT_THAT(text, HasSubstr("locus_router_"));
}

TEST_F(IdApiTest, BadOptions_AreRefused) {
  EXPECT_FALSE(IdApi::Make({}, {.wait = absl::ZeroDuration(), .memory = {}}).ok());
  EXPECT_FALSE(IdApi::Make({}, {.waiters = 0, .memory = {}}).ok());
}

}  // namespace
}  // namespace locus::locusd
