// SPDX-License-Identifier: Apache-2.0
#include "locus/worker_lease.h"

#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/version.h"
#include "nlohmann/json.hpp"
#include "src/worker/holder_text.h"
#include "src/worker/renewal.h"
#include "tests/support/stringified.h"
#include "tests/worker/worker_lease_fixture.h"

namespace locus {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Call = HookedWorkerStore::Call;
using Kind = WorkerLeaseEvent::Kind;

TEST_F(WorkerLeaseTest, Options_OutsideTheirLimits_AreNamed) {
  auto refusal = [this](auto change) {
    WorkerLeaseOptions options = Options();
    change(options);
    absl::Status status = WorkerLease::Acquire(store_, options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(refusal([](auto& o) { o.ttl = 9 * kSecond; }),
              AllOf(HasSubstr("ttl"), HasSubstr("9s")));
  EXPECT_THAT(refusal([](auto& o) { o.ttl = absl::Hours(25); }), HasSubstr("24 h"));
  EXPECT_THAT(refusal([](auto& o) { o.max_skew = 61 * kSecond; }), HasSubstr("max_skew"));
  EXPECT_THAT(refusal([](auto& o) { o.range = WorkerRange{7, 3}; }), HasSubstr("7..3"));
  EXPECT_THAT(refusal([](auto& o) { o.preferred = 1024; }), HasSubstr("1024"));
  EXPECT_THAT(refusal([](auto& o) { o.holder = "me"; }), HasSubstr("JSON"));
  EXPECT_THAT(refusal([](auto& o) { o.holder = "{\n}"; }), HasSubstr("line breaks"));
  EXPECT_THAT(refusal([](auto& o) { o.holder = "{" + std::string(1023, ' ') + "}"; }),
              HasSubstr("1025"));
  EXPECT_THAT(refusal([](auto& o) { o.clock = nullptr; }), HasSubstr("clock"));
  EXPECT_TRUE(absl::IsInvalidArgument(WorkerLease::Acquire(nullptr, Options()).status()));
  EXPECT_TRUE(store_->acquires().empty());
}

TEST_F(WorkerLeaseTest, Acquire_ReturnsTheGrantOfTheStore) {
  WorkerLeaseOptions options = Options();
  options.range = WorkerRange{64, 95};
  options.preferred = 70;
  auto lease = Acquire(options);
  EXPECT_EQ(lease->worker(), 70u);
  EXPECT_EQ(lease->token(), store_->Record(70)->token);
  EXPECT_EQ(lease->floor(), absl::InfinitePast());
  EXPECT_EQ(lease->ceiling(), clock_.Now() + kTtl + options.max_skew);
  EXPECT_TRUE(lease->held());
  EXPECT_EQ(lease->facts().engine, "memory");
  EXPECT_EQ(lease->Stats().left, worker::UsableFor(kTtl));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].kind, Kind::kAcquired);
  EXPECT_EQ(events_[0].worker, 70u);
  EXPECT_EQ(events_[0].token, lease->token());
  EXPECT_EQ(events_[0].ceiling, lease->ceiling());
}

TEST_F(WorkerLeaseTest, Acquire_BeginsAnywhereInTheRange) {
  WorkerLeaseOptions options = Options();
  options.range = WorkerRange{100, 107};
  std::set<uint64_t> starts;
  std::set<std::string> nonces;
  for (int i = 0; i < 200; ++i) {
    auto lease = Acquire(options);
    ASSERT_TRUE(lease->Bind(numbers_).ok());  // free at once
    lease->Release().IgnoreError();
    starts.insert(store_->acquires().back().start);
    nonces.insert(store_->acquires().back().nonce);
    clock_.Advance(kSecond);
  }
  EXPECT_EQ(starts.size(), 8u);
  EXPECT_EQ(nonces.size(), 200u);
}

TEST_F(WorkerLeaseTest, Acquire_AnswerLost_FindsTheSameIdAgain) {
  int lost = 3;
  store_->After(
      [&](Call) { return lost-- > 0 ? absl::UnavailableError("cut") : absl::OkStatus(); });
  auto lease = Acquire(Options());
  auto calls = store_->acquires();
  ASSERT_EQ(calls.size(), 4u);
  for (const WorkerAcquire& call : calls) {
    EXPECT_EQ(call.nonce, calls[0].nonce);
    EXPECT_EQ(call.start, calls[0].start);
  }
  EXPECT_EQ(store_->Show(SpaceName())->workers.size(), 1u);
  EXPECT_EQ(lease->Stats().left, worker::UsableFor(kTtl)) << "from the last call";
}

TEST_F(WorkerLeaseTest, Acquire_NoAnswerWithinPatience_IsUnavailable) {
  Answer(Call::kAcquire, absl::UnavailableError("no route"));
  const absl::Duration begin = clock_.SinceBoot();
  absl::Status status = WorkerLease::Acquire(store_, Options(), 20 * kSecond).status();
  EXPECT_EQ(status, absl::UnavailableError("no route"));
  EXPECT_LE(clock_.SinceBoot() - begin, 20 * kSecond);
  EXPECT_GE(clock_.SinceBoot() - begin, 17 * kSecond);
}

TEST_F(WorkerLeaseTest, Acquire_OtherErrors_AreNotRepeated) {
  int calls = 0;
  store_->Before([&](Call) {
    ++calls;
    return absl::ResourceExhaustedError("all taken");
  });
  EXPECT_EQ(WorkerLease::Acquire(store_, Options()).status(),
            absl::ResourceExhaustedError("all taken"));
  EXPECT_EQ(calls, 1);
}

TEST_F(WorkerLeaseTest, Acquire_AnswerAfterTheDeadline_IsNotUsed) {
  store_->After([&](Call) {
    clock_.Advance(kTtl);
    return absl::OkStatus();
  });
  absl::Status status = WorkerLease::Acquire(store_, Options()).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the answer took 30s"));
}

TEST_F(WorkerLeaseTest, Acquire_WithoutHolder_DescribesThisProcess) {
  auto lease = Acquire(Options());
  auto holder = nlohmann::json::parse(store_->acquires()[0].holder);
  EXPECT_EQ(holder.at("pid"), getpid());
  EXPECT_EQ(holder.at("version"), Version());
  EXPECT_FALSE(holder.at("host").get<std::string>().empty());
  Pass(11 * kSecond);
  EXPECT_EQ(nlohmann::json::parse(store_->renewals().at(0).holder), holder);
}

TEST(HolderTextTest, AnyHostName_IsJson) {
  auto text = nlohmann::json::parse(worker::HolderText("a\"b\\c\n\xff", 7, "0.1.0", 3));
  EXPECT_EQ(text.at("host"), "a\"b\\c\\x0a\\xff");
  EXPECT_EQ(text.at("datacenter"), 3);
}

TEST_F(WorkerLeaseTest, Renewals_RaiseTheCeilingOfTheUser) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  EXPECT_THAT(numbers_->ceilings, ElementsAre(lease->ceiling()));
  const absl::Time before = lease->ceiling();
  Pass(2 * kTtl);
  EXPECT_TRUE(lease->held());
  EXPECT_GT(lease->ceiling(), before + kTtl);
  EXPECT_EQ(numbers_->ceilings.back(), store_->Record(lease->worker())->ceiling);
  EXPECT_EQ(lease->Stats().renewals, store_->renewals().size());
  EXPECT_EQ(Count(Kind::kRenewed), static_cast<int>(store_->renewals().size()));
  EXPECT_GE(store_->renewals().size(), 5u);
  EXPECT_LE(store_->renewals().size(), 8u);
  EXPECT_TRUE(losses_.empty());
  for (const WorkerRenew& renewal : store_->renewals()) {
    EXPECT_EQ(renewal.token, lease->token());
    EXPECT_EQ(renewal.nonce, store_->acquires()[0].nonce);
  }
}

TEST_F(WorkerLeaseTest, Renewals_NameTheHighestCeilingAnswered) {
  auto lease = Acquire(Options());
  Pass(11 * kSecond);
  const absl::Time answered = lease->ceiling();
  // Carried out, not answered: the store knows a higher one, this process must not use it.
  store_->After([](Call) { return absl::UnavailableError("cut"); });
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  Pass(11 * kSecond);
  EXPECT_GT(store_->Record(lease->worker())->ceiling, answered);
  EXPECT_EQ(lease->ceiling(), answered);
  EXPECT_THAT(numbers_->ceilings, ElementsAre(answered));
  EXPECT_EQ(store_->renewals().back().ceiling, answered);
}

TEST_F(WorkerLeaseTest, StoreAwayForAWhile_LeaseContinues) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  for (absl::Status error : {absl::UnavailableError("down"), absl::FailedPreconditionError("clock"),
                             absl::NotFoundError("no space"), absl::DataLossError("torn")}) {
    const int failed = Count(Kind::kRenewalFailed);
    Answer(Call::kRenew, error);
    Pass(worker::UsableFor(kTtl) - 11 * kSecond);
    EXPECT_GT(Count(Kind::kRenewalFailed), failed);
    EXPECT_EQ(events_.back().status, error);
    EXPECT_TRUE(lease->held()) << error;
    Answer(Call::kRenew, absl::OkStatus());
    Pass(kTtl);
  }
  EXPECT_TRUE(lease->held());
  EXPECT_FALSE(numbers_->closed);
  EXPECT_EQ(lease->Stats().failures, Count(Kind::kRenewalFailed));
}

TEST_F(WorkerLeaseTest, StoreAwayForTooLong_IsLostOnceAtTheDeadline) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  Answer(Call::kRenew, absl::UnavailableError("down"));
  Pass(worker::UsableFor(kTtl) - absl::Milliseconds(1), absl::Milliseconds(100));
  EXPECT_TRUE(lease->held());
  EXPECT_TRUE(losses_.empty());
  Pass(absl::Milliseconds(1));
  EXPECT_FALSE(lease->held());
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(losses_[0]));
  EXPECT_THAT(losses_[0].message(), HasSubstr("UNAVAILABLE: down"));
  EXPECT_TRUE(closed_when_told_);
  Answer(Call::kRenew, absl::OkStatus());
  Pass(5 * kTtl);
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_EQ(Count(Kind::kLost), 1);
  EXPECT_TRUE(store_->renewals().empty()) << "it was never renewed, neither before nor after";
  EXPECT_LE(lease->Stats().left, absl::ZeroDuration());
  EXPECT_EQ(lease->Release(), losses_[0]) << "nothing to give back";
  EXPECT_TRUE(store_->releases().empty());
}

TEST_F(WorkerLeaseTest, EndedInTheStore_IsLostAtOnce) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  Answer(Call::kRenew, absl::AbortedError("another holder"));
  Pass(10 * kSecond);
  EXPECT_FALSE(lease->held());
  EXPECT_THAT(losses_, ElementsAre(absl::AbortedError("another holder")));
  EXPECT_TRUE(closed_when_told_);
  EXPECT_EQ(lease->Stats().failures, 1u);
}

TEST_F(WorkerLeaseTest, AnswerBeforeTheDeadline_CountsFromWhenItWasAsked) {
  absl::Duration sent;
  auto lease = Acquire(Options());
  store_->After([&](Call) {
    if (store_->renewals().size() > 1) return absl::OkStatus();
    sent = clock_.SinceBoot();
    clock_.Advance(9 * kSecond);  // before the next one is due
    return absl::OkStatus();
  });
  while (store_->renewals().empty()) Pass(kSecond);
  EXPECT_EQ(lease->Stats().left, sent + worker::UsableFor(kTtl) - clock_.SinceBoot());
}

TEST_F(WorkerLeaseTest, AnswerAfterTheDeadline_RevivesNothing) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  store_->After([&](Call) {
    clock_.Advance(kTtl);
    return absl::OkStatus();
  });
  while (store_->renewals().empty()) Pass(kSecond);
  EXPECT_GT(store_->Record(lease->worker())->ceiling, clock_.Now()) << "it was carried out";
  EXPECT_FALSE(lease->held());
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_EQ(numbers_->ceilings.size(), 1u);
  EXPECT_TRUE(numbers_->closed);
  EXPECT_EQ(Count(Kind::kRenewed), 0);
}

TEST_F(WorkerLeaseTest, MachineSuspended_NoticesAtOnce) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  clock_.Advance(absl::Hours(1));
  EXPECT_FALSE(lease->held()) << "before any thread has run";
  absl::Status late = lease->Bind(std::make_shared<Numbers>());
  EXPECT_TRUE(absl::IsFailedPrecondition(late)) << late;
  Suspend(absl::Seconds(1));
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_TRUE(store_->renewals().empty());
}

TEST_F(WorkerLeaseTest, DeadlinePassedBeforeTheRenewalBegins_IsAlsoLost) {
  auto lease = Acquire(Options());
  clock_.Advance(11 * kSecond);
  // After the watch has seen that a renewal is due, before that begins.
  executor_.Post([this] { clock_.Advance(kTtl); }, kSecond);
  executor_.RunDelayed();
  EXPECT_EQ(losses_.size(), 1u);
  EXPECT_TRUE(store_->renewals().empty());
}

TEST_F(WorkerLeaseTest, WallClockSet_ChangesNoDeadline) {
  auto lease = Acquire(Options());
  const absl::Duration left = lease->Stats().left;
  clock_.Jump(absl::Hours(5));
  EXPECT_EQ(lease->Stats().left, left);
  clock_.Jump(-absl::Hours(10));
  EXPECT_TRUE(lease->held());
  clock_.Jump(absl::Hours(5));
}

TEST_F(WorkerLeaseTest, Unhealthy_IsNotRenewedAndLostAtTheDeadline) {
  bool healthy = true;
  WorkerLeaseOptions options = Options();
  options.healthy = [&] { return healthy; };
  auto lease = Acquire(options);
  Pass(kTtl);
  healthy = false;
  Pass(15 * kSecond);
  EXPECT_GT(Count(Kind::kUnhealthy), 0);
  healthy = true;
  Pass(kTtl);
  EXPECT_TRUE(lease->held()) << "healthy again in time";
  healthy = false;
  const size_t renewals = store_->renewals().size();
  Pass(kTtl);
  EXPECT_EQ(store_->renewals().size(), renewals);
  EXPECT_FALSE(lease->held());
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_THAT(losses_[0].message(), HasSubstr("not healthy"));
  EXPECT_EQ(lease->Stats().unhealthy, Count(Kind::kUnhealthy));
}

TEST_F(WorkerLeaseTest, Bind_ASecondUser_IsRefused) {
  auto lease = Acquire(Options());
  EXPECT_TRUE(absl::IsInvalidArgument(lease->Bind(nullptr)));
  EXPECT_TRUE(lease->Bind(numbers_).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(lease->Bind(std::make_shared<Numbers>())));
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(lease->Bind(std::make_shared<Numbers>())));
}

TEST_F(WorkerLeaseTest, Release_ClosesThenStoresTheLastTimeUsed) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  numbers_->used = clock_.Now() + kSecond;
  bool closed_before = false;
  store_->Before([&](Call call) {
    if (call == Call::kRelease) closed_before = numbers_->closed;
    return absl::OkStatus();
  });
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_TRUE(closed_before);
  EXPECT_EQ(store_->Record(lease->worker())->ceiling, numbers_->used);
  EXPECT_FALSE(lease->held());
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_EQ(store_->releases().size(), 1u);
  EXPECT_EQ(events_.back().kind, Kind::kReleased);
  Pass(5 * kTtl);
  EXPECT_TRUE(losses_.empty());
  EXPECT_TRUE(store_->renewals().empty());
}

TEST_F(WorkerLeaseTest, Release_WithoutAUser_RestsUntilTheCeiling) {
  auto lease = Acquire(Options());
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_EQ(store_->Record(lease->worker())->ceiling, lease->ceiling());
  EXPECT_EQ(store_->Record(lease->worker())->nonce, "");
}

TEST_F(WorkerLeaseTest, Release_AnswerLost_AsksOnceMore) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  int lost = 1;
  store_->After(
      [&](Call) { return lost-- > 0 ? absl::UnavailableError("cut") : absl::OkStatus(); });
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_EQ(store_->releases().size(), 2u);
}

TEST_F(WorkerLeaseTest, Release_AnswerLostAndIdTaken_WasCarriedOut) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  std::vector<absl::Status> answers = {absl::AbortedError("another"),
                                       absl::UnavailableError("cut")};
  store_->Before([&](Call) {
    absl::Status answer = answers.back();
    answers.pop_back();
    return answer;
  });
  EXPECT_TRUE(lease->Release().ok());
  EXPECT_TRUE(answers.empty());
}

TEST_F(WorkerLeaseTest, Release_StoreAway_IsUnavailable) {
  auto lease = Acquire(Options());
  Answer(Call::kRelease, absl::UnavailableError("down"));
  EXPECT_EQ(lease->Release(), absl::UnavailableError("down"));
  EXPECT_EQ(lease->Release(), absl::UnavailableError("down")) << "the same again, without a call";
  EXPECT_EQ(events_.back().status, absl::UnavailableError("down"));
}

TEST_F(WorkerLeaseTest, Destructor_Releases) {
  auto lease = Acquire(Options());
  ASSERT_TRUE(lease->Bind(numbers_).ok());
  const uint64_t id = lease->worker();
  lease.reset();
  EXPECT_TRUE(numbers_->closed);
  EXPECT_EQ(store_->Record(id)->nonce, "");
  EXPECT_EQ(store_->releases().size(), 1u);
}

TEST_F(WorkerLeaseTest, OnLost_MayAskAndRelease) {
  WorkerLeaseOptions options = Options();
  WorkerLease* lost = nullptr;
  absl::Status released;
  options.on_lost = [&](const absl::Status&) {
    EXPECT_FALSE(lost->held());
    released = lost->Release();
  };
  auto lease = Acquire(options);
  lost = lease.get();
  Suspend(kTtl);
  EXPECT_TRUE(absl::IsDeadlineExceeded(released)) << released;
}

TEST_F(WorkerLeaseTest, EventKinds_HaveNames) {
  EXPECT_EQ(Stringified(Kind::kRenewalFailed), "renewal_failed");
  EXPECT_EQ(Stringified(Kind::kAcquired), "acquired");
}

}  // namespace
}  // namespace locus
