// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/number_jobs.h"

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "apps/locusd/ids/id_api.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "nlohmann/json.hpp"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

class NumberJobsTest : public ::testing::Test {
 protected:
  void SetUp() override { Open({}); }

  void Open(TypedNumbers::Options by_type, bool has_types = true) {
    api_.reset();
    by_type.on_type = [this](const TypeSwitchEvent&) { ++told_; };
    auto open =
        [this](const SequencerOptions& options) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
      ++opened_;
      return std::shared_ptr<Sequencer>(counters_->Share(options).value());
    };
    std::unique_ptr<TypedNumbers> typed;
    if (has_types) {
      typed =
          std::make_unique<TypedNumbers>(std::make_unique<TypedSequences>(types_, open), by_type);
    }
    auto parts = std::make_shared<IdParts>();
    parts->sequences = std::make_shared<SequenceSet>(counters_->Share({}).value(), 3, by_type.names,
                                                     SegmentSequence::Options(), std::move(typed));
    IdApiOptions options;
    options.wait = absl::Seconds(60);
    api_ = IdApi::Make(std::move(parts), options).value();
  }

  void Store(SequenceType type) { ASSERT_TRUE(types_->Create(std::move(type)).ok()); }
  static SequenceType Invoices() {
    SequenceType type;
    type.name = "invoices";
    type.pattern = "INV-{shop:2}-{seq:4}";
    type.step = 5;
    type.lifetime = absl::Seconds(1);
    return type;
  }

  ServerAnswer Ask(const std::string& target, const std::string& idempotency_key = "") {
    ServerRequest request;
    request.method = "GET";
    request.path = target.substr(0, target.find('?'));
    if (request.path.size() < target.size()) request.query = target.substr(request.path.size() + 1);
    if (!idempotency_key.empty()) request.headers = {{"Idempotency-Key", idempotency_key}};
    EXPECT_NE(api_->Routes().Find(request.path).path, nullptr) << target;
    EXPECT_TRUE(api_->Routes().Find(request.path).path->routes.front()->scopes.Has(Scope::kIds));
    std::promise<ServerAnswer> answered;
    api_->Handle(std::move(request), Access{"shop", Scopes::All()},
                 [&answered](ServerAnswer answer) { answered.set_value(std::move(answer)); });
    return answered.get_future().get();
  }
  json Get(const std::string& target) {
    const ServerAnswer answer = Ask(target);
    EXPECT_EQ(answer.status, 200u) << target << " " << answer.body;
    return json::parse(answer.body);
  }
  std::vector<std::string> Numbers(const std::string& target) {
    return Get(target)["numbers"].get<std::vector<std::string>>();
  }
  void ExpectRefused(const std::string& target, unsigned status, const std::string& why) {
    const ServerAnswer answer = Ask(target);
    EXPECT_EQ(answer.status, status) << target << " " << answer.body;
    EXPECT_THAT(answer.body, HasSubstr(why)) << target;
  }
  template <typename Condition>
  static bool Comes(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  std::shared_ptr<MemorySequenceTypeStore> types_ = std::make_shared<MemorySequenceTypeStore>();
  std::unique_ptr<MemorySequencer> counters_ = MemorySequencer::Create({}).value();
  std::atomic<int> opened_ = 0;
  std::atomic<int> told_ = 0;
  std::unique_ptr<IdApi> api_;
};

using Texts = std::vector<std::string>;

TEST_F(NumberJobsTest, Numbers_AreWrittenByTheRule) {
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?field.shop=7"), Texts({"INV-07-0005"}));
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?count=2&field.shop=7"),
            Texts({"INV-07-0010", "INV-07-0015"}));
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?key=north&field.shop=8"), Texts({"INV-08-0005"}));
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?count=500&field.shop=9").size(), 500u);
  EXPECT_EQ(opened_, 1) << "keys share a connection";
  EXPECT_EQ(counters_->Get("invoices:north").value() % 5, 0);
}

TEST_F(NumberJobsTest, SequencesOfATypeCountByIt_OthersGoOnAsTheyAre) {
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?n=2"), Texts({"5", "10"}));
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?n=2&key="), Texts({"15", "20"}));
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?key=north"), Texts({"5"}));
  EXPECT_EQ(Numbers("/v1/sequences/tickets/next?n=3"), Texts({"1", "2", "3"}));
  EXPECT_EQ(Numbers("/v1/sequences/No%20type/next"), Texts({"1"}));
  ExpectRefused("/v1/sequences/tickets/next?key=north", 404, "there is no sequence type tickets");
  ExpectRefused("/v1/sequences/No%20type/next?key=a", 400, "name of a sequence type");
  ExpectRefused("/v1/numbers/tickets/next", 404, "there is no sequence type tickets");
  EXPECT_EQ(Numbers("/v1/sequences/tickets/next"), Texts({"4"}));
}

TEST_F(NumberJobsTest, CountersOfATypeByTheirOwnNames_AreRefused) {
  EXPECT_EQ(Numbers("/v1/sequences/invoices:old/next"), Texts({"1"})) << "has no type yet";
  EXPECT_EQ(Numbers("/v1/sequences/No%20type:a/next"), Texts({"1"}));
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"5"}));
  for (const char* const name : {"invoices:", "invoices%3A", "invoices:north", "invoices::2026"}) {
    ExpectRefused(absl::StrCat("/v1/sequences/", name, "/next"), 412,
                  "counter of sequence type invoices");
  }
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"10"}));
  EXPECT_EQ(Numbers("/v1/sequences/tickets:/next"), Texts({"1"}));
}

TEST_F(NumberJobsTest, TypeWithAPeriod_TellsTheGroup) {
  SequenceType daily;
  daily.name = "daily";
  daily.period = SequenceType::Period::kYear;
  Store(daily);
  const json answer = Get("/v1/sequences/daily/next?n=2");
  EXPECT_EQ(answer["numbers"], json({"1", "2"}));
  EXPECT_EQ(answer["group"].get<std::string>().size(), 4u) << answer;
  ExpectRefused("/v1/numbers/daily/next", 500, "has no pattern");
}

TEST_F(NumberJobsTest, OptionThatContradictsTheRule_IsRefusedWithBoth) {
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?step=5&start=5&at_max=error&max_value=9999&ttl=0"),
            Texts({"5"}));
  for (const char* const path : {"/v1/sequences/invoices/next?", "/v1/numbers/invoices/next?"}) {
    for (const auto& [option, why] : std::vector<std::pair<std::string, std::string>>{
             {"step=3", "step is 3, but sequence type invoices has 5"},
             {"start=1", "start is 1"},
             {"max_value=10", "max_value is 10"},
             {"at_max=wrap", "at_max is wrap"},
             {"ttl=48h", "ttl is 48h"}}) {
      ExpectRefused(absl::StrCat(path, option), 412, why);
    }
    for (const char* const wrong : {"step=x", "at_max=stop", "ttl=1", "ttl=-1s", "start=-1"}) {
      ExpectRefused(absl::StrCat(path, wrong), 400,
                    absl::StrCat("\"detail\":\"", wrong[0] == 't' ? "ttl" : ""));
    }
  }
  ExpectRefused("/v1/numbers/invoices/next?ttl=3600", 400, "with a unit, such as 48h or 3600s");
  ExpectRefused("/v1/sequences/tickets/next?step=1", 412, "has no sequence type");
  EXPECT_THAT(api_->Metrics(), HasSubstr("\nlocus_sequence_type_refusals_total 11\n"));
}

TEST_F(NumberJobsTest, WrongRequests_CostNoNumber) {
  Store(Invoices());
  ExpectRefused("/v1/numbers/invoices/next", 400, "\\\"shop\\\" of type \\\"invoices\\\" needs");
  ExpectRefused("/v1/numbers/invoices/next?field.shop=100", 400, "shop");
  ExpectRefused("/v1/numbers/invoices/next?field.shop=x", 400, "not a number");
  ExpectRefused("/v1/numbers/invoices/next?field.shop=1&field.till=1", 400, "till");
  ExpectRefused("/v1/numbers/invoices/next?field.shop=1&n=1", 400, "n");
  ExpectRefused("/v1/numbers/invoices/next?count=0&field.shop=1", 400, "count");
  ExpectRefused("/v1/numbers/invoices/next?count=10001&field.shop=1", 400, "count");
  ExpectRefused(absl::StrCat("/v1/numbers/invoices/next?key=", std::string(401, 'k')), 400,
                "401 bytes");
  ExpectRefused("/v1/numbers/invoices/next?key=%FF", 400, "UTF-8");
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?field.shop=1"), Texts({"INV-01-0005"}));
}

TEST_F(NumberJobsTest, RuleThatIsAlteredDroppedAndCreated_IsFollowed) {
  SequenceType type = Invoices();
  type = types_->Create(type).value();
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next?field.shop=1"), Texts({"INV-01-0005"}));
  type.step = 7;
  type.pattern = "{seq:6}";
  type = types_->Alter(type, SequenceTypeStore::Repeats::kAllowed).value();
  ASSERT_TRUE(Comes([&] { return told_ == 1; }));
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next"), Texts({"000012"}));
  EXPECT_THAT(api_->Metrics(), HasSubstr(absl::StrCat("\nlocus_sequence_type_version{type=\""
                                                      "invoices\",key=\"\"} ",
                                                      type.version, "\n")));
  ASSERT_TRUE(types_->Drop("invoices", type.version).ok());
  ASSERT_TRUE(Comes([&] { return told_ == 2; }));
  ExpectRefused("/v1/numbers/invoices/next", 404, "was dropped");
  ExpectRefused("/v1/sequences/invoices/next", 404, "was dropped");
  type.version = 0;
  ASSERT_TRUE(types_->Create(type).ok());
  ASSERT_TRUE(Comes([&] { return told_ == 3; }));
  EXPECT_EQ(Numbers("/v1/numbers/invoices/next"), Texts({"000019"}));
}

TEST_F(NumberJobsTest, ProcessThatDidNotUseADroppedType_CountsNeitherItNorItsCountersPlainly) {
  ASSERT_TRUE(types_->Drop("invoices", types_->Create(Invoices())->version).ok());
  for (int i = 0; i < 2; ++i) {
    ExpectRefused("/v1/sequences/invoices/next", 404, "was dropped");
    ExpectRefused("/v1/sequences/invoices/next?key=a", 404, "was dropped");
    ExpectRefused("/v1/numbers/invoices/next?field.shop=1", 404, "was dropped");
    ExpectRefused("/v1/sequences/invoices:a/next", 412, "sequence type invoices");
    ExpectRefused("/v1/sequences/invoices:/next", 412, "sequence type invoices");
  }
  EXPECT_TRUE(absl::IsNotFound(counters_->Get("invoices").status()));
  ASSERT_TRUE(types_->Create(Invoices()).ok());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"5"}));
}

TEST_F(NumberJobsTest, SequenceInUseWhoseNameBecameADroppedType_EndsToo) {
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"1"}));
  ASSERT_TRUE(types_->Drop("invoices", types_->Create(Invoices())->version).ok());
  // Another caller brings the news; without one it is looked for twice a minute.
  ExpectRefused("/v1/sequences/invoices/next?key=", 404, "was dropped");
  ExpectRefused("/v1/sequences/invoices/next", 404, "was dropped");
}

TEST_F(NumberJobsTest, SequenceInUseWhoseNameBecameATypeAboveTheLimit_EndsToo) {
  TypedNumbers::Options few;
  few.most = 1;
  Open(few);
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"5"}));
  EXPECT_EQ(Numbers("/v1/sequences/orders/next"), Texts({"1"}));
  SequenceType orders = Invoices();
  orders.name = "orders";
  Store(orders);
  // Another caller brings the news.
  ExpectRefused("/v1/sequences/orders/next?key=", 404, "no more than 1");
  ExpectRefused("/v1/sequences/orders/next", 404, "no more than 1");
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"10"}));
}

TEST_F(NumberJobsTest, MetricsOfATypeAndOfASequenceOfItsName_AreTwoSeries) {
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"1"}));
  Store(Invoices());
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?key="), Texts({"5"}));
  // An empty label is none to Prometheus.
  EXPECT_THAT(api_->Metrics(),
              AllOf(HasSubstr("\nlocus_sequence_numbers_total{sequence=\"invoices\"} 1\n"),
                    HasSubstr("\nlocus_sequence_numbers_total{type=\"invoices\",key=\"\"} 1\n")));
}

TEST_F(NumberJobsTest, NamesAndCounts_AreLimited) {
  TypedNumbers::Options few;
  few.names = {"invoices", "tickets"};
  few.most = 2;
  Open(few);
  Store(Invoices());
  ExpectRefused("/v1/numbers/orders/next", 404, "no sequence type");
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"5"}));
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next?key=a"), Texts({"5"}));
  ExpectRefused("/v1/sequences/invoices/next?key=b", 404, "no more than 2");
  ExpectRefused("/v1/numbers/invoices/next?key=b&field.shop=1", 404, "no more than 2");
  EXPECT_EQ(Numbers("/v1/sequences/tickets/next"), Texts({"1"})) << "has no type";
  ExpectRefused("/v1/sequences/orders/next", 404, "this service has no sequence");
}

TEST_F(NumberJobsTest, StoreWithoutRules_CountsAsBefore) {
  Open({}, /*has_types=*/false);
  EXPECT_EQ(Numbers("/v1/sequences/invoices/next"), Texts({"1"}));
  ExpectRefused("/v1/sequences/invoices/next?key=a", 404, "no table of sequence types");
  ExpectRefused("/v1/sequences/invoices/next?step=1", 412, "no table of sequence types");
  ExpectRefused("/v1/numbers/invoices/next", 404, "no table of sequence types");
}

TEST_F(NumberJobsTest, RepetitionWithItsKey_GetsTheSameNumbers) {
  Store(Invoices());
  const std::string target = "/v1/numbers/invoices/next?count=3&field.shop=1";
  const ServerAnswer first = Ask(target, "one");
  EXPECT_EQ(first.status, 200u) << first.body;
  EXPECT_EQ(Ask(target, "one").body, first.body);
  EXPECT_NE(Ask(target, "two").body, first.body);
  EXPECT_EQ(Ask("/v1/numbers/invoices/next?count=4&field.shop=1", "one").status, 422u);
}

TEST_F(NumberJobsTest, ManyAtOnce_GetEachNumberOnce) {
  Store(Invoices());
  internal::Mutex mutex;
  std::set<std::string> all;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (const std::string& each : Numbers("/v1/numbers/invoices/next?count=20&field.shop=1")) {
          internal::MutexLock lock(mutex);
          EXPECT_TRUE(all.insert(each).second) << each;
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(all.size(), 1600u);
}

}  // namespace
}  // namespace locus::locusd
