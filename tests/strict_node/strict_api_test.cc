// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_api.h"

#include <future>
#include <map>

#include "absl/strings/str_cat.h"
#include "apps/locusd/strict/strict_draw.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "tests/strict/ending_store.h"
#include "tests/support/private_server.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;

// A store whose Extend does not answer while it is held.
class HeldStore : public MemoryStrictStore {
 public:
  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    {
      internal::MutexLock lock(mutex_);
      while (held_) changed_.Wait(mutex_);
    }
    return MemoryStrictStore::Extend(set, options, request);
  }
  void Hold(bool held) {
    internal::MutexLock lock(mutex_);
    held_ = held;
    changed_.NotifyAll();
  }

 private:
  internal::Mutex mutex_;
  internal::CondVar changed_;
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
};

// A store that does not answer to hand-overs, and shows no table, while it is cut off.
class CutOffStore : public MemoryStrictStore {
 public:
  absl::StatusOr<StrictReply<StrictExtended>> Release(const SpaceName& set,
                                                      const StrictSetOptions& options,
                                                      const StrictRelease& request) override {
    if (cut_off) return absl::UnavailableError("cut off");
    return MemoryStrictStore::Release(set, options, request);
  }
  absl::StatusOr<StrictSetView> Show(const SpaceName& set) override {
    if (hidden) return absl::UnavailableError("hidden");
    return MemoryStrictStore::Show(set);
  }
  std::atomic<bool> cut_off = false;
  std::atomic<bool> hidden = false;
};

StrictSettings Settings(const std::string& name) {
  StrictSettings settings;
  settings.create = true;
  settings.name = name;
  settings.advertise = name + ".example:7070";
  settings.options.uids = 1000;
  settings.options.section_size = 100;
  settings.options.step = 100;
  settings.options.ttl = absl::Minutes(1);
  return settings;
}

// A node and its API, without what calls other nodes.
struct Served {
  explicit Served(const StrictSettings& settings, StrictApiOptions options = {})
      : set_options(settings.options),
        node(
            settings, [](const StrictEvent&) {}, Clock::System()) {
    options.hand_over = [this](std::optional<std::vector<uint32_t>> sections,
                               const std::string& to) -> absl::StatusOr<StrictNode::Change> {
      if (!to.empty() && !node.FindLive(to)) return absl::NotFoundError("no node of that name");
      const StrictTable::Owner owner = {to, to + ".example:7070"};
      return node.HandOver(sections.value_or(node.sequencer()->Owned()),
                           to.empty() ? nullptr : &owner);
    };
    options.come_back = [this] { ++came_back; };
    options.on_news = [this] { ++news; };
    api = StrictApi::Make(node, std::move(options)).value();
  }

  absl::Status Open(const std::shared_ptr<StrictStore>& store) {
    // As an operator: a set that a node makes rests for a ttl.
    store->Create(SpaceName(), set_options, {.first_ever = true}).IgnoreError();
    return node.OpenSet([store] { return absl::StatusOr<std::shared_ptr<StrictStore>>(store); });
  }
  std::future<ServerAnswer> Start(const std::string& path, const std::string& body) {
    auto promise = std::make_shared<std::promise<ServerAnswer>>();
    ServerRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.path = path;
    request.body = body;
    api->Handle(request, {},
                [promise](ServerAnswer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  json Ask(const std::string& path, const std::string& body = "", unsigned expected = 200) {
    const ServerAnswer answer = Start(path, body).get();
    EXPECT_EQ(answer.status, expected) << answer.body;
    return json::parse(answer.body);
  }

  const StrictSetOptions set_options;
  StrictNode node;
  std::atomic<int> came_back = 0;
  std::atomic<int> news = 0;
  std::unique_ptr<StrictApi> api;
};

std::vector<uint64_t> NumbersOf(const json& answer) {
  std::vector<uint64_t> numbers;
  for (const json& text : answer["numbers"]) {
    numbers.push_back(std::stoull(text.get<std::string>()));
  }
  return numbers;
}

TEST(StrictApiTest, BeforeTheSetIsOpen_IsNotReady) {
  Served one(Settings("one"));
  EXPECT_TRUE(absl::IsUnavailable(one.api->Ready()));
  for (const char* const path : {"/v1/strict/next", "/v1/strict/sections:take"}) {
    one.Ask(path, R"({"sections":["0"]})", 503);
  }
  one.Ask("/v1/strict/table", "", 503);
  EXPECT_EQ(one.Ask("/v1/strict/status")["open"], false);
  ASSERT_TRUE(one.Open(std::make_shared<MemoryStrictStore>()).ok());
  EXPECT_TRUE(absl::IsUnavailable(one.api->Ready())) << "it knows of no sections yet";
  ASSERT_TRUE(one.node.Look().ok());
  EXPECT_TRUE(one.api->Ready().ok()) << one.api->Ready();
}

TEST(StrictApiTest, Status_ShowsAHandOverUntilItIsTaken) {
  const auto store = std::make_shared<MemoryStrictStore>();
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  ASSERT_TRUE(one.node.Look().ok());
  json status = one.Ask("/v1/strict/status");
  EXPECT_EQ(status["nodes"][0]["sections"], 10);
  EXPECT_EQ(status["free"]["sections"], 0);
  EXPECT_GT(status["ownership_left_ms"], 0);
  // To an owner whose address this node does not know.
  const StrictTable::Owner two = {"two", ""};
  ASSERT_TRUE(one.node.HandOver(std::vector<uint32_t>{3, 4}, &two).ok());
  ASSERT_TRUE(one.node.Look().ok());
  status = one.Ask("/v1/strict/status");
  EXPECT_EQ(status["nodes"][0]["sections"], 8);
  EXPECT_EQ(status["handed_over"][0]["to"], "two");
  EXPECT_EQ(status["handed_over"][0]["sections"], 2);
  EXPECT_EQ(status["losses"], store->Show(Settings("one").set)->losses);
}

TEST(StrictApiTest, Next_GivesRisingNumbersOfEachKey) {
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(std::make_shared<MemoryStrictStore>()).ok());
  EXPECT_EQ(one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})")["sections"], 10);
  json answer = one.Ask("/v1/strict/next", R"({"uids":["7","8"],"count":2})");
  EXPECT_THAT(NumbersOf(answer), ElementsAre(1, 2, 1, 2));
  EXPECT_EQ(answer["table_version"], absl::StrCat(one.node.table_version()));
  EXPECT_THAT(NumbersOf(one.Ask("/v1/strict/next", R"({"uids":["8","999","8"]})")),
              ElementsAre(3, 1, 4));
  one.Ask("/v1/strict/next", R"({"texts":["alice"]})");
  const auto uid = one.node.settings().options.UidOf("alice");
  EXPECT_THAT(NumbersOf(one.Ask("/v1/strict/next", absl::StrCat(R"({"uids":[")", uid, R"("]})"))),
              ElementsAre(Ge(2u)));
  one.Ask("/v1/strict/next", R"({"uids":["1000"]})", 400);
  one.Ask("/v1/strict/none", "{}", 404);
  ServerRequest with_query;
  with_query.method = "POST";
  with_query.path = "/v1/strict/next";
  with_query.query = "count=2";
  with_query.body = R"({"uids":["7"]})";
  std::promise<unsigned> status;
  one.api->Handle(with_query, {}, [&](const ServerAnswer& got) { status.set_value(got.status); });
  EXPECT_EQ(status.get_future().get(), 400u);
}

TEST(StrictApiTest, OtherTypesThanJson_AreRefused) {
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(std::make_shared<MemoryStrictStore>()).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  const auto status_of = [&](const std::string& path, const std::string& header,
                             const std::string& value) {
    ServerRequest request;
    request.method = "POST";
    request.path = "/v1/strict/" + path;
    request.headers.emplace_back(header, value);
    request.body = path == "next" ? R"({"uids":["7"]})" : R"({"sections":["0"]})";
    std::promise<unsigned> status;
    one.api->Handle(request, {}, [&](const ServerAnswer& got) { status.set_value(got.status); });
    return status.get_future().get();
  };
  for (const char* const path : {"next", "nodes", "sections:take", "sections:hand_over"}) {
    EXPECT_EQ(status_of(path, "Content-Type", "text/xml"), 415u) << path;
    EXPECT_EQ(status_of(path, "Accept", "text/html"), 406u) << path;
    EXPECT_EQ(status_of(path, "Accept", "application/x-ndjson"), 406u) << path;
  }
  EXPECT_THAT(one.api->Metrics(), HasSubstr("locus_strict_requests_refused_total 3\n"));
  for (const char* const type : {"application/json; charset=utf-8", "Application/JSON",
                                 "application/x-www-form-urlencoded", ""}) {
    EXPECT_EQ(status_of("next", "content-type", type), 200u) << type;
  }
  EXPECT_EQ(status_of("next", "accept", "text/html, */*;q=0.1"), 200u);
}

TEST(StrictApiTest, SectionsOfAnother_AreRefusedWithTheirOwner) {
  auto store = std::make_shared<MemoryStrictStore>();
  Served one(Settings("one")), two(Settings("two"));
  ASSERT_TRUE(one.Open(store).ok());
  ASSERT_TRUE(two.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-4"]})");
  two.Ask("/v1/strict/sections:take", R"({"sections":["5-8"]})");
  ASSERT_TRUE(one.node.Look().ok());
  json refusal = one.Ask("/v1/strict/next", R"({"uids":["1","500","900"]})", 421);
  EXPECT_EQ(refusal["code"], "ABORTED");
  EXPECT_EQ(refusal["detail"],
            "one does not own section 5, nor 1 more of the request; \"sections\" says who does");
  EXPECT_EQ(refusal["table_version"], absl::StrCat(one.node.table_version()));
  EXPECT_EQ(refusal["sections"].dump(),
            R"([{"owner":{"address":"two.example:7070","name":"two"},"section":5},)"
            R"({"owner":null,"section":9}])");
  // A node that asks for another node's section learns its owner by the attempt.
  EXPECT_EQ(two.Ask("/v1/strict/sections:take", R"({"sections":["0"]})")["sections"], 0);
  refusal = two.Ask("/v1/strict/next", R"({"uids":["1"]})", 421);
  EXPECT_EQ(refusal["detail"], "two does not own section 0; \"sections\" says who does");
  EXPECT_EQ(refusal["sections"][0]["owner"]["name"], "one");
  EXPECT_EQ(one.Ask("/v1/strict/table")["ranges"].dump(),
            R"([{"first":0,"last":4,"owner":0},{"first":5,"last":8,"owner":1}])");
}

TEST(StrictApiTest, AHandOver_ContinuesAboveAllEarlierNumbers) {
  auto store = std::make_shared<MemoryStrictStore>();
  Served one(Settings("one")), two(Settings("two"));
  ASSERT_TRUE(one.Open(store).ok());
  ASSERT_TRUE(two.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  const uint64_t before = NumbersOf(one.Ask("/v1/strict/next", R"({"uids":["7"],"count":9})"))[8];
  one.Ask("/v1/strict/sections:hand_over", R"({"to":"two"})", 404);
  two.Ask("/v1/strict/nodes", ToJson(one.node.News(false)));
  EXPECT_EQ(two.news, 1);
  one.Ask("/v1/strict/nodes", ToJson(two.node.News(false)));
  EXPECT_EQ(
      one.Ask("/v1/strict/sections:hand_over", R"({"sections":["0"],"to":"two"})")["sections"], 1);
  const json refusal = one.Ask("/v1/strict/next", R"({"uids":["7"]})", 421);
  EXPECT_EQ(refusal["sections"][0]["owner"]["address"], "two.example:7070");
  EXPECT_EQ(two.Ask("/v1/strict/sections:take", R"({"sections":["0"]})")["sections"], 1);
  EXPECT_THAT(NumbersOf(two.Ask("/v1/strict/next", R"({"uids":["7"]})")), Each(Ge(before + 1)));
}

TEST(StrictApiTest, AHandOverThatTheStoreDidNotCarryOut_IsTakenBack) {
  auto store = std::make_shared<CutOffStore>();
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  const uint64_t before = NumbersOf(one.Ask("/v1/strict/next", R"({"uids":["7"]})"))[0];
  store->cut_off = true;
  one.Ask("/v1/strict/sections:hand_over", R"({"sections":["0","3"]})", 503);
  ASSERT_TRUE(one.node.Look().ok());
  const absl::StatusOr<RoundPlan> plan = one.node.Plan(/*by_load=*/true);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->take, ElementsAre(0, 3));
  ASSERT_TRUE(one.node.Take(plan->take).ok());
  EXPECT_THAT(NumbersOf(one.Ask("/v1/strict/next", R"({"uids":["7"]})")), Each(Ge(before + 1)));
  // While the store keeps the section for another owner, it is not served.
  store->cut_off = false;
  one.Ask("/v1/strict/sections:hand_over", R"({"sections":["0"]})");
  EXPECT_THAT(one.node.Plan(/*by_load=*/true)->take, ElementsAre());
}

TEST(StrictApiTest, ANodeThatTakesNone_RefusesHandedOverSections) {
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(std::make_shared<MemoryStrictStore>()).ok());
  one.node.SetTakes(false);
  one.Ask("/v1/strict/sections:take", R"({"sections":["0"]})", 503);
  one.Ask("/v1/strict/sections:take", "{}");
  EXPECT_EQ(one.came_back, 1);
}

TEST(StrictApiTest, NodesOfAnotherSetOrOfTheSameName_AreRefused) {
  Served one(Settings("one"));
  StrictNews news = one.node.News(false);
  news.self.address = "elsewhere.example:7070";
  EXPECT_THAT(one.Ask("/v1/strict/nodes", ToJson(news), 400)["detail"].get<std::string>(),
              HasSubstr("is named one, as is the one at one.example:7070"));
  news.self.name = "two";
  news.set = "another";
  EXPECT_THAT(one.Ask("/v1/strict/nodes", ToJson(news), 400)["detail"].get<std::string>(),
              HasSubstr("of the set \"another\""));
  one.Ask("/v1/strict/nodes", "{}", 400);
}

TEST(StrictApiTest, NumbersThatAreUsedUp_AreWaitedForAndRise) {
  auto store = std::make_shared<HeldStore>();
  Served one(Settings("one"));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  store->Hold(true);
  auto waits = one.Start("/v1/strict/next", R"({"uids":["7","8","7"],"count":60})");
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  store->Hold(false);
  const std::vector<uint64_t> numbers = NumbersOf(json::parse(waits.get().body));
  ASSERT_EQ(numbers.size(), 180u);
  std::vector<uint64_t> of_seven(numbers.begin(), numbers.begin() + 60);
  of_seven.insert(of_seven.end(), numbers.begin() + 120, numbers.end());
  EXPECT_TRUE(std::is_sorted(of_seven.begin(), of_seven.end()));
  EXPECT_EQ(std::adjacent_find(of_seven.begin(), of_seven.end()), of_seven.end());
}

TEST(StrictApiTest, SectionWithoutNumbers_GetsOutOfRange) {
  const StrictSettings settings = Settings("one");
  Served one(settings);
  ASSERT_TRUE(
      one.Open(std::make_shared<strict::EndingStore>(
                   settings.options, std::map<uint32_t, uint64_t>{{0, strict::kMostNumber}}))
          .ok());
  EXPECT_EQ(one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})")["sections"], 10);
  const json refusal = one.Ask("/v1/strict/next", R"({"uids":["107","7"]})", 400);
  EXPECT_EQ(refusal["code"], "OUT_OF_RANGE");
  EXPECT_THAT(refusal["detail"].get<std::string>(), HasSubstr("section 0: its numbers, up to"));
  one.Ask("/v1/strict/next", R"({"uids":["107"]})");
  EXPECT_THAT(one.api->Metrics(), HasSubstr("locus_strict_requests_failed_total 1\n"));
}

TEST(StrictApiTest, NumbersThatDoNotCome_Get503) {
  auto store = std::make_shared<HeldStore>();
  StrictApiOptions options;
  options.wait = absl::Milliseconds(150);
  Served one(Settings("one"), std::move(options));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  store->Hold(true);
  const ServerAnswer answer = one.Start("/v1/strict/next", R"({"uids":["7"],"count":200})").get();
  EXPECT_EQ(answer.status, 503u);
  EXPECT_THAT(answer.body, HasSubstr("are used up"));
  EXPECT_THAT(one.api->Metrics(), HasSubstr("locus_strict_requests_unavailable_total 1\n"));
  store->Hold(false);
  EXPECT_TRUE(WaitUntil(
      [&] { return one.Start("/v1/strict/next", R"({"uids":["7"]})").get().status == 200; }));
}

TEST(StrictApiTest, AnOwnershipThatHasEnded_Gets503AtOnce) {
  auto store = std::make_shared<HeldStore>();
  StrictApiOptions options;
  options.wait = absl::Minutes(10);
  StrictSettings settings = Settings("one");
  settings.options.ttl = absl::Seconds(3);
  Served one(settings, std::move(options));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  store->Hold(true);
  // Calls that already wait get it as well.
  auto waits = one.Start("/v1/strict/next", R"({"uids":["7"],"count":200})");
  EXPECT_EQ(waits.get().status, 503u);
  EXPECT_TRUE(one.node.sequencer()->OwnershipHasEnded(7));
  const json refusal = one.Ask("/v1/strict/next", R"({"uids":["8"]})", 503);
  EXPECT_THAT(refusal["detail"].get<std::string>(), HasSubstr("was not renewed in time"));
  EXPECT_FALSE(one.node.sequencer()->OwnershipHasEnded(1000)) << "none of the set's";
  store->Hold(false);
}

TEST(StrictApiTest, ANodeThatCannotReadItsStore_IsGivenNoSections) {
  auto store = std::make_shared<CutOffStore>();
  Served one(Settings("one"));
  EXPECT_EQ(one.node.News(false).self.weight, 0u);
  ASSERT_TRUE(one.Open(store).ok());
  EXPECT_EQ(one.node.News(false).self.weight, 100u);
  store->hidden = true;
  EXPECT_FALSE(one.node.Look().ok());
  EXPECT_EQ(one.node.News(false).self.weight, 0u);
  store->hidden = false;
  EXPECT_TRUE(one.node.Look().ok());
  EXPECT_EQ(one.node.News(false).self.weight, 100u);
}

TEST(StrictApiTest, MoreThanMayWait_Get503AtOnce) {
  auto store = std::make_shared<HeldStore>();
  StrictApiOptions options;
  options.most_waiting = 1;
  Served one(Settings("one"), std::move(options));
  ASSERT_TRUE(one.Open(store).ok());
  one.Ask("/v1/strict/sections:take", R"({"sections":["0-9"]})");
  store->Hold(true);
  auto waits = one.Start("/v1/strict/next", R"({"uids":["7"],"count":200})");
  const json refusal = one.Ask("/v1/strict/next", R"({"uids":["7"],"count":200})", 503);
  EXPECT_THAT(refusal["detail"].get<std::string>(), HasSubstr("1 requests wait"));
  store->Hold(false);
  EXPECT_EQ(waits.get().status, 200u);
}

TEST(StrictApiTest, Needs_AreIdsForNumbersAndStrictForSections) {
  Served one(Settings("one"));
  auto needs = [&](const char* path) {
    return one.api->Routes().Find(path).path->routes.front()->scopes;
  };
  EXPECT_EQ(needs("/v1/strict/next"), Scopes{Scope::kIds});
  EXPECT_EQ(needs("/v1/strict/table"), (Scopes{Scope::kIds, Scope::kRead}));
  for (const char* const path :
       {"/v1/strict/sections:take", "/v1/strict/sections:hand_over", "/v1/strict/nodes"}) {
    EXPECT_EQ(needs(path), Scopes{Scope::kStrict}) << path;
  }
}

}  // namespace
}  // namespace locus::locusd
