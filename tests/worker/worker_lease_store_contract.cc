// SPDX-License-Identifier: Apache-2.0
#include "tests/worker/worker_lease_store_contract.h"

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "src/base/text/nonce_mark.h"

namespace locus {

absl::StatusOr<WorkerGrant> WorkerLeaseStoreContract::TryAcquire(
    const std::string& nonce, std::optional<uint64_t> preferred) {
  WorkerAcquire wish = Wish(nonce);
  wish.preferred = preferred;
  return store_->Acquire(space_, wish);
}

WorkerGrant WorkerLeaseStoreContract::Acquire(const std::string& nonce,
                                              std::optional<uint64_t> preferred) {
  auto grant = TryAcquire(nonce, preferred);
  EXPECT_TRUE(grant.ok()) << grant.status();
  if (!grant.ok()) return WorkerGrant();
  nonces_[grant->token * 16 + grant->worker] = nonce;
  return *grant;
}

WorkerRenew WorkerLeaseStoreContract::RenewalOf(const WorkerGrant& grant,
                                                const std::string& nonce) {
  WorkerRenew renewal;
  renewal.worker = grant.worker;
  renewal.token = grant.token;
  renewal.ceiling = grant.ceiling;
  renewal.nonce = nonce;
  renewal.holder = "{\"host\":\"" + nonce + "\"}";
  renewal.caller_now = now();
  return renewal;
}

absl::StatusOr<WorkerGrant> WorkerLeaseStoreContract::Renew(const WorkerGrant& grant,
                                                            const std::string& nonce) {
  return store_->Renew(space_, RenewalOf(grant, nonce));
}

absl::Status WorkerLeaseStoreContract::Release(const WorkerGrant& grant, absl::Time last_used) {
  const std::string& nonce = nonces_[grant.token * 16 + grant.worker];
  return store_->Release(space_, {grant.worker, grant.token, last_used, nonce});
}

WorkerSpaceView WorkerLeaseStoreContract::Show() {
  auto view = store_->Show(space_);
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *view : WorkerSpaceView();
}

namespace {

using absl::StatusCode;

TEST_P(WorkerLeaseStoreContract, NoSpace_EveryErrorNamesTheCommandThatMakesOne) {
  for (const absl::Status& status :
       {TryAcquire("a").status(), store_->Release(space_, {10, 1, now()}),
        store_->Show(space_).status()}) {
    EXPECT_EQ(status.code(), StatusCode::kNotFound) << status;
    EXPECT_NE(status.message().find("locus lease create"), absl::string_view::npos) << status;
  }
}

TEST_P(WorkerLeaseStoreContract, Acquire_FirstOfAll_IsAtTheStartWithoutAFloor) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  EXPECT_EQ(grant.worker, 10u);
  EXPECT_EQ(grant.floor, absl::InfinitePast());
  EXPECT_EQ(grant.ceiling, grant.granted_at + whole_);
  EXPECT_GE(grant.token, 1u);
  EXPECT_FALSE(grant.loss_noticed);
}

TEST_P(WorkerLeaseStoreContract, Acquire_EachHolder_GetsAnIdOfItsOwnUntilAllAreTaken) {
  CreateSpace();
  std::set<uint64_t> workers;
  for (const char* nonce : {"a", "b", "c", "d"}) workers.insert(Acquire(nonce).worker);
  EXPECT_EQ(workers, (std::set<uint64_t>{10, 11, 12, 13}));
  const absl::Status status = TryAcquire("e").status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << status;
  EXPECT_NE(status.message().find("all 4 worker IDs of 10..13 are taken, 4 of them held"),
            absl::string_view::npos)
      << status;
}

TEST_P(WorkerLeaseStoreContract, Acquire_StartInTheMiddle_GoesRoundTheRange) {
  CreateSpace();
  WorkerAcquire wish = Wish("a");
  wish.start = 13;
  EXPECT_EQ(store_->Acquire(space_, wish)->worker, 13u);
  wish.nonce = "b";
  EXPECT_EQ(store_->Acquire(space_, wish)->worker, 10u);
}

TEST_P(WorkerLeaseStoreContract, Acquire_WithAWish_TakesThatIdIfItIsFree) {
  CreateSpace();
  EXPECT_EQ(Acquire("a", 12).worker, 12u);
  EXPECT_EQ(Acquire("b", 12).worker, 10u);
}

TEST_P(WorkerLeaseStoreContract, Acquire_SentAgain_IsTheSameLease) {
  CreateSpace();
  const WorkerGrant first = Acquire("a");
  const WorkerGrant again = Acquire("a");
  EXPECT_EQ(again.worker, first.worker);
  EXPECT_EQ(again.token, first.token);
  EXPECT_EQ(again.floor, first.floor);
  EXPECT_GE(again.ceiling, first.ceiling);
  EXPECT_EQ(Show().workers.size(), 1u);
}

TEST_P(WorkerLeaseStoreContract, Renew_OfTheHolder_RaisesTheCeilingOnly) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  Advance(absl::Seconds(100));
  auto renewed = Renew(grant, "a");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->worker, grant.worker);
  EXPECT_EQ(renewed->token, grant.token);
  EXPECT_EQ(renewed->ceiling, renewed->granted_at + whole_);
  EXPECT_GT(renewed->ceiling, grant.ceiling);
  EXPECT_FALSE(renewed->loss_noticed);
}

TEST_P(WorkerLeaseStoreContract, Renew_WithAShorterTtl_NeverLowersTheCeiling) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  WorkerRenew renewal = RenewalOf(grant, "a");
  renewal.term.ttl = absl::Seconds(10);
  auto renewed = store_->Renew(space_, renewal);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->ceiling, grant.ceiling);
}

TEST_P(WorkerLeaseStoreContract, EndedLease_GoesToAnotherOnlyAboveItsCeiling) {
  CreateSpace();
  WorkerGrant first[4];
  for (int i = 0; i < 4; ++i) first[i] = Acquire(std::string(1, static_cast<char>('a' + i)));
  Advance(whole_);
  EXPECT_EQ(TryAcquire("e").status().code(), StatusCode::kResourceExhausted);
  Advance(absl::Milliseconds(1));
  const WorkerGrant second = Acquire("e");
  EXPECT_EQ(second.worker, 10u);
  EXPECT_EQ(second.floor, first[0].ceiling);
  EXPECT_GT(second.token, first[0].token);
  EXPECT_EQ(Renew(first[0], "a").status().code(), StatusCode::kAborted);
  EXPECT_EQ(Release(first[0], now()).code(), StatusCode::kAborted);
  // The next holder's lease is unchanged.
  EXPECT_EQ(Show().workers[0].ceiling, second.ceiling);
  EXPECT_THAT(Show().workers[0].nonce, ::testing::AnyOf("e", internal::NonceMark("e")));
}

TEST_P(WorkerLeaseStoreContract, EndedLease_StillFree_IsNotRenewed) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  Advance(whole_ + absl::Milliseconds(1));
  const absl::Status status = Renew(grant, "a").status();
  EXPECT_EQ(status.code(), StatusCode::kAborted) << status;
  EXPECT_NE(status.message().find("ended"), absl::string_view::npos) << status;
}

TEST_P(WorkerLeaseStoreContract, Release_LowersTheCeilingToTheLastTimeUsed) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  const absl::Time used = grant.granted_at + absl::Milliseconds(1);
  Advance(absl::Milliseconds(2));
  ASSERT_TRUE(Release(grant, used).ok());
  ASSERT_TRUE(Release(grant, used).ok()) << "again";
  EXPECT_EQ(Renew(grant, "a").status().code(), StatusCode::kAborted);
  const WorkerGrant next = Acquire("b", grant.worker);
  EXPECT_EQ(next.worker, grant.worker);
  EXPECT_EQ(next.floor, used);
  EXPECT_GT(next.token, grant.token);
}

TEST_P(WorkerLeaseStoreContract, Release_WithAnothersNonce_EndsNoLease) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  const absl::Status refused =
      store_->Release(space_, {grant.worker, grant.token, now(), std::string(32, '0')});
  EXPECT_EQ(refused.code(), StatusCode::kAborted) << refused;
  EXPECT_EQ(Renew(grant, "a").status(), absl::OkStatus()) << "it is still held";
}

TEST_P(WorkerLeaseStoreContract, Release_WithATimeToCome_LetsTheIdRest) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  ASSERT_TRUE(Release(grant, absl::InfiniteFuture()).ok());
  const WorkerSpaceView view = Show();
  ASSERT_EQ(view.workers.size(), 1u);
  EXPECT_EQ(view.workers[0].ceiling, grant.ceiling);
  EXPECT_EQ(view.StateOf(view.workers[0]), WorkerState::kResting);
  EXPECT_NE(Acquire("b", grant.worker).worker, grant.worker);
}

TEST_P(WorkerLeaseStoreContract, Release_BelowTheFloor_StaysAtTheFloor) {
  CreateSpace();
  const WorkerGrant first = Acquire("a");
  Advance(absl::Milliseconds(2));
  ASSERT_TRUE(Release(first, first.granted_at + absl::Milliseconds(1)).ok());
  const WorkerGrant second = Acquire("b", first.worker);
  Advance(absl::Milliseconds(2));
  ASSERT_TRUE(Release(second, absl::InfinitePast()).ok());
  const WorkerGrant third = Acquire("c", first.worker);
  EXPECT_EQ(third.worker, first.worker);
  EXPECT_EQ(third.floor, under_test_->is_open_to_many() ? second.granted_at : second.floor);
}

TEST_P(WorkerLeaseStoreContract, Release_BetweenMilliseconds_IsRoundedUp) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  const absl::Time used = grant.granted_at + absl::Milliseconds(3);
  Advance(absl::Milliseconds(4));
  ASSERT_TRUE(Release(grant, used - absl::Nanoseconds(1)).ok());
  EXPECT_EQ(Acquire("b", grant.worker).floor, used);
}

TEST_P(WorkerLeaseStoreContract, ForeignToken_NeitherRenewsNorReleases) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  WorkerGrant forged = grant;
  forged.token -= 1;
  EXPECT_EQ(Renew(forged, "a").status().code(), StatusCode::kAborted);
  EXPECT_EQ(Release(forged, now()).code(), StatusCode::kAborted);
  EXPECT_EQ(Renew(grant, "b").status().code(), StatusCode::kAborted) << "another nonce";
  EXPECT_TRUE(Renew(grant, "a").ok());
}

TEST_P(WorkerLeaseStoreContract, ClockOff_ByMoreThanTheSkew_IsRefusedBothWays) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  for (absl::Duration off : {-absl::Minutes(1), absl::Minutes(1)}) {
    if (off > absl::ZeroDuration() && !under_test_->has_own_clock()) continue;
    WorkerAcquire wish = Wish("b");
    wish.caller_now += off;
    EXPECT_EQ(store_->Acquire(space_, wish).status().code(), StatusCode::kFailedPrecondition);
    WorkerRenew renewal = RenewalOf(grant, "a");
    renewal.caller_now += off;
    const absl::Status status = store_->Renew(space_, renewal).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition) << status;
    EXPECT_NE(status.message().find("max_skew"), absl::string_view::npos) << status;
  }
  EXPECT_EQ(Show().workers.size(), 1u);
  EXPECT_EQ(Show().workers[0].ceiling, grant.ceiling);
}

TEST_P(WorkerLeaseStoreContract, BadArguments_AreNamed) {
  CreateSpace();
  auto refused = [this](auto change) {
    WorkerAcquire wish = Wish("a");
    change(wish);
    const absl::Status status = store_->Acquire(space_, wish).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refused([](auto& wish) { wish.range = {5, 4}; }), ::testing::HasSubstr("5..4"));
  EXPECT_THAT(refused([](auto& wish) { wish.start = 14; }), ::testing::HasSubstr("start 14"));
  EXPECT_THAT(refused([](auto& wish) { wish.preferred = 9; }), ::testing::HasSubstr("worker 9"));
  EXPECT_THAT(refused([](auto& wish) { wish.term.ttl = absl::Seconds(9); }),
              ::testing::HasSubstr("ttl is 9s"));
  EXPECT_THAT(refused([](auto& wish) { wish.nonce = "A"; }), ::testing::HasSubstr("nonce"));
  EXPECT_THAT(refused([](auto& wish) { wish.holder = std::string(1025, '{'); }),
              ::testing::HasSubstr("1025"));
  EXPECT_EQ(store_->Create(space_, {.longest_ttl = absl::Hours(26)}, now()).code(),
            StatusCode::kInvalidArgument);
}

TEST_P(WorkerLeaseStoreContract, Holder_OfTheGreatestSizeAndAnyBytes_IsKept) {
  CreateSpace();
  WorkerAcquire wish = Wish("a");
  wish.holder = "{\"x\":\"'\\\\;\n\xc3\xa9" + std::string(kMostHolderBytes - 15, 'y') + "\"}";
  ASSERT_EQ(wish.holder.size(), kMostHolderBytes);
  ASSERT_TRUE(store_->Acquire(space_, wish).ok());
  EXPECT_EQ(Show().workers[0].holder, wish.holder);
}

TEST_P(WorkerLeaseStoreContract, Show_ListsEachIdThatWasEverGranted) {
  CreateSpace();
  const WorkerGrant a = Acquire("a");
  Advance(absl::Milliseconds(1));
  const WorkerGrant b = Acquire("b");
  ASSERT_TRUE(Release(a, now() - absl::Milliseconds(1)).ok());
  const WorkerSpaceView view = Show();
  ASSERT_EQ(view.workers.size(), 2u);
  EXPECT_EQ(view.workers[0].worker, a.worker);
  EXPECT_EQ(view.StateOf(view.workers[0]), WorkerState::kFree);
  EXPECT_EQ(view.workers[1].worker, b.worker);
  EXPECT_EQ(view.workers[1].token, b.token);
  EXPECT_EQ(view.workers[1].ceiling, b.ceiling);
  EXPECT_EQ(view.workers[1].granted_at, b.granted_at);
  EXPECT_EQ(view.workers[1].holder, "{\"host\":\"b\"}");
  EXPECT_EQ(view.StateOf(view.workers[1]), WorkerState::kHeld);
  EXPECT_EQ(view.losses, 0u);
}

TEST_P(WorkerLeaseStoreContract, Spaces_AreIndependent) {
  CreateSpace();
  const SpaceName other = *SpaceName::Parse("other");
  EXPECT_EQ(store_->Show(other).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(store_->Create(other, {.first_ever = true}, now()).ok());
  EXPECT_EQ(Acquire("a").worker, 10u);
  EXPECT_EQ(store_->Acquire(other, Wish("b"))->worker, 10u);
}

TEST_P(WorkerLeaseStoreContract, LostStoreCreatedAnew_GrantsNoHeldIdToAnother) {
  CreateSpace();
  const WorkerGrant held = Acquire("a");
  under_test_->LoseAll();
  store_ = under_test_->Connect();
  ASSERT_TRUE(store_->Create(space_, {}, now()).ok());
  const absl::Status status = TryAcquire("b", held.worker).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_NE(status.message().find("no worker ID is granted before 2"), absl::string_view::npos)
      << status;
  EXPECT_GE(Show().rest_until, now() + absl::Hours(24));
  ASSERT_TRUE(store_->Create(space_, {}, now()).ok());
  EXPECT_TRUE(Renew(held, "a").ok()) << "a holder continues";
  ASSERT_TRUE(store_->Create(space_, {.first_ever = true}, now()).ok());
  EXPECT_EQ(TryAcquire("b").status().code(), StatusCode::kUnavailable)
      << "the renewal has shown that this is not the first space of its name";
}

TEST_P(WorkerLeaseStoreContract, Create_Again_ChangesNothing_AndAfterALossGrantsNothing) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  CreateSpace();
  EXPECT_EQ(Show().workers.size(), 1u);
  ASSERT_TRUE(store_->Create(space_, {}, now()).ok());
  EXPECT_LT(Show().rest_until, now());
  ASSERT_TRUE(store_->Create(space_, {.lost = true, .longest_ttl = absl::Minutes(20)}, now()).ok());
  const absl::Status status = TryAcquire("b").status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_NE(status.message().find("lost leases"), absl::string_view::npos) << status;
  EXPECT_TRUE(Renew(grant, "a").ok()) << "a holder continues";
  EXPECT_EQ(Show().losses, 1u);
}

TEST_P(WorkerLeaseStoreContract, LostStore_RenewalCreatesItAgain_AndGrantsNoIdMeanwhile) {
  CreateSpace();
  const WorkerGrant a = Acquire("a");
  const WorkerGrant b = Acquire("b");
  under_test_->LoseAll();
  store_ = under_test_->Connect();
  EXPECT_EQ(TryAcquire("c").status().code(), StatusCode::kNotFound);
  if (under_test_->is_open_to_many()) {
    EXPECT_EQ(Renew(a, "a").status().code(), StatusCode::kNotFound);
    EXPECT_EQ(store_->Show(space_).status().code(), StatusCode::kNotFound);
    ASSERT_TRUE(store_->Create(space_, {.lost = true, .longest_ttl = whole_}, now()).ok());
  }
  auto renewed = Renew(a, "a");
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->token, a.token);
  EXPECT_GE(renewed->ceiling, a.ceiling);
  EXPECT_TRUE(renewed->loss_noticed);
  // b's ID is known to b alone.
  const absl::Status status = TryAcquire("c", b.worker).status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status;
  EXPECT_TRUE(Renew(b, "b").ok());
  EXPECT_EQ(Show().workers.size(), 2u);
  EXPECT_GE(Show().rest_until, renewed->granted_at + whole_);
}

TEST_P(WorkerLeaseStoreContract, Renewal_WithACeilingThatTheStoreForgot_IsNoticed) {
  CreateSpace();
  const WorkerGrant grant = Acquire("a");
  WorkerRenew renewal = RenewalOf(grant, "a");
  renewal.ceiling += absl::Seconds(5);
  auto renewed = store_->Renew(space_, renewal);
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_TRUE(renewed->loss_noticed);
  EXPECT_GE(renewed->ceiling, renewal.ceiling);
  EXPECT_EQ(TryAcquire("b").status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(Show().losses, 1u);
}

// Holders on handles of their own acquire, renew and release; none sees an ID that another holds.
TEST_P(WorkerLeaseStoreContract, ManyHoldersAtOnce_NeverShareAnId) {
  CreateSpace();
  constexpr int kHolders = 6;  // of four IDs
  std::map<uint64_t, std::atomic<int>> holders;
  for (uint64_t worker = 10; worker <= 13; ++worker) holders[worker] = 0;
  std::atomic<int> grants = 0;
  std::atomic<int> shared = 0;
  std::vector<std::unique_ptr<WorkerLeaseStore>> handles;
  for (int i = 0; i < kHolders; ++i) handles.push_back(under_test_->Connect());
  std::vector<std::thread> threads;
  for (int i = 0; i < kHolders; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 30; ++round) {
        Advance(absl::Milliseconds(2));
        const std::string nonce = std::to_string(i) + "-" + std::to_string(round);
        WorkerAcquire wish = Wish(nonce);
        wish.start = 10 + static_cast<uint64_t>(i + round) % 4;
        auto grant = handles[i]->Acquire(space_, wish);
        if (!grant.ok()) continue;
        ++grants;
        if (++holders[grant->worker] != 1) ++shared;
        auto renewed = handles[i]->Renew(space_, RenewalOf(*grant, nonce));
        EXPECT_TRUE(renewed.ok()) << renewed.status();
        --holders[grant->worker];
        EXPECT_TRUE(handles[i]
                        ->Release(space_, {grant->worker, grant->token,
                                           grant->granted_at - absl::Milliseconds(1), nonce})
                        .ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared, 0);
  EXPECT_GT(grants, kHolders);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WorkerLeaseStoreContract);

}  // namespace
}  // namespace locus
