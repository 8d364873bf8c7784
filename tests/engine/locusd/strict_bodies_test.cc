// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/strict_bodies.h"

#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/cluster/api/store_calls.h"
#include "src/http/server.h"

namespace locus::cluster_api {
namespace {

using strict_machine::Call;
using strict_machine::Reply;
using ::testing::HasSubstr;
using Verdict = StrictGrant::Verdict;

class StrictBodiesTest : public ::testing::Test {
 protected:
  uint64_t Below(uint64_t end) { return random_() % end; }
  uint64_t Number(uint64_t least = 0) { return std::max(least, random_() >> (1 + Below(63))); }
  StrictOwner Owner() {
    const uint64_t number = Below(20);
    return {absl::StrCat("node-", number), number % 3 == 0 ? "" : absl::StrCat("h:", number),
            1 + number};
  }
  StrictSetOptions Options() {
    StrictSetOptions options;
    options.first_uid = Below(1000);
    options.uids = 1'000'000 + Below(1000);
    options.section_size = static_cast<uint32_t>(64 + Below(100));
    options.step = 1 + Below(kMostStrictStep);
    options.ttl = absl::Milliseconds(3000 + Below(590'000));
    return options;
  }
  std::set<uint32_t> Sections() {
    std::set<uint32_t> sections;
    for (uint64_t count = 1 + Below(9); count > 0; --count) {
      sections.insert(static_cast<uint32_t>(Below(5000)));
    }
    return sections;
  }
  template <typename One>
  void ExpectBack(const One& one, absl::StatusOr<One> (*parse)(std::string_view)) {
    const auto back = parse(BodyOf(Call(one)));
    ASSERT_TRUE(back.ok()) << back.status();
    internal::ByteWriter before, after;
    Put(before, Call(one));
    Put(after, Call(*back));
    EXPECT_EQ(before.Take(), after.Take());
  }

  std::mt19937_64 random_{11};
};

TEST_F(StrictBodiesTest, SetLargerThanAClusterKeeps_IsNotCreated) {
  auto put = [](uint64_t uids) {
    StrictSetOptions options;
    options.uids = uids;
    http::ServerRequest request;
    request.body = BodyOf(Call(strict_machine::Create{options, {}}));
    return CreateStrictSet("s", request).status();
  };
  EXPECT_TRUE(put(13'107'200'000).ok());
  const absl::Status status = put(13'107'200'001);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 131073 sections"));
}

TEST_F(StrictBodiesTest, SetOfACallerThatSaysNothingOfItsPast_IsNotTheFirstEver) {
  const auto create = ParseStrictCreate(
      R"({"options": {"first_uid": "0", "uids": "100", "section_size": 100, "step": 10, "ttl_ms": 10000}})");
  ASSERT_TRUE(create.ok()) << create.status();
  EXPECT_FALSE(create->past.first_ever);
}

TEST_F(StrictBodiesTest, RandomCalls_ComeBackAsTheyWere) {
  for (int i = 0; i < 1000; ++i) {
    ExpectBack(strict_machine::Create{Options(), {.first_ever = i % 2 == 0}}, ParseStrictCreate);
    strict_machine::Take take{Options(), {Owner(), {}}};
    strict_machine::Extend extend{Options(), {Owner(), {}}};
    strict_machine::Release release{Options(), {Owner(), {}, Below(2) == 0 ? "" : "b"}};
    for (const uint32_t section : Sections()) {
      take.request.wishes.push_back({section, Number()});
      extend.request.sections.push_back({section, Number(1), Number(), random_()});
      release.request.sections.push_back({section, Number(1), Number()});
    }
    ExpectBack(take, ParseStrictTake);
    ExpectBack(extend, ParseStrictExtend);
    ExpectBack(release, ParseStrictRelease);
  }
  ExpectBack(strict_machine::DeclareRestored(), ParseStrictRestored);
}

TEST_F(StrictBodiesTest, RandomReplies_ComeBackAsTheyWere) {
  for (int i = 0; i < 1000; ++i) {
    StrictReply<StrictGrant> grants{random_(), Below(2) == 0, {}};
    StrictReply<StrictExtended> extended{random_(), Below(2) == 0, {}};
    for (const uint32_t section : Sections()) {
      StrictGrant& grant = grants.items.emplace_back();
      grant.section = section;
      grant.verdict = static_cast<Verdict>(Below(3));
      if (grant.verdict != Verdict::kResting) grant.holder = Owner();
      if (grant.verdict == Verdict::kHeld && Below(4) == 0) grant.holder = {"next", "", 0};
      if (grant.verdict == Verdict::kGranted) {
        grant.token = Number(1);
        grant.start = Number();
        grant.max_seq = Number();
      } else {
        grant.wait = absl::Milliseconds(Below(600'001));
      }
      extended.items.push_back({section, Below(2) == 0, Number()});
    }
    const auto grants_back = ParseStrictGrants(BodyOf(grants));
    ASSERT_TRUE(grants_back.ok()) << grants_back.status();
    EXPECT_TRUE(strict_machine::Same(Reply(grants), Reply(*grants_back)));
    const auto extended_back = ParseStrictExtended(BodyOf(extended));
    ASSERT_TRUE(extended_back.ok()) << extended_back.status();
    EXPECT_TRUE(strict_machine::Same(Reply(extended), Reply(*extended_back)));
  }
}

TEST_F(StrictBodiesTest, View_ComesBackAsItWas) {
  strict_machine::View view;
  view.set.options = Options();
  view.set.table_version = UINT64_MAX;
  view.set.losses = 3;
  view.set.rest_until = absl::FromUnixMillis(1'700'000'000'007);
  view.now = absl::FromUnixMillis(1'700'000'000'000);
  view.holders = {{"a", "h:1", 7}, {"next", "", 0}};
  view.sections = {{2, 1, 100, 9, view.now}, {3, 0, 7, 8, view.now}, {4, 2, 5, 6, view.now}};
  const auto back = ParseStrictView(BodyOf(view));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->options, view.set.options);
  EXPECT_EQ(back->table_version, UINT64_MAX);
  EXPECT_EQ(back->losses, 3u);
  EXPECT_EQ(back->rest_until, view.set.rest_until);
  EXPECT_EQ(back->now, view.now);
  ASSERT_EQ(back->sections.size(), 3u);
  EXPECT_EQ(back->sections[0].owner, (StrictOwner{"a", "h:1", 7}));
  EXPECT_EQ(back->sections[0].max_seq, 100u);
  EXPECT_EQ(back->sections[0].token, 9u);
  EXPECT_FALSE(back->sections[1].owner.has_value());
  EXPECT_EQ(back->sections[2].successor, "next");
  EXPECT_FALSE(back->sections[2].owner.has_value());
  for (const auto& [from, to] :
       std::vector<std::pair<const char*, const char*>>{{R"("section":3)", R"("section":2)"},
                                                        {R"("section":4)", R"("section":1000000)"},
                                                        {R"("owner":1)", R"("owner":2)"},
                                                        {R"("instance":"0")", R"("instance":"x")"},
                                                        {R"("name":"a")", R"("name":"")"},
                                                        {R"("losses")", R"("loss")"}}) {
    const std::string changed = absl::StrReplaceAll(BodyOf(view), {{from, to}});
    EXPECT_NE(changed, BodyOf(view)) << from;
    EXPECT_EQ(ParseStrictView(changed).status().code(), absl::StatusCode::kInvalidArgument)
        << changed;
  }
}

TEST_F(StrictBodiesTest, BodyThatCannotBe_IsRefusedByName) {
  const Call take = strict_machine::Take{StrictSetOptions(), {{"a", "h:1", 7}, {{3, 5}}}};
  const std::string good = BodyOf(take);
  EXPECT_TRUE(ParseStrictTake(good).ok()) << good;
  auto why = [&](const char* from, const char* to) {
    const std::string changed = absl::StrReplaceAll(good, {{from, to}});
    EXPECT_NE(changed, good) << from;
    const absl::Status status = ParseStrictTake(changed).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << changed;
    return std::string(status.message());
  };
  EXPECT_THAT(why(R"("section":3)", R"("section":-1)"), HasSubstr("section"));
  EXPECT_THAT(why(R"("seen":"5")", R"("seen":"9223372036854775808")"), HasSubstr("seen"));
  EXPECT_THAT(why(R"("seen":"5")", R"("seen":5)"), HasSubstr("seen"));
  EXPECT_THAT(why(R"("seen":"5")", R"("seen":"5","x":1)"), HasSubstr("\"x\""));
  EXPECT_THAT(why(R"("name":"a")", R"("name":"A")"), HasSubstr("name"));
  EXPECT_THAT(why(R"("instance":"7")", R"("instance":"0")"), HasSubstr("instance"));
  EXPECT_THAT(why(R"("ttl_ms":10000)", R"("ttl_ms":1)"), HasSubstr("ttl"));
  EXPECT_THAT(why(R"("ttl_ms":10000)", R"("ttl_ms":99999999999)"), HasSubstr("ttl_ms"));
  EXPECT_THAT(why(R"("step":10000)", R"("step":0)"), HasSubstr("step"));
  EXPECT_THAT(why(R"("owner":{)", R"("owner":null,"x":{)"), HasSubstr("owner"));
  EXPECT_THAT(why(R"("sections":[)", R"("sections":[7,)"), HasSubstr("section"));
  EXPECT_FALSE(ParseStrictRestored(R"({"x":1})").ok());
  EXPECT_FALSE(ParseStrictCreate("[]").ok());
}

}  // namespace
}  // namespace locus::cluster_api
