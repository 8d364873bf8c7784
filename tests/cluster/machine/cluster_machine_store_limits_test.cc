// SPDX-License-Identifier: Apache-2.0
// Counters, spaces of order IDs and sessions at their limits: the next one is refused by its name,
// the existing ones still work, and a snapshot of all of them can be read.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using ::testing::HasSubstr;
using Counter = counter_machine::Call;

class StoreLimitsTest : public MachineTest {
 protected:
  static Counter Store(std::string name, absl::Duration ttl = absl::ZeroDuration()) {
    Counter call;
    call.kind = Counter::Kind::kStore;
    call.name = std::move(name);
    call.number = 1;
    call.ttl = ttl;
    return call;
  }
  RequestId Of(uint64_t session, uint64_t serial = 1) const { return {now_, 7, session, serial}; }
  void ExpectFull(const Answer& answer, const char* what) {
    EXPECT_EQ(answer.status.code(), absl::StatusCode::kResourceExhausted) << answer.status;
    EXPECT_THAT(std::string(answer.status.message()), HasSubstr(what));
  }
  void ExpectSnapshotIsReadAgain() {
    const std::string bytes = machine_.Snapshot();
    EXPECT_LE(bytes.size(), kMostSnapshotBytes);
    const absl::StatusOr<Machine> restored = Machine::Restore(bytes);
    ASSERT_TRUE(restored.ok()) << restored.status();
    EXPECT_TRUE(restored->Snapshot() == bytes);
  }
  segment_machine::Call Create() const { return segment_machine::Create{options_, now_}; }
  // Of `count` sections from `first` on.
  segment_machine::Call Allocate(uint32_t first, size_t count) const {
    segment_machine::Allocation allocation{options_, {}, now_};
    for (size_t i = 0; i < count; ++i) {
      allocation.requests.push_back({static_cast<uint16_t>(first + i), 64, 0});
    }
    return allocation;
  }
  static SpaceName Named(size_t number) {
    return *SpaceName::Parse(absl::StrCat("space-", number));
  }
  Answer DoIn(const SpaceName& space, Action action, std::optional<RequestId> id = std::nullopt) {
    Command command{now_, false, {}};
    command.requests.push_back({id, space, std::move(action)});
    return machine_.Apply(command).answers.at(0);
  }

  const SpaceOptions options_ = [] {
    SpaceOptions options;
    options.section_size = 1;
    return options;
  }();
};

TEST_F(StoreLimitsTest, MostCounters_TheNextIsRefusedAndAnyOneForgottenMakesRoom) {
  ASSERT_TRUE(Do(Store("brief", absl::Seconds(10))).status.ok());
  for (size_t i = 1; i < counter_machine::kMostCounters; ++i) {
    ASSERT_TRUE(Do(Store(absl::StrCat(i))).status.ok()) << i;
  }
  EXPECT_EQ(machine_.counters().size(), counter_machine::kMostCounters);
  ExpectFull(Do(Store("one more")), "262144 counters");
  EXPECT_TRUE(Do(Store("1")).status.ok());
  ExpectSnapshotIsReadAgain();
  now_ += absl::Seconds(10);
  EXPECT_TRUE(Do(Store("one more")).status.ok());
}

TEST_F(StoreLimitsTest, MostBytesOfNames_TheNextIsRefused) {
  const auto name = [](size_t i) {
    const std::string number = absl::StrCat(i);
    return number + std::string(counter_machine::kLongestName - number.size(), 'x');
  };
  const size_t most = counter_machine::kMostNameBytes / counter_machine::kLongestName;
  for (size_t i = 0; i < most; ++i) ASSERT_TRUE(Do(Store(name(i))).status.ok()) << i;
  ExpectFull(Do(Store(name(most))), "16777216");
  EXPECT_TRUE(Do(Store(name(0))).status.ok());
  const absl::Status longer = counter_machine::Check(Store(name(0) + "x"));
  EXPECT_EQ(longer.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(longer.message()), HasSubstr("has 769 bytes; it must have 1 to 768"));
  ExpectSnapshotIsReadAgain();
}

TEST_F(StoreLimitsTest, MostSessions_TheNextIsRefusedUntilOneIsForgotten) {
  ASSERT_TRUE(Do(Store("a"), Of(0)).status.ok());
  now_ += absl::Seconds(1);
  for (uint64_t i = 1; i < kMostSessions; ++i) {
    ASSERT_TRUE(Do(Store("a"), Of(i)).status.ok()) << i;
  }
  ExpectFull(Do(Store("a"), Of(kMostSessions)), "65536 sessions");
  EXPECT_TRUE(Do(Store("a"), Of(1, 2)).status.ok());
  EXPECT_TRUE(Do(Store("a")).status.ok()) << "without an ID nothing is remembered";
  ExpectSnapshotIsReadAgain();
  now_ += kRemembered;
  EXPECT_TRUE(Do(Store("a"), Of(kMostSessions)).status.ok());
}

TEST_F(StoreLimitsTest, MostSectionsAndGrants_TheNextIsRefused) {
  constexpr size_t kOfOne = segment_machine::kMostRequests;
  uint64_t session = 0;
  for (size_t space = 0; space < segment_machine::kMostSections / 65536; ++space) {
    ASSERT_TRUE(DoIn(Named(space), Create()).status.ok());
    for (uint32_t first = 0; first < 65536; first += kOfOne) {
      const Answer answer = DoIn(Named(space), Allocate(first, kOfOne), Of(++session));
      ASSERT_TRUE(answer.status.ok()) << answer.status;
    }
  }
  EXPECT_EQ(machine_.segments().sections(), segment_machine::kMostSections);
  ExpectFull(DoIn(Named(0), Allocate(0, 1), Of(++session)), "262144");
  EXPECT_TRUE(DoIn(Named(0), Allocate(0, kOfOne), Of(1, 2)).status.ok()) << "in place of its last";
  ASSERT_TRUE(DoIn(Named(77), Create()).status.ok());
  ExpectFull(DoIn(Named(77), Allocate(0, 1)), "sections");
  ExpectSnapshotIsReadAgain();
}

TEST_F(StoreLimitsTest, MostTypes_TheNextIsRefused) {
  const std::string text(type_machine::kLongestText, 'x');
  auto add = [&](size_t number) {
    return Do(type_machine::Call{absl::StrCat(number), 0, type_machine::Type{1, text}});
  };
  for (size_t i = 0; i < type_machine::kMostTypes; ++i) ASSERT_TRUE(add(i).status.ok());
  ExpectFull(add(type_machine::kMostTypes), "1024 sequence types");
  EXPECT_TRUE(Do(type_machine::Call{"0", 1, type_machine::Type{2, "y"}}).status.ok());
  ExpectSnapshotIsReadAgain();
  type_machine::Call longer{"a", 0, type_machine::Type{1, text + "x"}};
  EXPECT_EQ(type_machine::Check(longer).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(StoreLimitsTest, MostSpaces_TheNextIsRefused) {
  for (size_t i = 0; i < segment_machine::kMostSpaces; ++i) {
    ASSERT_TRUE(DoIn(Named(i), Create()).status.ok());
  }
  ExpectFull(DoIn(Named(segment_machine::kMostSpaces), Create()), "64 spaces");
  EXPECT_TRUE(DoIn(Named(0), Create()).status.ok()) << "it is there";
  ExpectSnapshotIsReadAgain();
}

}  // namespace
}  // namespace locus::cluster_machine
