// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/table_answers.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "nlohmann/json.hpp"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using nlohmann::json;

// Another client publishes each table first.
class OvertakenPublisher : public TablePublisher {
 public:
  explicit OvertakenPublisher(TablePublisher& publisher) : publisher_(publisher) {}

  absl::StatusOr<RoutingTable> Current() override { return publisher_.Current(); }
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override {
    const absl::Status first = publisher_.Publish(table, expected, named, {"olga", "first"});
    return first.ok() ? publisher_.Publish(table, expected, named, note) : first;
  }
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override {
    return publisher_.History(most);
  }
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override { return publisher_.Fetch(epoch); }
  std::string place() const override { return publisher_.place(); }

 private:
  TablePublisher& publisher_;
};

TEST(PublishAnswerTest, SameTableOfAFasterClient_IsInForceAlready) {
  const TemporaryDirectory directory;
  const auto place = FileTablePublisher::Open(directory / "table.json").value();
  const RoutingTable table =
      RoutingTable::Make(1, {{.id = 1, .name = "a", .endpoint = "mysql://db1/a", .labels = {}}},
                         {{65535, 1}})
          .value();
  ASSERT_TRUE(place->Publish(table, 0).ok());
  auto publish = [](TablePublisher& publisher, const std::string& name) {
    const RoutingTable newest = publisher.Current().value();
    PlanRequest change;
    change.change.add.push_back({.name = name, .endpoint = "mysql://db2/" + name});
    const json plan = json::parse(PlanJson(newest, change, {}).value());
    PublishRequest request;
    request.epoch = newest.epoch();
    request.plan = plan["plan"].dump();
    request.digest = plan["next"]["digest"];
    const auto answer = Publish(publisher, request, "mallory");
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? json::parse(*answer)["already"] : json();
  };
  EXPECT_EQ(publish(*place, "b"), false);
  OvertakenPublisher overtaken(*place);
  EXPECT_EQ(publish(overtaken, "c"), true);
  EXPECT_EQ(place->History(1).value()[0].note.author, "olga");
}

}  // namespace
}  // namespace locus::locusd
