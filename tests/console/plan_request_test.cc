// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/plan_request.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::HasSubstr;

TEST(PlanRequestTest, Everything_IsRead) {
  auto request = ParsePlanRequest(R"({"epoch": 7,
      "add": [{"name": "c", "endpoint": "mysql://h:1/c", "weight": 50, "labels": {"tier": "hot"}},
              {"name": "d", "endpoint": "mysql://h:1/d"}],
      "remove": ["a"], "weights": {"b": 0, "d": 10}, "load": "ids", "tolerance": 0.05,
      "most_per_shard": 3})");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->epoch, 7u);
  ASSERT_EQ(request->change.add.size(), 2u);
  EXPECT_EQ(request->change.add[0].weight, 50u);
  EXPECT_EQ(request->change.add[0].labels.at("tier"), "hot");
  // Its weight stands among the weights.
  EXPECT_EQ(request->change.add[1].weight, 10u);
  EXPECT_THAT(request->change.remove, ::testing::ElementsAre("a"));
  EXPECT_EQ(request->change.weights.size(), 1u);
  EXPECT_EQ(request->change.weights.at("b"), 0u);
  EXPECT_TRUE(request->by_ids);
  EXPECT_DOUBLE_EQ(request->change.tolerance, 0.05);
  EXPECT_EQ(request->most_per_shard, 3u);
}

TEST(PlanRequestTest, Nothing_IsARequestToo) {
  auto request = ParsePlanRequest("{}");
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->epoch.has_value());
  EXPECT_EQ(request->most_per_shard, 1u);
}

TEST(PlanRequestTest, BadBodies_AreRefused_AndTheMemberIsNamed) {
  const std::pair<std::string, const char*> kCases[] = {
      {"", "not JSON"},
      {"[]", "the body: must be a JSON object"},
      {"{} {}", "not JSON"},
      {std::string(100, '['), "not JSON"},
      {R"({"epoch": 0})", "epoch: must be a number from 1"},
      {R"({"epoch": "7"})", "epoch: must be a number"},
      {R"({"epoch": -1})", "epoch"},
      {R"({"epoch": 9223372036854775808})", "epoch"},
      {R"({"ad": []})", R"("ad": is not known)"},
      {R"({"add": {}})", "add: must be an array"},
      {R"({"add": [1]})", "add[0]: must be a JSON object"},
      {R"({"add": [{"name": "c"}]})", "add[0]: must have a name and an endpoint"},
      {R"({"add": [{"name": "c", "endpoint": "here"}]})", "add[0].endpoint"},
      {R"({"add": [{"name": "c", "endpoint": "m://h/c", "weight": 1000001}]})", "add[0].weight"},
      {R"({"add": [{"name": "c", "endpoint": "m://h/c", "labels": {"a": 1}}]})", "add[0].labels"},
      {R"({"add": [{"name": "c", "endpoint": "m://h/c", "x": 1}]})", "is not known"},
      {R"({"remove": [1]})", "remove[0]"},
      {R"({"weights": {"a": 1.5}})", "weights.\"a\": must be a number from 0 to 1000000"},
      {R"({"weights": {"a": 18446744073709551615}})", "weights.\"a\""},
      {R"({"load": "rows"})", "load: must be \"ids\""},
      {R"({"tolerance": 0.1})", "tolerance: is for plans by load"},
      {R"({"load": "ids", "tolerance": 2})", "tolerance: must be a number from 0 to 1"},
      {R"({"plan": "x"})", "plan: must be a JSON object"},
      {R"({"plan": {}, "remove": ["a"]})", "plan: stands alone"},
      {R"({"most_per_shard": 0})", "most_per_shard: must be a number from 1 to 65536"},
      {absl::StrCat(R"({"remove": [")", std::string(5000, 'x'), R"("]})"), "4096 bytes"},
  };
  for (const auto& [body, what] : kCases) {
    auto request = ParsePlanRequest(body);
    EXPECT_EQ(request.status().code(), absl::StatusCode::kInvalidArgument) << body;
    EXPECT_THAT(request.status().message(), HasSubstr(what)) << body;
  }
  std::string many = R"({"remove": [)";
  for (int i = 0; i < 1001; ++i) absl::StrAppend(&many, i == 0 ? "" : ",", "\"a\"");
  EXPECT_THAT(ParsePlanRequest(many + "]}").status().message(), HasSubstr("at most 1000"));
}

TEST(PublishRequestTest, IsWholeOrRefused) {
  const std::string digest(64, 'a');
  auto request = ParsePublishRequest(
      absl::StrCat(R"({"epoch": 7, "plan": {"epoch": 7}, "digest": ")", digest, "\"}"));
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->epoch, 7u);
  EXPECT_EQ(request->plan, R"({"epoch":7})");
  EXPECT_EQ(request->digest, digest);
  const std::pair<std::string, const char*> kCases[] = {
      {"{}", "epoch: must be there"},
      {absl::StrCat(R"({"epoch": 7, "digest": ")", digest, "\"}"), "plan: must be there"},
      {R"({"epoch": 7, "plan": {}})", "digest: must be the 64 hex digits"},
      {absl::StrCat(R"({"epoch": 7, "plan": {}, "digest": ")", std::string(64, 'A'), "\"}"),
       "digest"},
      {absl::StrCat(R"({"epoch": 7, "plan": {}, "force": 1, "digest": ")", digest, "\"}"),
       "is not known"},
      {absl::StrCat(R"({"epoch": 7, "plan": {}, "reason": "a\u202eb", "digest": ")", digest, "\"}"),
       "reason"},
      {absl::StrCat(R"({"epoch": 7, "plan": {}, "reason": 1, "digest": ")", digest, "\"}"),
       "reason"},
      {absl::StrCat(R"({"epoch": 7, "plan": {}, "reason": ")", std::string(513, 'x'),
                    R"(", "digest": ")", digest, "\"}"),
       "at most 512"},
  };
  for (const auto& [body, what] : kCases) {
    EXPECT_THAT(ParsePublishRequest(body).status().message(), HasSubstr(what)) << body;
  }
}

}  // namespace
}  // namespace locus::locusd
