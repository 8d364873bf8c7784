// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/store_bodies.h"

#include <random>

#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::cluster_api {
namespace {

using ::testing::HasSubstr;
using Counter = counter_machine::Call;

class StoreBodiesTest : public ::testing::Test {
 protected:
  uint64_t Below(uint64_t end) { return random_() % end; }
  int64_t Number(int64_t least) {
    return std::max(least, static_cast<int64_t>(random_() >> (1 + Below(63))));
  }
  std::string Bytes(size_t most) {
    std::string bytes(1 + Below(most), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }
  absl::Time Time() { return absl::FromUnixMillis(static_cast<int64_t>(Below(253402300799999))); }
  absl::Duration Nanos() {
    switch (Below(5)) {
      case 0:
        return absl::InfiniteDuration();
      case 1:
        return -absl::InfiniteDuration();
      case 2:
        return absl::Nanoseconds(-Number(0));
      default:
        return absl::Nanoseconds(Number(0));
    }
  }
  SpaceOptions Options() {
    SpaceOptions options;
    options.section_size = uint32_t{1} << Below(17);
    options.max_lead = uint64_t{1} << (14 + Below(20));
    return options;
  }

  std::mt19937_64 random_{11};
};

TEST_F(StoreBodiesTest, RandomCounterCallsAndReplies_ComeBackAsTheyWere) {
  for (int i = 0; i < 5000; ++i) {
    Counter call;
    call.kind = static_cast<Counter::Kind>(Below(5));
    call.name = Bytes(counter_machine::kLongestName);
    call.ttl = absl::Milliseconds(Below(1000));
    const bool takes = call.kind == Counter::Kind::kTake;
    if (call.kind != Counter::Kind::kLoad) call.number = Number(takes ? 1 : 0);
    if (takes) {
      call.last_of_first = Number(1);
      if (Below(2) == 0) call.max_value = Number(std::max(call.number, call.last_of_first));
      call.wraps = call.max_value > 0 && Below(2) == 0;
    }
    if (call.kind == Counter::Kind::kPutBack) {
      call.last = Number(0);
      call.version = random_();
    }
    const auto read = ParseCounterCall(BodyOf(call));
    ASSERT_TRUE(read.ok()) << read.status() << BodyOf(call);
    EXPECT_EQ(*read, call);
    counter_machine::Reply reply{Below(2) == 0, std::nullopt, random_()};
    if (Below(2) == 0) reply.value = Number(0);
    EXPECT_EQ(ParseCounterReply(BodyOf(reply)).value(), reply);
  }
}

TEST_F(StoreBodiesTest, RandomAllocationsAndGrants_ComeBackAsTheyWere) {
  for (int i = 0; i < 1000; ++i) {
    segment_machine::Allocation lease{Options(), {}, Time()};
    SegmentReply reply{{}, Time(), Below(2) == 0};
    for (uint64_t k = Below(5); k > 0; --k) {
      lease.requests.push_back(
          {static_cast<uint16_t>(random_()), Below(uint64_t{1} << 56), Below(uint64_t{1} << 56)});
      SegmentGrant grant;
      grant.segment = {Below(uint64_t{1} << 55), Below(uint64_t{1} << 55)};
      grant.wait = Nanos();
      grant.lead = Nanos();
      grant.room = Nanos();
      reply.grants.push_back(grant);
    }
    const auto read = ParseSegmentAllocation(BodyOf(segment_machine::Call(lease)));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->options, lease.options);
    EXPECT_EQ(read->caller_now, lease.caller_now);
    ASSERT_EQ(read->requests.size(), lease.requests.size());
    for (size_t k = 0; k < lease.requests.size(); ++k) {
      EXPECT_EQ(read->requests[k].section, lease.requests[k].section);
      EXPECT_EQ(read->requests[k].length, lease.requests[k].length);
      EXPECT_EQ(read->requests[k].seen, lease.requests[k].seen);
    }
    const auto granted = ParseSegmentReply(BodyOf(reply));
    ASSERT_TRUE(granted.ok()) << granted.status() << BodyOf(reply);
    EXPECT_TRUE(segment_machine::Same(*granted, reply)) << BodyOf(reply);
  }
}

TEST_F(StoreBodiesTest, SpacesAndRaises_ComeBackAsTheyWere) {
  for (int i = 0; i < 200; ++i) {
    const segment_machine::Create create{Options(), Time()};
    EXPECT_EQ(ParseSegmentCreate(BodyOf(segment_machine::Call(create))).value(), create);
    const segment_machine::Raise raise{
        Below(uint64_t{1} << 56), Below(2) == 0 ? RaiseReach::kNearFloor : RaiseReach::kAnywhere,
        Time()};
    const auto raised = ParseSegmentRaise(BodyOf(segment_machine::Call(raise)));
    ASSERT_TRUE(raised.ok()) << raised.status();
    EXPECT_EQ(raised->to, raise.to);
    EXPECT_EQ(raised->reach, raise.reach);
    SpaceView view;
    view.options = create.options;
    view.base = Below(uint64_t{1} << 56);
    view.losses = Below(9);
    view.now = Time();
    view.sections = {{3, 64, Nanos(), Time()}, {7, 128, Nanos(), Time()}};
    const auto shown = ParseSpaceView(BodyOf(view));
    ASSERT_TRUE(shown.ok()) << shown.status();
    EXPECT_EQ(shown->options, view.options);
    EXPECT_EQ(shown->base, view.base);
    EXPECT_EQ(shown->now, view.now);
    ASSERT_EQ(shown->sections.size(), 2u);
    EXPECT_EQ(shown->sections[1].head, 128u);
    EXPECT_EQ(shown->sections[1].lead, view.sections[1].lead);
    EXPECT_EQ(shown->sections[1].granted_at, view.sections[1].granted_at);
  }
}

TEST_F(StoreBodiesTest, RandomTypes_ComeBackAsTheyWere) {
  std::map<std::string, type_machine::Type> types;
  for (int i = 0; i < 200; ++i) {
    type_machine::Call call{std::to_string(i), static_cast<uint64_t>(Number(0)), std::nullopt};
    if (Below(4) > 0) {
      call.next = {static_cast<uint64_t>(Number(1)), Bytes(type_machine::kLongestText)};
      types[call.name] = *call.next;
    }
    EXPECT_EQ(ParseTypeCall(BodyOf(call)).value(), call);
  }
  EXPECT_EQ(ParseTypes(BodyOf(types)).value(), types);
  EXPECT_EQ(ParseTypeReply(BodyOf(type_machine::Reply{true})).value().done, true);
}

TEST_F(StoreBodiesTest, Flaws_AreNamed) {
  const std::string type = BodyOf(type_machine::Call{"a", 1, type_machine::Type{2, "x"}});
  auto refused = [&](const char* from, const char* to, const char* says) {
    const auto read = ParseTypeCall(absl::StrReplaceAll(type, {{from, to}}));
    EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(read.status().message()), HasSubstr(says));
  };
  refused(R"("a")", R"("")", "1 to 64");
  refused(R"("2")", R"("0")", "version of a sequence type");
  refused(R"("78")", R"("7")", "text_hex");
  refused(R"("78")", R"("7G")", "text_hex");
  refused(R"("expected")", R"("expect")", "expected");
}

}  // namespace
}  // namespace locus::cluster_api
