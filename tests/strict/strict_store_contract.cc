// SPDX-License-Identifier: Apache-2.0
#include "tests/strict/strict_store_contract.h"

#include <thread>

namespace locus {

using Verdict = StrictGrant::Verdict;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(StrictStoreContract);

StrictStoreContract::StrictStoreContract()
    : under_test_(GetParam().make()), store_(under_test_->Connect()) {
  options_.uids = 1'000'000;
  const absl::Status status = store_->Create(set_, options_, {.first_ever = true});
  EXPECT_TRUE(status.ok()) << status;
}

absl::StatusOr<StrictGrant> StrictStoreContract::TryTake(const StrictOwner& owner, uint32_t section,
                                                         uint64_t seen) {
  auto reply = store_->Take(set_, options_, {owner, {{section, seen}}});
  if (!reply.ok()) return reply.status();
  EXPECT_EQ(reply->items.size(), 1u);
  return reply->items[0];
}

StrictGrant StrictStoreContract::Take(const StrictOwner& owner, uint32_t section) {
  auto grant = TryTake(owner, section);
  EXPECT_TRUE(grant.ok()) << grant.status();
  if (!grant.ok()) return {};
  EXPECT_EQ(grant->verdict, Verdict::kGranted);
  return *grant;
}

StrictExtended StrictStoreContract::Extend(const StrictOwner& owner, const StrictGrant& grant,
                                           uint64_t raise_to) {
  auto reply = store_->Extend(set_, options_,
                              {owner, {{grant.section, grant.token, grant.max_seq, raise_to}}});
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? reply->items[0] : StrictExtended();
}

bool StrictStoreContract::Release(const StrictOwner& owner, const StrictGrant& grant,
                                  const std::string& successor) {
  auto reply = store_->Release(set_, options_,
                               {owner, {{grant.section, grant.token, grant.max_seq}}, successor});
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() && reply->items[0].held;
}

StrictSetView StrictStoreContract::Show() {
  auto view = store_->Show(set_);
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *view : StrictSetView();
}

TEST_P(StrictStoreContract, FirstTake_StartsAtZeroWithAStepStored) {
  const StrictGrant grant = Take(Owner("a"));
  EXPECT_EQ(grant.start, 0u);
  EXPECT_EQ(grant.max_seq, options_.step);
  EXPECT_GT(grant.token, 0u);
  const StrictSetView view = Show();
  ASSERT_EQ(view.sections.size(), 1u);
  EXPECT_EQ(view.sections[0].section, 3u);
  EXPECT_EQ(view.sections[0].max_seq, options_.step);
  EXPECT_EQ(view.sections[0].owner, Owner("a"));
  EXPECT_EQ(view.options, options_);
  EXPECT_EQ(view.table_version, 1u);
}

TEST_P(StrictStoreContract, HeldSection_IsNotTakenBeforeItsEnd) {
  const StrictGrant a = Take(Owner("a"));
  Advance(options_.ttl);
  auto refused = TryTake(Owner("b"));
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->verdict, Verdict::kHeld);
  EXPECT_EQ(refused->holder, Owner("a"));
  Advance(absl::Milliseconds(1));
  const StrictGrant b = Take(Owner("b"));
  EXPECT_EQ(b.start, a.max_seq);
  EXPECT_GT(b.token, a.token);
  EXPECT_FALSE(Extend(Owner("a"), a).held);
  EXPECT_FALSE(Release(Owner("a"), a));
  EXPECT_EQ(Show().sections[0].owner, Owner("b"));
}

TEST_P(StrictStoreContract, Extend_RenewsTheOwnershipAndRaises) {
  const StrictGrant a = Take(Owner("a"));
  Advance(absl::Seconds(9));
  EXPECT_EQ(Extend(Owner("a"), a, 55'555).max_seq, 55'555u);
  Advance(absl::Seconds(9));
  EXPECT_EQ(TryTake(Owner("b"))->verdict, Verdict::kHeld);
  EXPECT_EQ(Extend(Owner("a"), a, 44'444).max_seq, 55'555u) << "never lowered";
  Advance(absl::Seconds(11));
  EXPECT_FALSE(Extend(Owner("a"), a).held) << "ended";
  EXPECT_EQ(Take(Owner("b")).start, 55'555u);
}

TEST_P(StrictStoreContract, WrongTokenOrInstance_ExtendsNothing) {
  StrictGrant a = Take(Owner("a"));
  StrictOwner other = Owner("a");
  other.instance = 1001;
  EXPECT_FALSE(Extend(other, a, 99'999).held);
  EXPECT_FALSE(Extend(Owner("b"), a, 99'999).held);
  --a.token;
  a.max_seq = 0;  // an earlier owner knows of nothing later
  EXPECT_FALSE(Extend(Owner("a"), a, 99'999).held);
  EXPECT_EQ(Show().sections[0].max_seq, options_.step);
  EXPECT_EQ(Show().losses, 0u);
}

TEST_P(StrictStoreContract, SameProcessAgain_IsGrantedAgainAtOnce) {
  const StrictGrant first = Take(Owner("a"));
  const StrictGrant second = Take(Owner("a"));
  EXPECT_GT(second.token, first.token);
  EXPECT_EQ(second.start, first.max_seq);
  EXPECT_FALSE(Extend(Owner("a"), first).held);
}

TEST_P(StrictStoreContract, Released_IsFreeAtOnce) {
  const StrictGrant a = Take(Owner("a"));
  EXPECT_TRUE(Release(Owner("a"), a));
  EXPECT_FALSE(Extend(Owner("a"), a).held);
  EXPECT_FALSE(Show().sections[0].owner.has_value());
  EXPECT_EQ(Take(Owner("b")).start, a.max_seq);
  EXPECT_EQ(Show().table_version, 3u);
}

TEST_P(StrictStoreContract, HandedOver_IsKeptForTheSuccessor) {
  const StrictGrant a = Take(Owner("a"));
  EXPECT_TRUE(Release(Owner("a"), a, "b"));
  EXPECT_EQ(TryTake(Owner("c"))->verdict, Verdict::kHeld);
  EXPECT_EQ(TryTake(Owner("c"))->holder.name, "b");
  EXPECT_EQ(Take(Owner("b")).start, a.max_seq);
  const StrictGrant other = Take(Owner("a"), 5);
  EXPECT_TRUE(Release(Owner("a"), other, "b"));
  Advance(kHandOverRest + absl::Milliseconds(1));
  EXPECT_EQ(Take(Owner("c"), 5).start, other.max_seq) << "b did not come";
}

TEST_P(StrictStoreContract, ManySections_AreOneCall) {
  StrictTake request{Owner("a"), {}};
  for (uint32_t section = 0; section < 10; ++section) request.wishes.push_back({section, 0});
  Take(Owner("b"), 4);
  auto reply = store_->Take(set_, options_, request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  ASSERT_EQ(reply->items.size(), 10u);
  for (uint32_t section = 0; section < 10; ++section) {
    EXPECT_EQ(reply->items[section].section, section);
    EXPECT_EQ(reply->items[section].verdict, section == 4 ? Verdict::kHeld : Verdict::kGranted);
  }
  EXPECT_EQ(reply->table_version, 10u);
}

TEST_P(StrictStoreContract, OwnerKnowsOfMore_IsALossThatRaisesAndRests) {
  StrictGrant a = Take(Owner("a"));
  a.max_seq = 777'777;  // an answer that the store forgot
  const StrictExtended extended = Extend(Owner("a"), a);
  EXPECT_TRUE(extended.held);
  EXPECT_GE(extended.max_seq, kStrictLossMargin);
  EXPECT_EQ(Show().losses, 1u);
  EXPECT_EQ(TryTake(Owner("b"), 5)->verdict, Verdict::kResting);
  Advance(options_.ttl + absl::Milliseconds(1));
  const StrictGrant b = Take(Owner("b"), 5);
  EXPECT_GE(b.start, kStrictLossMargin);
}

TEST_P(StrictStoreContract, TakerKnowsOfMore_IsALoss) {
  EXPECT_EQ(TryTake(Owner("a"), 3, 777'777)->verdict, Verdict::kResting);
  EXPECT_EQ(Show().losses, 1u);
  Advance(options_.ttl + absl::Milliseconds(1));
  EXPECT_GE(Take(Owner("a")).start, kStrictLossMargin);
}

TEST_P(StrictStoreContract, ForgottenGrant_IsALossAndIsNotExtended) {
  StrictGrant a = Take(Owner("a"));
  a.section = 7;  // of which the store has nothing
  EXPECT_FALSE(Extend(Owner("a"), a).held);
  EXPECT_EQ(Show().losses, 1u);
}

TEST_P(StrictStoreContract, DeclaredRestored_RestsWhileOwnersContinue) {
  const StrictGrant a = Take(Owner("a"));
  ASSERT_TRUE(store_->DeclareRestored(set_).ok());
  EXPECT_TRUE(Extend(Owner("a"), a).held);
  EXPECT_EQ(TryTake(Owner("b"), 5)->verdict, Verdict::kResting);
  EXPECT_EQ(Show().losses, 1u);
}

TEST_P(StrictStoreContract, ClockSetBack_OwnershipEndsATtlLater) {
  Take(Owner("a"));
  under_test_->clock().Jump(-absl::Hours(5));
  EXPECT_EQ(TryTake(Owner("b"))->verdict, Verdict::kHeld);
  // By a store's clock that runs true to 10^-3.
  Advance(options_.ttl + options_.ttl / 1000 + absl::Milliseconds(1));
  Take(Owner("b"));
}

TEST_P(StrictStoreContract, OtherOptions_AreRefused) {
  StrictSetOptions others = options_;
  others.section_size = 50'000;
  EXPECT_EQ(store_->Create(set_, others, {.first_ever = true}).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(store_->Take(set_, others, {Owner("a"), {{3, 0}}}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(store_->Create(set_, options_, {.first_ever = true}).ok());
}

// The new store knows nothing of the old one, and no earlier owner calls it.
TEST_P(StrictStoreContract, SetThatIsCreatedAgainAfterItsStoreWasLost_BeginsAboveAllFromBefore) {
  const StrictGrant before = Take(Owner("a"));
  const uint64_t used = Extend(Owner("a"), before, 1'000'000).max_seq;
  const absl::Time then = under_test_->clock().Now();
  store_.reset();
  under_test_.reset();
  under_test_ = GetParam().make();
  store_ = under_test_->Connect();
  if (const absl::Duration past = then - under_test_->clock().Now(); past > absl::ZeroDuration()) {
    Advance(past);
  }
  ASSERT_TRUE(store_->Create(set_, options_, StrictSetPast()).ok());
  const auto at_once = TryTake(Owner("b"));
  ASSERT_TRUE(at_once.ok()) << at_once.status();
  EXPECT_EQ(at_once->verdict, Verdict::kResting) << "a may continue";
  Advance(options_.ttl + options_.ttl / 100 + absl::Milliseconds(1));
  EXPECT_GT(Take(Owner("b")).start, used);
  ASSERT_TRUE(store_->Create(set_, options_, StrictSetPast()).ok());
  EXPECT_EQ(Show().losses, 1u) << "it is there";
}

TEST_P(StrictStoreContract, NoSuchSet_IsNotFound) {
  const SpaceName other = *SpaceName::Parse("other");
  EXPECT_EQ(store_->Take(other, options_, {Owner("a"), {{3, 0}}}).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->Show(other).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(store_->DeclareRestored(other).code(), absl::StatusCode::kNotFound);
}

TEST_P(StrictStoreContract, BadRequest_IsRefusedByName) {
  auto code = [&](const StrictTake& request) {
    return store_->Take(set_, options_, request).status().code();
  };
  EXPECT_EQ(code({Owner("a"), {}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Owner("a"), {{10, 0}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Owner("a"), {{3, 0}, {3, 0}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({Owner("A"), {{3, 0}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", "", 0}, {{3, 0}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"a", "two words", 1}, {{3, 0}}}), absl::StatusCode::kInvalidArgument);
}

TEST_P(StrictStoreContract, OwnerThatLies_RaisesToALimitAndLeavesNumbers) {
  constexpr uint64_t kMost = (uint64_t{1} << 63) - 1;
  constexpr uint64_t kLimit = uint64_t{1} << 60;
  StrictGrant a = Take(Owner("a"));
  EXPECT_EQ(Extend(Owner("a"), a, kMost).max_seq, kLimit);
  EXPECT_EQ(Extend(Owner("a"), a, kMost).max_seq, kLimit + kMostStrictStep);
  a.max_seq = kMost;
  EXPECT_FALSE(Extend(Owner("a"), a).held) << "no store answered that";
  EXPECT_TRUE(Release(Owner("a"), a));
  EXPECT_EQ(Show().sections[0].max_seq, kLimit + 2 * kMostStrictStep);
  EXPECT_EQ(TryTake(Owner("b"), 3, kMost)->verdict, Verdict::kResting);
  Advance(options_.ttl + absl::Milliseconds(1));
  const StrictGrant b = Take(Owner("b"));
  EXPECT_EQ(b.start, kLimit + 3 * kMostStrictStep) << "also by the number that b named";
  EXPECT_EQ(b.max_seq, b.start + options_.step);
}

// Two handles, like two processes, want one section each time: one of them gets it.
TEST_P(StrictStoreContract, TwoAtOnce_OneIsGranted) {
  for (uint32_t section = 0; section < 10; ++section) {
    int granted[2] = {0, 0};
    std::thread threads[2];
    for (int i = 0; i < 2; ++i) {
      threads[i] = std::thread([&, i] {
        auto store = under_test_->Connect();
        auto reply = store->Take(set_, options_, {Owner(i == 0 ? "a" : "b"), {{section, 0}}});
        EXPECT_TRUE(reply.ok()) << reply.status();
        granted[i] = reply.ok() && reply->items[0].verdict == Verdict::kGranted;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(granted[0] + granted[1], 1) << "section " << section;
  }
}

}  // namespace locus
