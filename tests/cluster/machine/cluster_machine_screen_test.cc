// SPDX-License-Identifier: Apache-2.0
// Clients' claims: a leader screens them, then all nodes apply the rest.
#include "gmock/gmock.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ScreenTest : public MachineTest {
 protected:
  // As a leader does it.
  Answer Ask(Action action, std::optional<RequestId> id = std::nullopt) {
    Request request{id, space_, std::move(action), {}};
    const Machine::Screened screened = machine_.Screen(request);
    if (screened.answer) return *screened.answer;
    Command command{now_, false, {}};
    if (screened.mend_before) {
      command.requests.push_back({std::nullopt, space_, *screened.mend_before, {}});
    }
    command.requests.push_back(std::move(request));
    Answer answer = Apply(command).answers.back();
    if (screened.refusal) answer = {*screened.refusal, std::nullopt, {}};
    return answer;
  }
  absl::StatusCode CodeOf(Action action) { return Ask(std::move(action)).status.code(); }
  WorkerRenew Claim(uint64_t worker, uint64_t token) {
    return RenewOf({worker, token, absl::InfinitePast(), now_ + kTtl, now_}, "forged");
  }
  WorkerRecord Record(uint64_t worker) {
    const auto view = machine_.Show(space_);
    for (const WorkerRecord& record : view->workers) {
      if (record.worker == worker) return record;
    }
    return {};
  }
  // As a machine of an earlier version had it: nothing was screened.
  void Forge(uint64_t worker, uint64_t token) { EXPECT_TRUE(Do(Claim(worker, token)).status.ok()); }
};

TEST_F(ScreenTest, RenewalAheadOfTheClock_IsRefusedAndAFact) {
  const uint64_t now = static_cast<uint64_t>(absl::ToUnixMillis(now_));
  for (uint64_t token : {now + 1, now + 3'600'000, uint64_t{1} << 61, uint64_t{1} << 62}) {
    EXPECT_EQ(CodeOf(Claim(0, token)), absl::StatusCode::kFailedPrecondition) << token;
    ASSERT_THAT(facts_, SizeIs(1));
    EXPECT_EQ(facts_[0].kind, Fact::Kind::kRefused);
    EXPECT_EQ(facts_[0].token, token);
  }
  EXPECT_THAT(machine_.Show(space_)->workers, IsEmpty());
  EXPECT_TRUE(Ask(Claim(0, now)).grant->loss_noticed) << "a lease that was forgotten";
}

TEST_F(ScreenTest, RenewalWithTheNextToken_DoesNotEndTheHoldersLease) {
  const WorkerGrant held = Acquired("a");
  now_ += absl::Seconds(1);
  Do(Verdict{held.worker, held.token, true, ""});  // advances the machine's time
  EXPECT_EQ(CodeOf(Claim(held.worker, held.token + 1)), absl::StatusCode::kAborted);
  EXPECT_EQ(Record(held.worker).token, held.token);
  EXPECT_TRUE(Ask(RenewOf(held, "a")).status.ok());
  // Nothing is granted until a lease that was forgotten could have ended.
  EXPECT_EQ(CodeOf(AcquireOf("b")), absl::StatusCode::kUnavailable);
}

TEST_F(ScreenTest, RenewalInASpaceThatDoesNotExist_DoesNotCreateIt) {
  space_ = SpaceName::Parse("new").value();
  EXPECT_EQ(CodeOf(Claim(0, 1)), absl::StatusCode::kNotFound);
  EXPECT_EQ(machine_.Show(space_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ScreenTest, RenewalOfAnImpossibleCeiling_IsRefused) {
  const WorkerGrant held = Acquired("a");
  WorkerRenew renew = RenewOf(held, "a");
  renew.ceiling = now_ + absl::Hours(25);
  EXPECT_EQ(CodeOf(renew), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Record(held.worker).ceiling, held.ceiling);
  EXPECT_EQ(machine_.Show(space_)->losses, 0u);
}

TEST_F(ScreenTest, ReleaseWithoutTheNonce_ChangesNothing) {
  const WorkerGrant held = Acquired("a");
  for (const char* nonce : {"", "b"}) {
    const Answer refused = Ask(WorkerRelease{held.worker, held.token, absl::UnixEpoch(), nonce});
    EXPECT_FALSE(refused.status.ok());
    ASSERT_THAT(facts_, SizeIs(1));
    EXPECT_EQ(facts_[0].kind, Fact::Kind::kRefused);
    EXPECT_EQ(Record(held.worker).nonce, "a");
    EXPECT_EQ(Record(held.worker).ceiling, held.ceiling);
  }
  EXPECT_EQ(machine_.Show(space_)->losses, 0u);
}

TEST_F(ScreenTest, Release_DoesNotLowerTheCeilingBelowTheLastRenewal) {
  const WorkerGrant held = Acquired("a");
  now_ += absl::Seconds(3);
  ASSERT_TRUE(Ask(RenewOf(held, "a")).status.ok());
  const absl::Time renewed = now_;
  now_ += absl::Seconds(1);
  const RequestId id = NewId();
  const WorkerRelease release{held.worker, held.token, absl::UnixEpoch(), "a"};
  ASSERT_TRUE(Ask(release, id).status.ok());
  EXPECT_EQ(Acquired("b").floor, renewed);
  EXPECT_TRUE(Ask(release, id).status.ok()) << "sent again, after another one has the ID";
}

TEST_F(ScreenTest, ReleaseOfATokenToCome_ReleasesNothing) {
  const WorkerGrant held = Acquired("a");
  Request guess{std::nullopt, space_, WorkerRelease{1, held.token + 5, absl::UnixEpoch(), ""}, {}};
  machine_.Screen(guess);
  now_ += absl::Milliseconds(5);
  const WorkerGrant granted = Acquired("b");
  ASSERT_EQ(granted.worker, 1u);
  ASSERT_EQ(granted.token, held.token + 5);
  Apply({now_, false, {guess}});
  EXPECT_EQ(Record(1).nonce, "b");
}

// A machine of an earlier version, whose snapshot no node could read.
TEST_F(ScreenTest, ForgedTokens_AreMendedByTheNextLeader) {
  Forge(0, uint64_t{1} << 62);
  now_ += kTtl + kSkew + absl::Milliseconds(1);
  const WorkerGrant above = Acquired("a");
  EXPECT_EQ(above.token, (uint64_t{1} << 62) + 1);
  machine_ = Machine::Restore(machine_.Snapshot()).value();
  const std::vector<Request> mends = machine_.Mends();
  ASSERT_THAT(mends, SizeIs(1));
  Apply({now_, false, mends});
  ASSERT_THAT(facts_, SizeIs(1));
  EXPECT_EQ(facts_[0].kind, Fact::Kind::kExpired);
  EXPECT_THAT(std::string(facts_[0].status.message()), HasSubstr("mended to 1700000"));
  EXPECT_THAT(machine_.Mends(), IsEmpty());
  EXPECT_EQ(CodeOf(RenewOf({0, uint64_t{1} << 62, above.floor, above.ceiling, now_}, "a")),
            absl::StatusCode::kFailedPrecondition);
  now_ = above.ceiling + absl::Milliseconds(1);
  const WorkerGrant next = Acquired("b");
  EXPECT_EQ(next.worker, 0u);
  EXPECT_EQ(next.token, static_cast<uint64_t>(absl::ToUnixMillis(now_)));
  EXPECT_EQ(next.floor, above.ceiling) << "no ID repeats";
  EXPECT_EQ(Machine::Restore(machine_.Snapshot())->Snapshot(), machine_.Snapshot());
}

TEST_F(ScreenTest, SpaceThatAForgedRenewalMade_CanBeDeleted) {
  space_ = SpaceName::Parse("forged").value();
  Forge(3, uint64_t{1} << 60);
  EXPECT_EQ(CodeOf(Delete{}), absl::StatusCode::kFailedPrecondition) << "it rests";
  now_ += kTtl + kSkew + absl::Milliseconds(1);
  Expire();
  EXPECT_TRUE(Ask(Delete{}).status.ok());
  EXPECT_EQ(machine_.Show(space_).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace locus::cluster_machine
