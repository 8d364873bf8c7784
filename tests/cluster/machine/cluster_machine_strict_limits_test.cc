// SPDX-License-Identifier: Apache-2.0
// Sets of strict sequences at their limits: the next one is refused by its name, what is there goes
// on, and a snapshot of all of it is read again.
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using strict_machine::Call;
using ::testing::HasSubstr;

class StrictLimitsTest : public MachineTest {
 protected:
  StrictLimitsTest() {
    options_.uids = uint64_t{64} << 20;
    options_.section_size = 64;  // 2^20 sections
  }
  static SpaceName Named(size_t number) { return *SpaceName::Parse(absl::StrCat("set-", number)); }
  static StrictOwner Owner(size_t number) {
    // Of the longest name and address.
    const std::string text = absl::StrCat(number);
    return {std::string(64 - text.size(), 'n') + text, std::string(256 - text.size(), 'a') + text,
            1 + number};
  }
  Answer DoIn(const SpaceName& set, Call call, std::optional<RequestId> id = std::nullopt) {
    Command command{now_, false, {}};
    command.requests.push_back({id, set, std::move(call)});
    return machine_.Apply(command).answers.at(0);
  }
  Call Take(const StrictOwner& owner, uint32_t first, size_t count) const {
    strict_machine::Take take{options_, {owner, {}}};
    for (size_t i = 0; i < count; ++i) {
      take.request.wishes.push_back({first + static_cast<uint32_t>(i), 0});
    }
    return take;
  }
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

  StrictSetOptions options_;
};

TEST_F(StrictLimitsTest, MostSets_TheNextIsRefused) {
  for (size_t i = 0; i < strict_machine::kMostSets; ++i) {
    ASSERT_TRUE(DoIn(Named(i), strict_machine::Create{options_, {.first_ever = true}}).status.ok());
  }
  ExpectFull(DoIn(Named(64), strict_machine::Create{options_, {.first_ever = true}}), "64 sets");
  EXPECT_TRUE(DoIn(Named(0), strict_machine::Create{options_, {.first_ever = true}}).status.ok())
      << "it is there";
  ExpectSnapshotIsReadAgain();
}

TEST_F(StrictLimitsTest, MostSections_TheNextIsRefusedAndTheOthersStay) {
  ASSERT_TRUE(DoIn(Named(0), strict_machine::Create{options_, {.first_ever = true}}).status.ok());
  const auto all = static_cast<uint32_t>(strict_machine::kMostSections);
  uint64_t session = 0;
  for (uint32_t first = 0; first < all; first += kMostSectionsAtOnce) {
    const Answer answer = DoIn(Named(0), Take(Owner(first), first, kMostSectionsAtOnce),
                               RequestId{now_, 7, ++session, 1});
    ASSERT_TRUE(answer.status.ok()) << answer.status;
  }
  EXPECT_EQ(machine_.strict_sets().sections(), strict_machine::kMostSections);
  ExpectFull(DoIn(Named(0), Take(Owner(0), all, 1)), "131072 sections");
  EXPECT_TRUE(DoIn(Named(0), Take(Owner(0), 0, 1)).status.ok());
  ExpectSnapshotIsReadAgain();
}

TEST_F(StrictLimitsTest, MostOwners_TheNextIsRefusedUntilOneHasNoSection) {
  ASSERT_TRUE(DoIn(Named(0), strict_machine::Create{options_, {.first_ever = true}}).status.ok());
  for (size_t i = 0; i < strict_machine::kMostHolders; ++i) {
    ASSERT_TRUE(DoIn(Named(0), Take(Owner(i), static_cast<uint32_t>(i), 1)).status.ok()) << i;
  }
  const StrictOwner next = Owner(strict_machine::kMostHolders);
  ExpectFull(DoIn(Named(0), Take(next, 7777, 1)), "4096 owners");
  EXPECT_TRUE(DoIn(Named(0), Take(Owner(1), 7777, 1)).status.ok());
  // Answers that name all of them are also remembered only up to a limit.
  absl::StatusCode last = absl::StatusCode::kOk;
  for (uint64_t session = 1; session <= 8 && last == absl::StatusCode::kOk; ++session) {
    strict_machine::Call asks = Take(Owner(2), 0, kMostSectionsAtOnce);
    std::get<strict_machine::Take>(asks).request.wishes.back().section =
        static_cast<uint32_t>(100'000 + session);  // is granted
    last = DoIn(Named(0), asks, RequestId{now_, 7, session, 1}).status.code();
  }
  EXPECT_EQ(last, absl::StatusCode::kResourceExhausted);
  EXPECT_LE(machine_.grants_remembered(), kMostGrantsRemembered);
  EXPECT_GT(machine_.grants_remembered(), kMostGrantsRemembered / 2);
  ExpectSnapshotIsReadAgain();
  now_ += options_.ttl + absl::Milliseconds(1);
  EXPECT_TRUE(DoIn(Named(0), Take(Owner(1), 0, 1)).status.ok()) << "owner 0 has none now";
  EXPECT_TRUE(DoIn(Named(0), Take(next, 8888, 1)).status.ok());
}

// The owners of sections 0 to 4095, one each; those of the first `ended` have ownerships that have
// ended.
class MostOwnersTest : public StrictLimitsTest {
 protected:
  void Fill(size_t ended) {
    ASSERT_TRUE(DoIn(Named(0), strict_machine::Create{options_, {.first_ever = true}}).status.ok());
    ASSERT_TRUE(DoIn(Named(1), strict_machine::Create{options_, {.first_ever = true}}).status.ok());
    for (size_t i = 0; i < strict_machine::kMostHolders; ++i) {
      if (i == ended) now_ += options_.ttl / 2;
      ASSERT_TRUE(DoIn(Named(0), Take(Owner(i), static_cast<uint32_t>(i), 1)).status.ok()) << i;
    }
    now_ += options_.ttl / 2 + absl::Milliseconds(1);
  }
  size_t holders() const { return machine_.strict_sets().holders(); }
  strict_machine::View Show(size_t set) const {
    auto view = machine_.strict_sets().Show(Named(set), now_);
    EXPECT_TRUE(view.ok()) << view.status();
    return *std::move(view);
  }

  const StrictOwner next_ = Owner(strict_machine::kMostHolders);
};

TEST_F(MostOwnersTest, EarlierOwnerHadNoMore_TheRestartedNodeTakesItsPlace) {
  Fill(1);
  EXPECT_TRUE(DoIn(Named(0), Take(next_, 0, 1)).status.ok());
  EXPECT_EQ(holders(), strict_machine::kMostHolders);
  ExpectFull(DoIn(Named(0), Take(Owner(0), 7777, 1)), "4096 owners");
  ExpectSnapshotIsReadAgain();
}

TEST_F(MostOwnersTest, SectionIsHandedOver_ItsSuccessorTakesItsPlace) {
  Fill(0);
  const strict_machine::View view = Show(0);
  const strict_machine::View::Section& last = view.sections.back();
  strict_machine::Release release{options_, {Owner(last.section), {}, "next"}};
  release.request.sections.push_back({last.section, last.token, last.max_seq});
  const Answer answer = DoIn(Named(0), release);
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(holders(), strict_machine::kMostHolders);
}

TEST_F(MostOwnersTest, EndedOwnerships_MakeRoomForANewOwner_AlsoOfAnotherSet) {
  Fill(4000);
  const uint64_t version = Show(0).set.table_version;
  EXPECT_TRUE(DoIn(Named(1), Take(next_, 5, 1)).status.ok());
  EXPECT_EQ(holders(), 97u);
  const strict_machine::View view = Show(0);
  EXPECT_EQ(view.sections[3999].holder, 0u);
  EXPECT_NE(view.sections[4000].holder, 0u);
  EXPECT_GT(view.set.table_version, version) << "it is another table";
  EXPECT_GT(view.sections[7].token, 0u);
  const Answer taken = DoIn(Named(0), Take(next_, 7, 1));
  ASSERT_TRUE(taken.status.ok()) << taken.status;
  const auto& reply = std::get<strict_machine::Reply>(taken.reply);
  EXPECT_EQ(std::get<StrictReply<StrictGrant>>(reply).items[0].start, view.sections[7].max_seq);
  ExpectSnapshotIsReadAgain();
}

TEST_F(MostOwnersTest, NoOwnershipHasEnded_NothingIsChanged) {
  Fill(0);
  ExpectFull(DoIn(Named(1), Take(next_, 5, 1)), "4096 owners");
  const std::string before = machine_.Snapshot();
  ExpectFull(DoIn(Named(1), Take(next_, 5, 1)), "4096 owners");
  EXPECT_TRUE(machine_.Snapshot() == before);
}

}  // namespace
}  // namespace locus::cluster_machine
