// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "src/cluster/machine/machine.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string MessageOf(const Answer& answer) { return std::string(answer.status.message()); }

TEST_F(MachineTest, Acquire_TakesTheFirstFreeIdFromStart) {
  EXPECT_EQ(Acquired("a").worker, 0u);
  EXPECT_EQ(Acquired("b").worker, 1u);
  WorkerAcquire acquire = AcquireOf("c");
  acquire.start = 3;
  EXPECT_EQ(Do(acquire).grant->worker, 3u);
  acquire.nonce = "d";
  EXPECT_EQ(Do(acquire).grant->worker, 2u) << "round the range";
  const Answer full = Do(AcquireOf("e"));
  EXPECT_EQ(full.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(MessageOf(full), HasSubstr("all 4 worker IDs of 0..3 are taken, 4 of them held"));
  EXPECT_THAT(FactsTold(), ElementsAre("refused 0 e"));
}

TEST_F(MachineTest, Preferred_IsTakenIfFree) {
  WorkerAcquire acquire = AcquireOf("a");
  acquire.preferred = 2;
  EXPECT_EQ(Do(acquire).grant->worker, 2u);
  acquire.nonce = "b";
  EXPECT_EQ(Do(acquire).grant->worker, 0u);
}

TEST_F(MachineTest, SameNonceWithoutId_FindsItsLease) {
  EXPECT_EQ(Acquired("a").worker, 0u);
  EXPECT_EQ(Acquired("b").worker, 1u);
  Do(WorkerRelease{0, machine_.Show(space_)->workers[0].token, now_ - absl::Hours(1)});
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Acquired("b").worker, 1u) << "although 0 comes first and is free again";
  EXPECT_EQ(machine_.held(), 1u);
}

TEST_F(MachineTest, NonceOfALeaseThatEnded_SearchesLikeAnyOther) {
  EXPECT_EQ(Acquired("a").worker, 0u);
  EXPECT_EQ(Acquired("b").worker, 1u);
  now_ += kTtl + kSkew + absl::Milliseconds(1);
  EXPECT_EQ(Acquired("b").worker, 0u);
  EXPECT_THAT(FactsTold(), ElementsAre("expired 0 a", "granted 0 b"));
}

TEST_F(MachineTest, TimeOfACommand_NeverFalls) {
  const absl::Time before = machine_.now();
  Apply({now_ - absl::Hours(1), false, {}});
  EXPECT_EQ(machine_.now(), before);
  Apply({now_ + absl::Hours(1), false, {}});
  EXPECT_EQ(machine_.now(), before + absl::Hours(1));
}

TEST_F(MachineTest, Expiry_EndsOnlyLeasesPastTheirCeiling) {
  const WorkerGrant a = Acquired("a");
  now_ += absl::Seconds(5);
  const WorkerGrant b = Acquired("b");
  EXPECT_EQ(machine_.NextExpiry(), a.ceiling);
  now_ = a.ceiling;
  Expire();
  EXPECT_THAT(facts_, IsEmpty()) << "a ceiling may be used up to its last millisecond";
  now_ += absl::Milliseconds(1);
  Expire();
  EXPECT_THAT(FactsTold(), ElementsAre("expired 0 a"));
  EXPECT_EQ(machine_.NextExpiry(), b.ceiling);
  WorkerRenew renew = RenewOf(a, "a");
  renew.ceiling = now_ + absl::Seconds(5);  // whatever it claims
  EXPECT_EQ(Do(renew).status.code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Do(RenewOf(b, "b")).status.ok());
}

TEST_F(MachineTest, Renewal_RaisesCeilingAndPutsTheExpiryOff) {
  const WorkerGrant a = Acquired("a");
  const WorkerGrant b = Acquired("b");
  now_ += absl::Seconds(9);
  const Answer renewed = Do(RenewOf(a, "a"));
  EXPECT_EQ(renewed.grant->ceiling, now_ + kTtl + kSkew);
  EXPECT_EQ(machine_.NextExpiry(), b.ceiling);
  now_ += absl::Seconds(3);
  Expire();
  EXPECT_THAT(FactsTold(), ElementsAre("expired 1 b"));
  EXPECT_EQ(machine_.NextExpiry(), renewed.grant->ceiling);
  EXPECT_EQ(machine_.held(), 1u);
}

TEST_F(MachineTest, IdPastItsCeiling_IsGrantedAbovePreviousCeilingEvenWithoutExpiry) {
  const WorkerGrant a = Acquired("a");
  now_ = a.ceiling + absl::Milliseconds(1);
  WorkerAcquire acquire = AcquireOf("b");
  acquire.range = {0, 0};
  const WorkerGrant b = Do(acquire).grant.value();
  EXPECT_EQ(b.floor, a.ceiling);
  EXPECT_GT(b.token, a.token);
  EXPECT_THAT(FactsTold(), ElementsAre("expired 0 a", "granted 0 b"));
  EXPECT_EQ(Do(RenewOf(a, "a")).status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(machine_.held(), 1u);
  EXPECT_EQ(machine_.NextExpiry(), b.ceiling);
}

TEST_F(MachineTest, Release_FreesTheIdAboveItsLastTime) {
  const WorkerGrant a = Acquired("a");
  EXPECT_TRUE(Do(WorkerRelease{a.worker, a.token, now_ - absl::Nanoseconds(1)}).status.ok());
  EXPECT_THAT(FactsTold(), ElementsAre("released 0 a"));
  EXPECT_EQ(machine_.held(), 0u);
  EXPECT_EQ(machine_.NextExpiry(), absl::InfiniteFuture());
  EXPECT_EQ(machine_.Show(space_)->workers[0].ceiling, now_) << "rounded up";
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Acquired("b").worker, 0u);
}

TEST_F(MachineTest, RequestSentAgain_GetsTheSameAnswerAndDoesNothing) {
  const RequestId id = NewId();
  const Answer first = Do(AcquireOf("a"), id);
  const WorkerGrant& a = *first.grant;
  EXPECT_TRUE(Do(WorkerRelease{a.worker, a.token, now_}).status.ok());
  now_ += absl::Minutes(1);
  EXPECT_EQ(Do(AcquireOf("a"), id), first);
  EXPECT_THAT(facts_, IsEmpty());
  EXPECT_EQ(machine_.held(), 0u) << "carried out once";
}

TEST_F(MachineTest, RequestIdOfAnotherRequest_IsRefusedAndNamed) {
  const RequestId id{now_, 7, 0xabc};
  const Answer first = Do(AcquireOf("a"), id);
  const WorkerGrant& a = *first.grant;
  machine_ = Machine::Restore(machine_.Snapshot()).value();
  WorkerAcquire narrower = AcquireOf("a");
  narrower.range = {1, 3};
  const Answer other = Do(narrower, id);
  EXPECT_EQ(other.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(other),
              HasSubstr("request ID 1700000000000-00000000000000070000000000000abc "
                        "was used for another request"));
  const std::vector<Action> others = {AcquireOf("b"), WorkerRelease{a.worker, a.token, now_},
                                      Create{kTtl, now_}};
  for (const Action& action : others) {
    EXPECT_EQ(Do(action, id).status.code(), absl::StatusCode::kInvalidArgument);
  }
  space_ = SpaceName::Parse("us").value();
  EXPECT_EQ(Do(AcquireOf("a"), id).status.code(), absl::StatusCode::kInvalidArgument);
  space_ = SpaceName::Parse("eu").value();
  now_ += absl::Seconds(1);
  EXPECT_EQ(Do(AcquireOf("a"), id), first) << "only the caller's clock goes on";
  EXPECT_EQ(machine_.held(), 1u);
}

TEST_F(MachineTest, RefusalThatNotedALoss_IsRememberedSoThatTheSpaceRestsOnce) {
  const WorkerGrant a = Acquired("a");
  const RequestId id = NewId();
  WorkerRenew renew = RenewOf(a, "a");
  renew.token -= 1;
  const Answer aborted = Do(renew, id);
  EXPECT_EQ(aborted.status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(FactsTold(), ElementsAre("loss noticed 0 ", "refused 0 a"));
  now_ += absl::Seconds(1);
  EXPECT_EQ(Do(renew, id), aborted);
  EXPECT_EQ(machine_.Show(space_)->losses, 1u);
}

TEST_F(MachineTest, RequestsThatChangeNothing_AreAnsweredAnewAndNotRemembered) {
  EXPECT_TRUE(Do(WorkerRelease{0, 5, now_}, NewId()).status.ok()) << "never granted";
  EXPECT_TRUE(Do(Create{absl::ZeroDuration(), now_}, NewId()).status.ok()) << "it exists";
  const WorkerGrant a = Acquired("a");
  EXPECT_EQ(Do(WorkerRelease{0, a.token - 1, now_}, NewId()).status.code(),
            absl::StatusCode::kAborted);
  WorkerAcquire acquire = AcquireOf("b");
  acquire.range = {0, 0};
  const RequestId id = NewId();
  EXPECT_EQ(Do(acquire, id).status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(machine_.remembered(), 0u);
  EXPECT_TRUE(Do(WorkerRelease{a.worker, a.token, now_ - absl::Seconds(1)}).status.ok());
  const Answer granted = Do(acquire, id);
  EXPECT_TRUE(granted.status.ok()) << granted.status;
  EXPECT_EQ(machine_.remembered(), 1u);
  EXPECT_EQ(Do(acquire, id), granted);
  EXPECT_THAT(facts_, IsEmpty());
}

TEST_F(MachineTest, ForgottenRequest_IsRefused) {
  const RequestId id = NewId();
  const Answer first = Do(AcquireOf("a"), id);
  now_ += kRemembered;
  EXPECT_EQ(Do(AcquireOf("a"), id), first);
  EXPECT_EQ(machine_.remembered(), 1u);
  now_ += absl::Milliseconds(1);
  const Answer late = Do(AcquireOf("a"), id);
  EXPECT_EQ(late.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(MessageOf(late), HasSubstr("remembered for 2m"));
  EXPECT_EQ(machine_.remembered(), 0u);
  RequestId early = NewId();
  early.made = now_ + kRemembered + absl::Milliseconds(1);
  EXPECT_EQ(Do(AcquireOf("a"), early).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MachineTest, TooManyRequests_AreRefusedAndNotCarriedOut) {
  for (size_t i = 0; i < kMostRemembered / kMostRequests; ++i) {
    Command command{now_, false, {}};
    for (size_t j = 0; j < kMostRequests; ++j) {
      command.requests.push_back({NewId(), space_, AcquireOf("b")});
    }
    machine_.Apply(command);
  }
  EXPECT_EQ(machine_.remembered(), kMostRemembered);
  const RequestId id = NewId();
  const Answer full = Do(AcquireOf("a"), id);
  EXPECT_EQ(full.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(MessageOf(full), HasSubstr("has 131072 requests, which is the most"));
  EXPECT_EQ(machine_.held(), 1u);
  EXPECT_TRUE(Do(AcquireOf("a")).status.ok()) << "without an ID";
  const std::string bytes = machine_.Snapshot();
  EXPECT_EQ(Machine::Restore(bytes)->Snapshot(), bytes);
  now_ += kRemembered + absl::Milliseconds(1);
  EXPECT_TRUE(Do(AcquireOf("c"), NewId()).status.ok());
}

TEST_F(MachineTest, UnhealthyHolder_IsNotRenewedUntilItIsHealthy) {
  const WorkerGrant a = Acquired("a");
  EXPECT_TRUE(Do(Verdict{a.worker, a.token, false, "3 probes of http://a/ failed"}).status.ok());
  EXPECT_THAT(FactsTold(), ElementsAre("unhealthy 0 a"));
  EXPECT_TRUE(Do(Verdict{a.worker, a.token, false, "4"}).status.ok());
  EXPECT_THAT(facts_, IsEmpty()) << "it was known";
  EXPECT_EQ(Do(RenewOf(a, "a")).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Do(AcquireOf("a")).status.code(), absl::StatusCode::kFailedPrecondition);
  machine_ = Machine::Restore(machine_.Snapshot()).value();
  EXPECT_EQ(Do(RenewOf(a, "a")).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Do(Verdict{a.worker, a.token, true, ""}).status.ok());
  EXPECT_TRUE(Do(RenewOf(a, "a")).status.ok());
  EXPECT_EQ(Do(Verdict{a.worker, a.token + 1, false, ""}).status.code(),
            absl::StatusCode::kAborted);
}

TEST_F(MachineTest, UnhealthyHolder_TheNextOneIsHealthy) {
  const WorkerGrant a = Acquired("a");
  Do(Verdict{a.worker, a.token, false, ""});
  now_ = a.ceiling + absl::Milliseconds(1);
  Expire();
  const WorkerGrant b = Acquired("b");
  EXPECT_EQ(b.worker, a.worker);
  EXPECT_TRUE(Do(RenewOf(b, "b")).status.ok());
}

TEST_F(MachineTest, ClockThatIsOff_IsRefused) {
  WorkerAcquire acquire = AcquireOf("a");
  acquire.caller_now += kSkew + absl::Milliseconds(1);
  EXPECT_EQ(Do(acquire).status.code(), absl::StatusCode::kFailedPrecondition);
  const WorkerGrant a = Acquired("a");
  WorkerRenew renew = RenewOf(a, "a");
  renew.caller_now -= kSkew + absl::Milliseconds(1);
  EXPECT_EQ(Do(renew).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Do(Create{absl::ZeroDuration(), now_ + absl::Seconds(61)}).status.code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(MachineTest, RenewalOfALeaseThatWasForgotten_TakesItOverAndRests) {
  WorkerRenew renew = RenewOf({2, 1000, absl::InfinitePast(), now_ + kTtl, now_}, "z");
  const Answer taken = Do(renew);
  ASSERT_TRUE(taken.status.ok()) << taken.status;
  EXPECT_TRUE(taken.grant->loss_noticed);
  EXPECT_THAT(FactsTold(), ElementsAre("loss noticed 0 ", "renewed 2 z"));
  EXPECT_EQ(Do(AcquireOf("a")).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(machine_.Show(space_)->losses, 1u);
  now_ += kTtl + kSkew + absl::Milliseconds(1);
  EXPECT_TRUE(Do(AcquireOf("a")).status.ok());
}

TEST_F(MachineTest, SpaceCreatedAgainWithARest_GrantsNothingMeanwhile) {
  EXPECT_TRUE(Do(Create{kTtl, now_}).status.ok());
  EXPECT_THAT(FactsTold(), ElementsAre("loss noticed 0 "));
  EXPECT_EQ(Do(AcquireOf("a")).status.code(), absl::StatusCode::kUnavailable);
  now_ += kTtl + absl::Milliseconds(1);
  EXPECT_TRUE(Do(AcquireOf("a")).status.ok());
}

TEST_F(MachineTest, SpaceInUse_IsNotDeleted) {
  auto refusal = [this] { return MessageOf(Do(Delete{})); };
  const WorkerGrant a = Acquired("a");
  EXPECT_THAT(refusal(), HasSubstr("space eu cannot be deleted yet: worker 0 is held"));
  Do(WorkerRelease{a.worker, a.token, now_});
  EXPECT_THAT(refusal(), HasSubstr("worker 0 rests"));
  now_ += absl::Milliseconds(1);
  for (int i = 0; i < 3; ++i) {  // tokens run ahead of the clock
    const WorkerGrant b = Acquired("b");
    Do(WorkerRelease{b.worker, b.token, now_ - absl::Milliseconds(1)});
  }
  EXPECT_THAT(refusal(), HasSubstr("which is above the clock"));
  Do(Create{kTtl, now_});
  EXPECT_THAT(refusal(), HasSubstr("it rests"));
  now_ += kTtl + absl::Milliseconds(1);
  EXPECT_TRUE(Do(Delete{}).status.ok());
  EXPECT_EQ(Do(Delete{}).status.code(), absl::StatusCode::kNotFound);
}

TEST_F(MachineTest, SpaceMadeAfterADeletion_GrantsAboveEveryCeilingAndTokenOfTheDeletedOne) {
  const WorkerGrant a = Acquired("a");
  now_ = a.ceiling + absl::Milliseconds(1);
  EXPECT_EQ(Do(Delete{}).status.code(), absl::StatusCode::kFailedPrecondition) << "not ended yet";
  Expire();
  const RequestId id = NewId();
  EXPECT_TRUE(Do(Delete{}, id).status.ok());
  EXPECT_THAT(FactsTold(), ElementsAre("deleted 0 "));
  EXPECT_EQ(machine_.workers(), 0u);
  EXPECT_EQ(machine_.Show(space_).status().code(), absl::StatusCode::kNotFound);
  machine_ = Machine::Restore(machine_.Snapshot()).value();
  Do(Create{absl::ZeroDuration(), now_});
  EXPECT_TRUE(Do(Delete{}, id).status.ok()) << "carried out before";
  const WorkerGrant b = Acquired("b");
  EXPECT_EQ(b.worker, a.worker);
  EXPECT_EQ(b.floor, a.ceiling) << "although the store forgot the lease";
  EXPECT_GT(b.token, a.token);
  EXPECT_EQ(Do(RenewOf(a, "a")).status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Do(WorkerRelease{a.worker, a.token, now_}).status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(machine_.held(), 1u);
}

TEST_F(MachineTest, UnknownSpace_IsNotFound) {
  space_ = SpaceName::Parse("other").value();
  EXPECT_EQ(Do(AcquireOf("a")).status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Do(WorkerRelease{1, 1, now_}).status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(machine_.Show(space_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(MachineTest, OneSpaceTooMany_IsRefused) {
  for (size_t i = 1; i < kMostSpaces; ++i) {
    space_ = SpaceName::Parse(absl::StrCat("s", i)).value();
    EXPECT_TRUE(Do(Create{absl::ZeroDuration(), now_}).status.ok());
  }
  EXPECT_TRUE(Do(Create{absl::ZeroDuration(), now_}).status.ok()) << "it exists";
  space_ = SpaceName::Parse("more").value();
  EXPECT_THAT(MessageOf(Do(Create{absl::ZeroDuration(), now_})),
              HasSubstr("space more: the cluster has 64 spaces, which is the most"));
  EXPECT_THAT(MessageOf(Do(RenewOf({2, 1000, absl::InfinitePast(), now_ + kTtl, now_}, "z"))),
              HasSubstr("64 spaces"));
}

}  // namespace
}  // namespace locus::cluster_machine
