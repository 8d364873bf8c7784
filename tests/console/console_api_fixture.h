// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CONSOLE_CONSOLE_API_FIXTURE_H_
#define LOCUS_TESTS_CONSOLE_CONSOLE_API_FIXTURE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locusd/console/console_api.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "locus/routing/open.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "tests/console/console_fixture.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {

// A console whose ID service is in memory and whose routing table is in a file.
class ConsoleApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    publisher_ = FileTablePublisher::Open(directory_ / "table.json").value();
    ASSERT_TRUE(publisher_->Publish(Table(1, {}), 0).ok());
    ASSERT_TRUE(publisher_->Publish(Table(2, {{0, 9'999, 2, 0, 0}}), 1).ok());
    auto parts = std::make_shared<IdParts>();
    OrderIdGenerator::Options orders;
    orders.create_space = true;
    parts->orders =
        OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), orders).value();
    codec_ = std::make_shared<const OrderNoCodec>(
        OrderNoCodec::Create(KeyRing::Generate().value()).value());
    parts->order_no_codec = codec_;
    parts->sequences = std::make_shared<SequenceSet>(MemorySequencer::Create({}).value(), 100);
    leases_ = std::make_shared<MemoryWorkerLeaseStore>();
    ASSERT_TRUE(leases_->Create(SpaceName(), {.first_ever = true}, absl::Now()).ok());
    parts->snowflake = LeasedSnowflake<>::Create(leases_, {}).value();
    RouterOptions router;
    router.confirm_every = absl::Milliseconds(200);
    parts->router =
        Router::Open(FileTableSource::Open(directory_ / "table.json").value(), router).value();
    parts_ = std::move(parts);
    options_.on_publication = [this](const ConsolePublication& by) {
      internal::MutexLock lock(told_mutex_);
      told_.push_back(by);
    };
    server_.emplace(Parts(), options_);
  }

  static RoutingTable Table(uint64_t epoch, std::vector<VnodeMove> moves) {
    const std::vector<Shard> shards = {
        {.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/a", .labels = {{"tier", "hot"}}},
        {.id = 2, .name = "b \"2\"", .endpoint = "mysql://127.0.0.1:2/b", .labels = {}}};
    return RoutingTable::Make(epoch, shards, {{32767, 1}, {65535, 2}}, std::move(moves)).value();
  }
  ConsoleParts Parts() {
    ConsoleParts parts;
    parts.ids = [this] { return parts_; };
    parts.table_place = absl::StrCat("file:", directory_ / "table.json");
    parts.open_publisher = [place = parts.table_place] { return OpenTablePublisher(place); };
    parts.open_leases = [this]() -> absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> {
      return leases_;
    };
    return parts;
  }
  void Fits(const std::string& name, const nlohmann::json& value) {
    EXPECT_EQ(types_.Misfit(name, value), "");
  }
  void ExpectProblem(const http::HttpAnswer& answer, unsigned status, const std::string& code,
                     const std::string& why) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_EQ(answer.Header("Content-Type"), "application/problem+json");
    const nlohmann::json problem = nlohmann::json::parse(answer.body, nullptr, false);
    EXPECT_EQ(problem.value("code", ""), code) << answer.body;
    EXPECT_THAT(problem.value("detail", ""), ::testing::HasSubstr(why));
  }
  std::string TakeId(uint64_t buyer) {
    return parts_->orders->Next(BuyerKey::Uint64(buyer), absl::Seconds(60)).value().ToString();
  }
  static nlohmann::json AddC() {
    return {{"add", {{{"name", "c"}, {"endpoint", "mysql://127.0.0.1:3/c"}}}}};
  }
  nlohmann::json Plan(const nlohmann::json& request) {
    const http::HttpAnswer answer = server_->Post("/v1/plan", request, ConsoleServer::kReader);
    EXPECT_EQ(answer.status, 200u) << answer.body;
    return nlohmann::json::parse(answer.body, nullptr, false);
  }
  static nlohmann::json PublicationOf(const nlohmann::json& plan) {
    return {{"epoch", plan["epoch"]}, {"plan", plan["plan"]}, {"digest", plan["next"]["digest"]}};
  }

  const ApiTypes types_ = ApiTypes::Load();
  TemporaryDirectory directory_;
  ConsoleOptions options_;
  std::unique_ptr<FileTablePublisher> publisher_;
  std::shared_ptr<MemoryWorkerLeaseStore> leases_;
  std::shared_ptr<const OrderNoCodec> codec_;
  std::shared_ptr<const IdParts> parts_;
  internal::Mutex told_mutex_;
  std::vector<ConsolePublication> told_ ABSL_GUARDED_BY(told_mutex_);
  std::optional<ConsoleServer> server_;
};

}  // namespace locus::locusd

#endif  // LOCUS_TESTS_CONSOLE_CONSOLE_API_FIXTURE_H_
