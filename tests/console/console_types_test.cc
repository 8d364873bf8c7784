// SPDX-License-Identifier: Apache-2.0
// The console's answer about sequence types, over HTTP.
#include "locus/sequence_type_store.h"
#include "tests/console/console_api_fixture.h"
#include "tests/support/private_server.h"

namespace locus::locusd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ConsoleTypesTest : public ConsoleApiTest {
 protected:
  void SetUp() override {
    ConsoleApiTest::SetUp();
    types_of_store_ = std::make_shared<MemorySequenceTypeStore>();
    auto open = [](const SequencerOptions& options) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
      return MemorySequencer::Create(options);
    };
    auto typed = std::make_unique<TypedNumbers>(
        std::make_unique<TypedSequences>(types_of_store_, open), TypedNumbers::Options());
    Serve(std::make_shared<SequenceSet>(MemorySequencer::Create({}).value(), 100,
                                        std::set<std::string>(), SegmentSequence::Options(),
                                        std::move(typed)));
  }
  void TearDown() override { server_.reset(); }

  // A console of a service with these sequences.
  void Serve(IdPart<SequenceSet> sequences) {
    server_.reset();  // its thread reads parts_
    auto parts = std::make_shared<IdParts>(*parts_);
    parts->sequences = std::move(sequences);
    parts_ = std::move(parts);
    server_.emplace(Parts(), options_);
  }

  void Create(
      const std::string& name, const std::string& pattern,
      const std::function<void(SequenceType&)>& change = [](SequenceType&) {}) {
    SequenceType type;
    change(type);
    type.name = name;
    type.pattern = pattern;
    type.lifetime = absl::Seconds(1);
    const auto created = types_of_store_->Create(type);
    ASSERT_TRUE(created.ok()) << created.status();
  }
  std::shared_ptr<NumberGenerator> Draw(const std::string& type, const std::string& key) {
    TypedNumbers& numbers = *parts_->sequences->typed();
    auto generator = numbers.Wait(numbers.Open(type, key).value(), ConsoleServer::Soon()).value();
    EXPECT_TRUE(generator->NextBlock(1, ConsoleServer::Soon()).ok());
    return generator;
  }

  std::shared_ptr<SequenceTypeStore> types_of_store_;
};

TEST_F(ConsoleTypesTest, Rules_AreThoseOfTheStoreWithTheCountersOfTheProcess) {
  EXPECT_EQ(server_->Get("/v1/types")["types"], json::array());
  EXPECT_EQ(server_->Get("/v1/console/session")["offers"]["types"], true);
  Create("plain", "");
  Create("bills", "{date:yyyyMMdd}{seq:8}", [](SequenceType& type) {
    type.start = 10;
    type.step = 5;
    type.period = SequenceType::Period::kDay;
    type.zone = "Asia/Shanghai";
  });
  Create("shops", "{shop:3}-{seq:4}",
         [](SequenceType& type) { type.at_max = SequencerOptions::AtMax::kWrap; });
  Draw("shops", "north \"1\"");
  Draw("shops", "");
  const json answer = server_->Get("/v1/types");
  Fits("TypesAnswer", answer);
  ASSERT_EQ(answer["types"].size(), 3u);
  for (const json& type : answer["types"]) Fits("NumberType", type);
  const json &bills = answer["types"][0], &plain = answer["types"][1], &shops = answer["types"][2];
  EXPECT_EQ(bills["name"], "bills");
  EXPECT_EQ(bills["period"], "day");
  EXPECT_EQ(bills["zone"], "Asia/Shanghai");
  EXPECT_EQ(bills["step"], "5");
  EXPECT_EQ(bills["max_value"], "99999999");
  EXPECT_EQ(bills["counters"], json::array());
  EXPECT_THAT(bills["first_number"].get<std::string>(),
              ::testing::AllOf(::testing::SizeIs(16), ::testing::EndsWith("00000010")));
  EXPECT_TRUE(plain["first_number"].is_null());
  EXPECT_EQ(plain["start"], "1");
  EXPECT_TRUE(shops["first_number"].is_null());
  EXPECT_EQ(shops["fields"], json({"shop"}));
  EXPECT_EQ(shops["at_max"], "wrap");
  ASSERT_EQ(shops["counters"].size(), 2u);
  Fits("NumberCounter", shops["counters"][0]);
  EXPECT_EQ(shops["counters"][1]["key"], "north \"1\"");
  EXPECT_EQ(shops["counters"][1]["type_version"], shops["version"]);
  EXPECT_EQ(shops["counters"][1]["numbers"], 1);
}

TEST_F(ConsoleTypesTest, DroppedTypes_AreShownWhileCountersAreLeft) {
  Create("bills", "{seq:8}");
  const auto generator = Draw("bills", "");
  ASSERT_TRUE(types_of_store_->Drop("bills", types_of_store_->Find("bills")->version).ok());
  ASSERT_TRUE(WaitUntil([&] { return generator->Stats().type_version == 0; }));
  const json answer = server_->Get("/v1/types");
  ASSERT_EQ(answer["types"].size(), 1u);
  Fits("NumberType", answer["types"][0]);
  EXPECT_EQ(answer["types"][0]["dropped"], true);
  EXPECT_EQ(answer["types"][0]["pattern"], "{seq:8}");
  EXPECT_EQ(answer["types"][0]["counters"][0]["type_version"], "0");
}

TEST_F(ConsoleTypesTest, ChangedRule_IsToldToWhoWatches) {
  Create("bills", "{seq:8}");
  EventReader events(*server_);
  const auto told = [&](const std::string& version) {
    const json event = events.NextOf("types", [&](const json& each) {
      return each["types"].size() == 1 && each["types"][0]["type_versions"] == json({version});
    });
    EXPECT_FALSE(event.is_null()) << "version " << version;
    return event;
  };
  Draw("bills", "");
  const SequenceType type = types_of_store_->Find("bills").value();
  const json first = told(absl::StrCat(type.version));
  Fits("TypesEvent", first);
  EXPECT_EQ(first["types"][0]["name"], "bills");
  SequenceType changed = type;
  changed.step = 7;
  const auto altered = types_of_store_->Alter(changed);
  ASSERT_TRUE(altered.ok()) << altered.status();
  told(absl::StrCat(altered->version));
  ASSERT_TRUE(types_of_store_->Drop("bills", altered->version).ok());
  told("0");
}

TEST_F(ConsoleTypesTest, WithoutRules_SaysWhy) {
  Serve(std::make_shared<SequenceSet>(MemorySequencer::Create({}).value(), 100));
  ExpectProblem(server_->Ask("GET", "/v1/types"), 404, "NOT_FOUND", "keeps no sequence types");
  ExpectProblem(server_->Ask("GET", "/v1/types?x=1"), 400, "INVALID_ARGUMENT", "x");
  const json session = server_->Get("/v1/console/session");
  EXPECT_EQ(session["offers"]["types"], false);
  EXPECT_THAT(session["absent"].value("types", ""), HasSubstr("keeps no sequence types"));
  EXPECT_EQ(session["offers"]["strict"], false);
  EXPECT_EQ(server_->Ask("GET", "/v1/types", "").status, 401u);
  EXPECT_EQ(server_->Ask("GET", "/v1/types", ConsoleServer::kMaker).status, 403u);
  Serve(IdPart<SequenceSet>::NotYet(absl::UnavailableError("away")));
  EXPECT_EQ(server_->Ask("GET", "/v1/types").status, 503u);
  EXPECT_EQ(server_->Get("/v1/console/session")["offers"]["types"], true);
}

}  // namespace
}  // namespace locus::locusd
