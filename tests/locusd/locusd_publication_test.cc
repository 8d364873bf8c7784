// SPDX-License-Identifier: Apache-2.0
// Who published a routing table through a service stays known: in its log and in its audit.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "the-token-of-an-operator";

// What waits for ClickHouse in this directory.
std::string KeptIn(const std::string& directory) {
  std::string kept;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
    if (!file.is_regular_file()) continue;
    std::ifstream in(file.path(), std::ios::binary);
    kept += std::string(std::istreambuf_iterator<char>(in), {});
  }
  return kept;
}

TEST(LocusdPublicationTest, PublishedTable_IsInLogAndAudit_WithTokenAddressRequestAndChange) {
  const TemporaryDirectory directory;
  const std::string place = directory / "table.json";
  auto publisher = FileTablePublisher::Open(place).value();
  const std::vector<Shard> shards = {
      {.id = 1, .name = "a", .endpoint = "mysql://127.0.0.1:1/a", .labels = {}}};
  ASSERT_TRUE(publisher->Publish(RoutingTable::Make(1, shards, {{65535, 1}}, {}).value(), 0).ok());
  WriteSecret(directory / "token", absl::StrCat(kToken, "\n"));
  IdsProcess ids(directory);
  ids.Write(absl::StrCat("roles = [\"id-service\"]\ndata = \"", directory / "data", "\"\n"), "",
            absl::StrCat(
                "[[token]]\nname = \"olga\"\nfile = \"", directory / "token",
                "\"\nscopes = [\"read\", \"publish\"]\n[ids]\n[ids.table]\nplace = \"file:", place,
                "\"\n[audit]\nclickhouse = \"127.0.0.1:1\"\n"));
  ids.token = kToken;
  ASSERT_TRUE(ids.Start());
  const IdsProcess::Headers headers = {{"Content-Type", "application/json"},
                                       {"Locus-Console", "1"},
                                       {"X-Request-Id", "request-of-olga"}};
  auto ask = [&](const std::string& target, const json& body) {
    const auto answer = ids.Ask("POST", target, body.dump(), headers);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? json::parse(answer->body, nullptr, false) : json();
  };
  const json plan =
      ask("/v1/plan", {{"add", {{{"name", "b"}, {"endpoint", "mysql://127.0.0.1:2/b"}}}}});
  ASSERT_TRUE(plan.contains("next")) << plan;
  json publication = {{"epoch", plan["epoch"]},
                      {"plan", plan["plan"]},
                      {"digest", plan["next"]["digest"]},
                      {"reason", "ticket 4711"}};
  const json published = ask("/v1/plan:publish", publication);
  EXPECT_EQ(published["epoch"], 2) << published;
  EXPECT_TRUE(ids.Logs("routing table published"));
  EXPECT_EQ(publisher->History(1).value()[0].note, (PublicationNote{"olga", "ticket 4711"}));
  EXPECT_THAT(ids.LogText(),
              AllOf(HasSubstr("request-of-olga"), HasSubstr("olga"), HasSubstr("ticket 4711")));
  publication["reason"] = "of another";
  EXPECT_EQ(ask("/v1/plan:publish", publication)["already"], true);
  EXPECT_TRUE(ids.Logs("routing table was in force already"));
  ids.process().Stop();
  const std::string kept = KeptIn(directory / "data");
  EXPECT_THAT(kept,
              AllOf(HasSubstr("table_published"), HasSubstr("\"holder\":\"olga\""),
                    HasSubstr("from 127.0.0.1, request request-of-olga: ticket 4711: + shard 2 b"),
                    HasSubstr(absl::StrCat("file:", place)), HasSubstr("mysql://127.0.0.1:2/b"),
                    HasSubstr("\"token\":2"), Not(HasSubstr("of another"))));
}

}  // namespace
}  // namespace locus
