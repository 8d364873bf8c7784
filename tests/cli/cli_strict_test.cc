// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::RunLocus;

class CliStrictTest : public ::testing::Test {
 protected:
  StrictSetView Create(const std::string& set) {
    auto store = OpenStrictStore(uri_, {.create = true}).value();
    EXPECT_TRUE(store->Create(SpaceName::Parse(set).value(), {}, {.first_ever = true}).ok());
    return Show(set);
  }
  StrictSetView Show(const std::string& set) {
    return OpenStrictStore(uri_).value()->Show(SpaceName::Parse(set).value()).value();
  }

  Outcome Status(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"strict", "status", "--store", uri_};
    words.insert(words.end(), more.begin(), more.end());
    return RunLocus(words);
  }

  const TemporaryDirectory directory_;
  const std::string uri_ = absl::StrCat("sqlite:", directory_ / "strict.db");
};

TEST_F(CliStrictTest, Restored_IsALossOfTheSet) {
  const uint64_t before = Create("orders").losses;
  const uint64_t other = Create("other").losses;
  Outcome restored = RunLocus({"strict", "restored", "--store", uri_});
  EXPECT_EQ(restored.exit, 0) << restored.err;
  const StrictSetView view = Show("orders");
  EXPECT_EQ(view.losses, before + 1);
  EXPECT_GT(view.rest_until, view.now);
  EXPECT_EQ(Show("other").losses, other);
  EXPECT_EQ(RunLocus({"strict", "restored", "--store", uri_, "--set", "other"}).exit, 0);
  EXPECT_EQ(Show("other").losses, other + 1);
}

TEST_F(CliStrictTest, NoStore_IsAskedFor) {
  for (const char* const verb : {"create", "status", "restored"}) {
    const Outcome outcome = RunLocus({"strict", verb});
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_THAT(outcome.err, HasSubstr("missing: --store URI (or LOCUS_STORE)"));
  }
}

TEST_F(CliStrictTest, WhatIsNotThere_IsNamed) {
  Outcome no_file = RunLocus({"strict", "restored", "--store", uri_});
  EXPECT_EQ(no_file.exit, 1);
  EXPECT_THAT(no_file.err, HasSubstr("strict.db"));
  Create("orders");
  Outcome no_set = RunLocus({"strict", "restored", "--store", uri_, "--set", "none"});
  EXPECT_EQ(no_set.exit, 1);
  EXPECT_THAT(no_set.err, HasSubstr("none"));
  EXPECT_EQ(RunLocus({"strict", "restored", "--store", "redis://127.0.0.1:1/0"}).exit, 2);
  EXPECT_EQ(RunLocus({"strict", "restored"}).exit, 2);
}

TEST_F(CliStrictTest, Created_HasTheOptionsAndIsNotChanged) {
  const std::vector<std::string> create = {"strict", "create", "--store", uri_,
                                           "--uids", "1000",   "--ttl",   "3"};
  std::vector<std::string> words = create;
  words.insert(words.end(), {"--first-uid", "5", "--section-size", "100", "--step", "7"});
  Outcome created = RunLocus(words);
  EXPECT_EQ(created.exit, 0) << created.err;
  const StrictSetOptions wanted = {
      .first_uid = 5, .uids = 1000, .section_size = 100, .step = 7, .ttl = absl::Seconds(3)};
  EXPECT_EQ(Show("orders").options, wanted);
  EXPECT_EQ(RunLocus(words).exit, 0);
  Outcome other = RunLocus(create);
  EXPECT_EQ(other.exit, 1);
  EXPECT_EQ(Show("orders").options, wanted);
  words.insert(words.end(), {"--set", "of_texts"});
  EXPECT_EQ(RunLocus(words).exit, 0);
  EXPECT_EQ(Show("of_texts").options, wanted);
  Outcome wrong = RunLocus({"strict", "create", "--store", uri_, "--section-size", "63"});
  EXPECT_EQ(wrong.exit, 2);
  EXPECT_THAT(wrong.err, HasSubstr("63"));
}

TEST_F(CliStrictTest, CreatedAgainAfterALoss_BeginsAboveWhatWasGivenOut) {
  const SpaceName set = SpaceName::Parse("orders").value();
  std::vector<std::string> create = {"strict", "create", "--store", uri_, "--ttl", "3"};
  ASSERT_EQ(RunLocus(create).exit, 0);
  EXPECT_GT(Show("orders").rest_until, Show("orders").now);
  create.insert(create.end(), {"--set", "first", "--first-ever"});
  ASSERT_EQ(RunLocus(create).exit, 0);
  EXPECT_LT(Show("first").rest_until, Show("first").now);
  auto store = OpenStrictStore(uri_).value();
  const auto first = SpaceName::Parse("first").value();
  const StrictOwner owner = {"one", "10.0.0.1:7070", 11};
  const auto small = store->Take(first, Show("first").options, {owner, {{0}}}).value();
  EXPECT_EQ(small.items[0].start, 0u);
  const auto rests = store->Take(set, Show("orders").options, {owner, {{0}}}).value();
  EXPECT_EQ(rests.items[0].verdict, StrictGrant::Verdict::kResting);
}

TEST_F(CliStrictTest, Status_SaysWhoHasWhat) {
  ASSERT_EQ(RunLocus({"strict", "create", "--store", uri_, "--uids", "1000", "--section-size",
                      "100", "--ttl", "600", "--first-ever"})
                .exit,
            0);
  Outcome nobody = Status();
  EXPECT_EQ(nobody.exit, 1);
  EXPECT_THAT(nobody.out,
              AllOf(HasSubstr("set orders\nuids 0-999\nsections 10\n"), HasSubstr("(nobody)")));
  EXPECT_THAT(nobody.err, HasSubstr("10 of 10 sections have no owner"));

  const SpaceName set = SpaceName::Parse("orders").value();
  const StrictSetOptions options = Show("orders").options;
  auto store = OpenStrictStore(uri_).value();
  const StrictOwner one = {"one", "10.0.0.1:7070", 11}, two = {"two", "10.0.0.2:7070", 12};
  const auto taken = store->Take(set, options, {one, {{0}, {1}, {2}, {3}, {7}}}).value();
  ASSERT_TRUE(store->Take(set, options, {two, {{4}, {5}, {6}}}).ok());
  Outcome some = Status({"--json"});
  EXPECT_EQ(some.exit, 1);
  json said = json::parse(some.out);
  EXPECT_FALSE(said["healthy"]);
  EXPECT_EQ(said["free"], json({"8-9"}));
  ASSERT_EQ(said["owners"].size(), 2u);
  EXPECT_EQ(said["owners"][0]["name"], "one");
  EXPECT_EQ(said["owners"][0]["ranges"], json({"0-3", "7"}));
  EXPECT_EQ(said["owners"][0]["ended"], 0);
  EXPECT_GT(said["owners"][0]["left_ms"], 300'000);
  EXPECT_EQ(said["owners"][1]["instance"], "12");

  ASSERT_TRUE(store->Take(set, options, {two, {{8}, {9}}}).ok());
  Outcome all = Status();
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_THAT(all.out,
              AllOf(HasSubstr("10.0.0.2:7070"), HasSubstr("4-6,8-9"), Not(HasSubstr("nobody"))));
  EXPECT_TRUE(json::parse(Status({"--json"}).out)["healthy"]);

  ASSERT_TRUE(
      store
          ->Release(set, options, {one, {{7, taken.items[4].token, taken.items[4].max_seq}}, "two"})
          .ok());
  Outcome moving = Status({"--json"});
  EXPECT_EQ(moving.exit, 1);
  said = json::parse(moving.out);
  EXPECT_EQ(said["handed_over"], json::parse(R"([{"to": "two", "ranges": ["7"]}])"));
  EXPECT_THAT(moving.err, HasSubstr("1 are handed over and not taken"));
  EXPECT_THAT(Status().out, HasSubstr("(handed over to two)"));
}

TEST_F(CliStrictTest, StatusOfWhatIsNotThere_SaysWhatMakesIt) {
  Outcome no_file = Status();
  EXPECT_EQ(no_file.exit, 1);
  EXPECT_THAT(no_file.err, HasSubstr("`locus strict create --store "));
  Create("orders");
  Outcome no_set = Status({"--set", "none"});
  EXPECT_EQ(no_set.exit, 1);
  EXPECT_THAT(no_set.err, HasSubstr("none"));
  ASSERT_EQ(RunLocus({"strict", "restored", "--store", uri_}).exit, 0);
  Outcome rests = Status();
  EXPECT_THAT(rests.out, HasSubstr("rest_until 2"));
  EXPECT_THAT(rests.err, HasSubstr("the store grants none until"));
}

}  // namespace
}  // namespace locus
