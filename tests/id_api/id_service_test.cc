// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_service.h"

#include <atomic>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/ids/id_places.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/leased_snowflake.h"
#include "locus/open.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;
using ::testing::HasSubstr;

class IdServiceTest : public ::testing::Test {
 protected:
  IdServiceTest() {
    EXPECT_TRUE(ring_.Save(directory_ / "keys").ok());
    WriteTable("1.json", 1);
    settings_.keys = directory_ / "keys";
    settings_.wait = absl::Minutes(2);  // the machine may be busy
    const PlaceSettings place = {absl::StrCat("sqlite:", directory_ / "ids.db")};
    settings_.orders.emplace().members = {{place, "", 0}};
    settings_.orders->create = true;
    settings_.sequences.emplace().place = place;
    settings_.snowflake.emplace().leases = place;
    settings_.snowflake->create = true;
    const auto leases = OpenLeases(*settings_.snowflake);
    EXPECT_TRUE(leases.ok() &&
                (*leases)->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
    EXPECT_TRUE(MarkFirstStart(place.uri, {}, absl::Now()).ok());
    SetTable("1.json");
  }

  void WriteTable(const std::string& name, uint64_t epoch) {
    std::ofstream(directory_ / name)
        << RoutingTable::Make(epoch,
                              {{.id = 1,
                                .name = absl::StrCat("of epoch ", epoch),
                                .endpoint = "mysql://127.0.0.1:1/a",
                                .labels = {}}},
                              {{65535, 1}}, {}, "00112233445566aa")
               ->ToJson();
  }
  void SetTable(const std::string& name) {
    settings_.table.emplace().place.uri = absl::StrCat("file:", directory_ / name);
  }
  absl::Status Start() {
    auto service = IdService::Start(settings_, {});
    if (!service.ok()) return service.status();
    service_ = *std::move(service);
    return absl::OkStatus();
  }
  absl::Status Reload() {
    auto reloaded = service_->Prepare(settings_);
    if (!reloaded.ok()) return reloaded.status();
    service_->Commit(*std::move(reloaded));
    return absl::OkStatus();
  }
  ServerAnswer Ask(const std::string& method, const std::string& path, const std::string& query,
                   const std::string& body = "") {
    ServerRequest request;
    request.method = method;
    request.path = path;
    request.query = query;
    request.body = body;
    auto promise = std::make_shared<std::promise<ServerAnswer>>();
    auto answer = promise->get_future();
    service_->api().Handle(std::move(request), {"", Scopes::All()},
                           [promise](ServerAnswer given) { promise->set_value(std::move(given)); });
    return answer.get();
  }

  const TemporaryDirectory directory_;
  KeyRing ring_ = KeyRing::Generate().value();
  IdSettings settings_;
  std::unique_ptr<IdService> service_;
};

TEST_F(IdServiceTest, RequestsWhilePartsAreReplaced_EndWithWhatTheyBeganWith) {
  ASSERT_TRUE(Start().ok());
  std::atomic<bool> stop = false;
  std::atomic<int> asked = 0;
  std::mutex mutex;
  std::set<std::string> made;  // under mutex
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      while (!stop) {
        const ServerAnswer orders = Ask("POST", "/v1/orders/ids", "", R"({"buyers":["1","2"]})");
        const ServerAnswer flakes = Ask("GET", "/v1/snowflake", "n=3");
        ++asked;
        std::lock_guard lock(mutex);
        if (orders.status != 200) {
          ADD_FAILURE() << orders.body;
          continue;
        }
        const json of_orders = json::parse(orders.body);
        for (const json& order : of_orders["orders"]) {
          EXPECT_TRUE(made.insert(order["order_id"]).second);
          EXPECT_THAT(order["shard"].get<std::string>(), HasSubstr("of epoch "));
        }
        // After the release there are none; before, each is one of its own.
        if (flakes.status != 200) {
          EXPECT_EQ(flakes.status, 503u) << flakes.body;
          continue;
        }
        const json of_flakes = json::parse(flakes.body);
        for (const json& id : of_flakes["ids"]) {
          EXPECT_TRUE(made.insert(id).second);
        }
      }
    });
  }
  for (uint64_t epoch = 2; epoch <= 6; ++epoch) {
    const int before = asked;
    WriteTable(absl::StrCat(epoch, ".json"), epoch);
    SetTable(absl::StrCat(epoch, ".json"));
    ASSERT_TRUE(ring_.Activate(ring_.Add().value()).ok());
    ASSERT_TRUE(ring_.Save(settings_.keys).ok());
    const absl::Status reloaded = Reload();
    EXPECT_TRUE(reloaded.ok()) << reloaded;
    EXPECT_THAT(service_->Metrics(), HasSubstr("locus_id_parts_missing 0\n"));
    while (asked < before + 4) std::this_thread::yield();
  }
  EXPECT_EQ(service_->parts()->router->epoch(), 6u);
  EXPECT_EQ(service_->parts()->order_no_codec->active(), ring_.active());
  service_->Release();
  const int before = asked;
  while (asked < before + 4) std::this_thread::yield();
  EXPECT_EQ(Ask("GET", "/v1/snowflake", "").status, 503u);
  stop = true;
  for (std::thread& client : clients) client.join();
}

TEST_F(IdServiceTest, ReloadThatIsRefused_LeavesAllAsItWas) {
  ASSERT_TRUE(Start().ok());
  const auto before = service_->parts();
  WriteTable("2.json", 2);
  SetTable("2.json");
  ASSERT_TRUE(KeyRing::Generate()->Save(settings_.keys).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(Reload())) << "another ring";
  EXPECT_EQ(service_->parts(), before);
  ASSERT_TRUE(ring_.Save(settings_.keys).ok());
  SetTable("none.json");
  EXPECT_FALSE(Reload().ok());
  EXPECT_EQ(service_->parts(), before);
  SetTable("2.json");
  EXPECT_TRUE(Reload().ok());
  EXPECT_EQ(service_->parts()->router->epoch(), 2u);
  settings_.table.reset();
  settings_.keys.clear();
  EXPECT_TRUE(Reload().ok()) << "what is not named any more is not offered any more";
  EXPECT_EQ(Ask("GET", "/v1/route", "buyer=1").status, 404u);
  EXPECT_EQ(Ask("POST", "/v1/order_no:decode", "", R"({"order_nos":["x"]})").status, 404u);
}

// Its order_nos of before would never be read again, and nobody would know why.
TEST_F(IdServiceTest, VersionThatWasRetired_GetsNoOtherKey) {
  ASSERT_TRUE(Start().ok());
  const KeyVersion first = ring_.active();
  ASSERT_TRUE(ring_.Activate(ring_.Add().value()).ok());
  const KeyVersion second = ring_.active();
  ASSERT_TRUE(ring_.Retire(first).ok());
  ASSERT_TRUE(ring_.Save(settings_.keys).ok());
  ASSERT_TRUE(Reload().ok());
  const std::string key(ring_.key(second).value());
  KeyRing without = KeyRing::FromKey(second, key).value();
  ASSERT_TRUE(without.Save(settings_.keys).ok());
  ASSERT_TRUE(Reload().ok()) << "the retired version is not even named";
  ASSERT_TRUE(without.AddKey(first, std::string(KeyRing::kKeyBytes, 'x')).ok());
  ASSERT_TRUE(without.Save(settings_.keys).ok());
  const absl::Status reloaded = Reload();
  EXPECT_TRUE(absl::IsFailedPrecondition(reloaded)) << reloaded;
  EXPECT_THAT(std::string(reloaded.message()), HasSubstr("version 1 was retired"));
  EXPECT_EQ(service_->parts()->order_no_codec->active(), second);
}

// As after a crash of each of them within the ttl, or after the place lost its leases.
TEST_F(IdServiceTest, WorkerIdsThatAreAllTaken_AreWaitedForWhileTheRestWorks) {
  const auto leases = OpenLeases(*settings_.snowflake);
  ASSERT_TRUE(leases.ok()) << leases.status();
  std::vector<std::unique_ptr<LeasedSnowflake<>>> others;
  settings_.snowflake->datacenter = 3;
  for (int i = 0; i < 32; ++i) {
    LeasedSnowflakeOptions options;
    options.datacenter = 3;
    auto other = LeasedSnowflake<>::Create(*leases, options);
    ASSERT_TRUE(other.ok()) << other.status();
    others.push_back(*std::move(other));
  }
  const absl::Status started = Start();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_EQ(Ask("POST", "/v1/orders/ids", "", R"({"buyers":["1"]})").status, 200u);
  const ServerAnswer flakes = Ask("GET", "/v1/snowflake", "");
  EXPECT_EQ(flakes.status, 503u);
  EXPECT_THAT(flakes.body, HasSubstr("all 32 worker IDs"));
  EXPECT_TRUE(absl::IsUnavailable(service_->api().Ready()));
  ASSERT_TRUE(others.back()->Release().ok());
  EXPECT_TRUE(WaitUntil([&] { return Ask("GET", "/v1/snowflake", "").status == 200; }));
  EXPECT_TRUE(service_->api().Ready().ok()) << service_->api().Ready();
}

// A place that says for sure that it has no table is no place that does not answer.
TEST_F(IdServiceTest, PlaceWithoutATable_EndsTheStart) {
  SetTable("none.json");
  const absl::Status started = Start();
  EXPECT_TRUE(absl::IsFailedPrecondition(started)) << started;
  EXPECT_THAT(std::string(started.message()),
              ::testing::AllOf(HasSubstr("routing table"), HasSubstr("none.json")));
}

TEST_F(IdServiceTest, BuyerWithoutAName_IsRefused) {
  settings_.text_buyers = true;
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Ask("POST", "/v1/orders/ids", "", R"({"buyers":["ana"]})").status, 200u);
  const ServerAnswer refused = Ask("POST", "/v1/orders/ids", "", R"({"buyers":["ana",""]})");
  EXPECT_EQ(refused.status, 400u);
  EXPECT_THAT(refused.body, HasSubstr("the buyer is empty"));
}

TEST_F(IdServiceTest, SequencesByName_AreTheOnlyOnes) {
  settings_.sequences->names = {"a"};
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Ask("GET", "/v1/sequences/a/next", "").status, 200u);
  EXPECT_EQ(Ask("GET", "/v1/sequences/b/next", "").status, 404u);
}

}  // namespace
}  // namespace locus::locusd
