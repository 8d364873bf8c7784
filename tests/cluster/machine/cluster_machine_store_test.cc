// SPDX-License-Identifier: Apache-2.0
// Counters and spaces of order IDs in the machine: once by session, in snapshots, and beside what
// nodes of codec version 2 know.
#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/segment/rules.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using ::testing::HasSubstr;
using Counter = counter_machine::Call;

class StoreTest : public MachineTest {
 protected:
  static Counter Take(const std::string& name, absl::Duration ttl = absl::ZeroDuration()) {
    Counter call;
    call.kind = Counter::Kind::kTake;
    call.name = name;
    call.number = call.last_of_first = 1;
    call.ttl = ttl;
    return call;
  }
  segment_machine::Call Allocate(uint64_t seen = 0, uint16_t section = 7,
                                 uint64_t length = 64) const {
    return segment_machine::Allocation{options_, {{section, length, seen}}, now_};
  }
  uint64_t Base() const { return machine_.segments().Show(space_, now_)->base; }
  uint64_t FloorAfter(absl::Duration after) const {
    return segment_rules::Floor(options_, now_ + after);
  }
  segment_machine::Call Create() const { return segment_machine::Create{options_, now_}; }
  RequestId Of(uint64_t session, uint64_t serial) const { return {now_, 1, session, serial}; }
  static int64_t ValueIn(const Answer& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto* reply = std::get_if<counter_machine::Reply>(&answer.reply);
    return reply == nullptr ? -1 : reply->value.value_or(-1);
  }
  static SegmentReply ReplyIn(const Answer& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto* reply = std::get_if<segment_machine::Reply>(&answer.reply);
    const auto* allocation = reply == nullptr ? nullptr : std::get_if<SegmentReply>(reply);
    EXPECT_NE(allocation, nullptr);
    return allocation == nullptr ? SegmentReply{{SegmentGrant()}, now(), false} : *allocation;
  }
  void Restart() {
    const std::string bytes = machine_.Snapshot();
    absl::StatusOr<Machine> restored = Machine::Restore(bytes);
    ASSERT_TRUE(restored.ok()) << restored.status();
    machine_ = *std::move(restored);
    EXPECT_EQ(machine_.Snapshot(), bytes);
  }
  static absl::Time now() { return absl::UnixEpoch(); }

  const SpaceOptions options_ = {};
};

TEST_F(StoreTest, RequestSentAgain_IsCarriedOutOnce_AlsoAfterASnapshot) {
  ASSERT_TRUE(Do(Create(), Of(1, 1)).status.ok());
  const Answer allocation = Do(Allocate(), Of(1, 2));
  const Answer number = Do(Take("a"), Of(2, 1));
  Restart();
  EXPECT_EQ(Do(Allocate(), Of(1, 2)), allocation);
  EXPECT_EQ(Do(Take("a"), Of(2, 1)), number);
  EXPECT_EQ(ValueIn(Do(Take("a"), Of(2, 2))), 2);
  EXPECT_EQ(ReplyIn(Do(Allocate(), Of(1, 3))).grants[0].segment.first,
            ReplyIn(allocation).grants[0].segment.end());
}

// An operator has advanced the time, or all nodes were down and their clocks are ahead: processes
// hold numbers of the counters still.
TEST_F(StoreTest, TimeLeaps_NoCounterIsForgottenBefore) {
  constexpr absl::Duration kTtlOfCounter = absl::Minutes(10);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ValueIn(Do(Take(absl::StrCat("a", i), kTtlOfCounter))), 1);
  }
  now_ += absl::Minutes(4);
  Apply({now_, false, {}});
  now_ += absl::Hours(1);
  Apply({now_, true, {}, true});
  Restart();
  now_ += absl::Minutes(6) - absl::Milliseconds(1);
  EXPECT_EQ(ValueIn(Do(Take("a7", kTtlOfCounter))), 2);
  EXPECT_EQ(ValueIn(Do(Take("a99", kTtlOfCounter))), 2);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(ValueIn(Do(Take("a8", kTtlOfCounter))), 1) << "10 minutes beside the leap";
  // With a call in the same command, and to the last time that there is.
  now_ = absl::FromUnixMillis(253370764799999);
  Apply({now_, false, {{std::nullopt, space_, Take("a7", kTtlOfCounter)}}, true});
  Restart();
  EXPECT_EQ(ValueIn(Do(Take("a7", kTtlOfCounter))), 4);
}

TEST_F(StoreTest, OlderOrAnotherRequestOfASession_IsRefused) {
  EXPECT_EQ(ValueIn(Do(Take("a"), Of(1, 5))), 1);
  EXPECT_EQ(Do(Take("a"), Of(1, 4)).status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Do(Take("b"), Of(1, 5)).status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Do(AcquireOf("a"), Of(1, 6)).status.code(), absl::StatusCode::kInvalidArgument)
      << "leases of workers have no sessions";
  EXPECT_EQ(ValueIn(Do(Take("a"), Of(1, 6))), 2);
}

TEST_F(StoreTest, SessionThatIsForgotten_IsRefusedByItsTime) {
  const RequestId first = Of(1, 1);
  EXPECT_EQ(ValueIn(Do(Take("a"), first)), 1);
  now_ += kRemembered;
  EXPECT_EQ(ValueIn(Do(Take("a"), first)), 1) << "still remembered";
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(Do(Take("a"), first).status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(machine_.sessions(), 0u);
  EXPECT_EQ(ValueIn(Do(Take("a"), Of(1, 2))), 2);
}

TEST_F(StoreTest, CounterWithTtl_IsForgottenAndSweptByTheMachinesTime) {
  EXPECT_EQ(ValueIn(Do(Take("a", absl::Seconds(10)))), 1);
  EXPECT_EQ(ValueIn(Do(Take("b"))), 1);
  now_ += absl::Seconds(9);
  Restart();
  EXPECT_EQ(ValueIn(Do(Take("a", absl::Seconds(10)))), 2);
  now_ += absl::Seconds(10);
  Expire();
  EXPECT_EQ(machine_.counters().size(), 1u);
  EXPECT_EQ(ValueIn(Do(Take("a", absl::Seconds(10)))), 1);
  EXPECT_EQ(ValueIn(Do(Take("b"))), 2);
}

TEST_F(StoreTest, ChangedType_IsOneFactHoweverOftenItIsAskedFor) {
  const type_machine::Type one{7, "one"}, two{8, "two"};
  auto change = [this](uint64_t expected, std::optional<type_machine::Type> next, uint64_t serial) {
    Do(type_machine::Call{"a", expected, std::move(next)}, Of(1, serial));
    std::vector<Fact::TypeChange> changes;
    for (const Fact& fact : facts_) {
      EXPECT_EQ(fact.kind, Fact::Kind::kTypeChanged);
      EXPECT_EQ(fact.time, now_);
      changes.push_back(fact.type);
    }
    return changes;
  };
  using Changes = std::vector<Fact::TypeChange>;
  EXPECT_EQ(change(0, one, 1), (Changes{{"a", std::nullopt, one}}));
  EXPECT_EQ(change(0, one, 1), Changes()) << "the same request";
  EXPECT_EQ(change(0, two, 2), Changes()) << "refused";
  EXPECT_EQ(change(7, two, 3), (Changes{{"a", one, two}}));
  EXPECT_EQ(change(8, std::nullopt, 4), (Changes{{"a", two, std::nullopt}}));
  EXPECT_EQ(change(0, std::nullopt, 5), Changes()) << "there is none";
}

TEST_F(StoreTest, Type_ChangesOnlyFromTheVersionThatIsKnown) {
  auto swap = [this](const char* name, uint64_t expected, std::optional<type_machine::Type> next,
                     std::optional<RequestId> id = std::nullopt) {
    const Answer answer = Do(type_machine::Call{name, expected, std::move(next)}, id);
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto* reply = std::get_if<type_machine::Reply>(&answer.reply);
    return reply != nullptr && reply->done;
  };
  EXPECT_FALSE(swap("a", 7, std::nullopt)) << "there is none";
  EXPECT_TRUE(swap("a", 0, type_machine::Type{7, "one"}, Of(1, 1)));
  EXPECT_FALSE(swap("a", 0, type_machine::Type{8, "two"}));
  EXPECT_TRUE(swap("a", 0, type_machine::Type{7, "one"}, Of(1, 1))) << "the same request";
  EXPECT_TRUE(swap("a", 7, type_machine::Type{8, "two"}));
  Restart();
  EXPECT_EQ(machine_.types().all().at("a"), (type_machine::Type{8, "two"}));
  EXPECT_TRUE(swap("a", 8, std::nullopt));
  EXPECT_TRUE(machine_.types().all().empty());
}

TEST_F(StoreTest, ChangeThatWasRefused_StaysRefusedHoweverLateACopyComes) {
  auto done = [](const Answer& answer) { return std::get<type_machine::Reply>(answer.reply).done; };
  const type_machine::Call first{"a", 0, type_machine::Type{7, "first"}};
  EXPECT_TRUE(done(Do(first, Of(1, 1))));
  const type_machine::Call create{"a", 0, type_machine::Type{9, "second"}};
  EXPECT_FALSE(done(Do(create, Of(2, 1))));
  EXPECT_EQ(ValueIn(Do(Take("c"))), 1);
  Counter put_back = Take("c");
  put_back.kind = Counter::Kind::kPutBack;
  put_back.last = put_back.version = 2;
  EXPECT_FALSE(std::get<counter_machine::Reply>(Do(put_back, Of(3, 1)).reply).done);
  // Now the state is as they named it.
  EXPECT_TRUE(done(Do(type_machine::Call{"a", 7, std::nullopt}, Of(1, 2))));
  EXPECT_EQ(ValueIn(Do(Take("c"))), 2);
  Restart();
  EXPECT_FALSE(done(Do(create, Of(2, 1))));
  EXPECT_TRUE(machine_.types().all().empty());
  EXPECT_FALSE(std::get<counter_machine::Reply>(Do(put_back, Of(3, 1)).reply).done);
  EXPECT_EQ(ValueIn(Do(Take("c"))), 3);
  EXPECT_TRUE(done(Do(create, Of(2, 2)))) << "a request of its own";
}

TEST_F(StoreTest, SeenAboveTheHead_IsALoss) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const uint64_t end = ReplyIn(Do(Allocate())).grants[0].segment.end();
  const Machine older = machine_;
  const uint64_t seen = ReplyIn(Do(Allocate())).grants[0].segment.end();
  EXPECT_GT(seen, end);
  machine_ = older;  // as if all data directories had been put back
  const SegmentReply reply = ReplyIn(Do(Allocate(seen)));
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(reply.grants[0].segment.first, seen);
}

TEST_F(StoreTest, SeenThatCannotHaveBeenGranted_IsRefusedAndChangesNothing) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const uint64_t end = ReplyIn(Do(Allocate())).grants[0].segment.end();
  const std::string before = machine_.Snapshot();
  const uint64_t highest = segment_rules::HighestSeen(options_, now_);
  for (const uint64_t seen :
       {highest + 1, segment_rules::kEndOfSequences - 128, segment_rules::kEndOfSequences}) {
    const Answer answer = Do(Allocate(seen, 3));
    EXPECT_EQ(answer.status.code(), absl::StatusCode::kFailedPrecondition) << answer.status;
    for (const std::string& part : {absl::StrCat(seen), absl::StrCat(highest),
                                    std::string("section 3"), std::string("locus store raise")}) {
      EXPECT_THAT(std::string(answer.status.message()), HasSubstr(part));
    }
    EXPECT_LT(answer.status.message().size(), kMostMessageBytes) << "it would be cut";
  }
  // One such request refuses the whole allocation.
  const segment_machine::Call both =
      segment_machine::Allocation{options_, {{3, 64, 0}, {7, 64, highest + 1}}, now_};
  EXPECT_EQ(Do(both).status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(machine_.Snapshot(), before);
  EXPECT_EQ(ReplyIn(Do(Allocate(end))).grants[0].segment.first, end);
}

// A client that claims as much as it can, in every possible way, moves base ahead only so far: time
// alone brings the space back.
TEST_F(StoreTest, LossesThatClientsClaim_NeverCarryBaseFurtherThanTimeTakesBack) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const uint64_t most = segment_rules::HighestSeen(options_, now_) + options_.max_lead;
  uint64_t head = 0;
  uint64_t losses = 0;
  for (uint16_t i = 0; i < 200; ++i) {
    const uint16_t section = i % 256;
    // All of the lead of one section: above base, and so a "loss" if it is shown for another
    // section.
    const SegmentReply all = ReplyIn(Do(Allocate(0, section, options_.max_lead)));
    head = std::max(head, all.grants[0].segment.end());
    const uint64_t highest = segment_rules::HighestSeen(options_, now_);
    for (const uint64_t seen : {Base() + 1, head, Base() + options_.max_lead, highest}) {
      const auto other = static_cast<uint16_t>((section + 1) % 256);
      const Answer answer = Do(Allocate(seen, other));
      losses += answer.status.ok() && ReplyIn(answer).loss_noticed;
    }
    ASSERT_LE(Base(), most);
  }
  EXPECT_GT(losses, 0u) << "they were refused before any was claimed";
  now_ += segment_rules::FloorTime(options_, static_cast<int64_t>(most - FloorAfter({})));
  const SegmentReply reply = ReplyIn(Do(Allocate()));
  EXPECT_EQ(reply.grants[0].segment.length, 64u);
  EXPECT_LE(reply.grants[0].segment.first, FloorAfter(absl::Seconds(1)));
}

// An old copy of all data: as many losses as HighestSeen counts are forgotten with it, and the
// clock of the new leader is as far behind the old one's as a loss allows for.
TEST_F(StoreTest, SeenAfterSevenForgottenLosses_IsALoss) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const Machine older = machine_;
  now_ += absl::Hours(5);
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(Do(segment_machine::Call(segment_machine::DeclareRestored{now_})).status.ok());
  }
  uint64_t seen = 0;
  while (true) {  // to the last sequence that may be allocated
    const Segment segment = ReplyIn(Do(Allocate(0, 7, options_.max_lead))).grants[0].segment;
    if (segment.length == 0) break;
    seen = segment.end();
  }
  machine_ = older;
  now_ -= segment_rules::kLossMargin;
  EXPECT_EQ(seen, segment_rules::HighestSeen(options_, now_));
  const SegmentReply reply = ReplyIn(Do(Allocate(seen)));
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_GE(reply.grants[0].segment.first, seen);
}

// A base that an operator raised is no claim of a client.
TEST_F(StoreTest, RaisedFarAhead_AllocationsStayAboveTheSeen) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const Machine older = machine_;
  const uint64_t to = segment_rules::HighestSeen(options_, now_) + (uint64_t{1} << 30);
  auto raise = [&](uint64_t far) {
    return Do(segment_machine::Call(segment_machine::Raise{far, RaiseReach::kNearFloor, now_}));
  };
  ASSERT_TRUE(raise(to).status.ok());
  uint64_t seen = 0;
  for (int i = 0; i < 3; ++i) {
    const SegmentReply reply = ReplyIn(Do(Allocate(seen)));
    EXPECT_FALSE(reply.loss_noticed);
    EXPECT_GE(reply.grants[0].segment.first, std::max(seen, to));
    seen = reply.grants[0].segment.end();
  }
  // All data were put back: nothing is allocated until an operator raises it again.
  machine_ = older;
  EXPECT_EQ(Do(Allocate(seen)).status.code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(raise(seen).status.ok());
  EXPECT_GE(ReplyIn(Do(Allocate(seen))).grants[0].segment.first, seen);
}

TEST_F(StoreTest, WithoutCountersAndSpaces_AllIsVersion2) {
  Acquired("a");
  EXPECT_EQ(machine_.Snapshot()[0], 2);
  Do(Take("a"));
  EXPECT_EQ(machine_.Snapshot()[0], 3);
  const Command old{now_, true, {{std::nullopt, space_, AcquireOf("a")}}};
  EXPECT_EQ(Encode(old).value()[0], 2);
  const Command with{now_, true, {old.requests[0], {std::nullopt, space_, Take("a")}}};
  std::string bytes = Encode(with).value();
  EXPECT_EQ(bytes[0], 3);
  bytes[0] = 2;
  EXPECT_FALSE(DecodeCommand(bytes).ok()) << "a node of version 2 knows no such action";
  std::string longer = Encode(old).value();
  longer[0] = 3;
  EXPECT_THAT(std::string(DecodeCommand(longer).status().message()), HasSubstr("version 2 says"));
}

// Of codec version 2, recorded by a build that knew no other.
TEST_F(StoreTest, SnapshotOfVersion2_IsReadAndWrittenAsItWas) {
  const std::string bytes = absl::HexStringToBytes(
      "020068e5cf8b0100000000000000000080010000000200000065750000000000000080f82a00000000000000"
      "000000000000000100000000000000000000000068e5cf8b0100000000000000000080f892e5cf8b01000000"
      "68e5cf8b0100000068e5cf8b01000001000000610c0000007b22686f7374223a2261227d00010000000068e5"
      "cf8b01000007000000000000000100000000000000e22ec1f2e7678986000100000000000000000068e5cf8b"
      "0100000000000000000080f892e5cf8b0100000068e5cf8b01000000");
  absl::StatusOr<Machine> restored = Machine::Restore(bytes);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->Snapshot(), bytes);
  machine_ = *std::move(restored);
  EXPECT_EQ(machine_.held(), 1u);
  EXPECT_EQ(machine_.remembered(), 1u);
  EXPECT_EQ(ValueIn(Do(Take("a"))), 1);
}

TEST_F(StoreTest, CutAnywhereOrLonger_IsRefused) {
  ASSERT_TRUE(Do(Create(), Of(1, 1)).status.ok());
  Do(Allocate(), Of(1, 2));
  Do(Take("a", absl::Hours(1)), Of(2, 1));
  const std::string snapshot = machine_.Snapshot();
  const Command command{
      now_,
      false,
      {{Of(1, 3), space_, Allocate()},
       {Of(1, 4), space_, Create()},
       {Of(2, 2), space_, Take("a")},
       {std::nullopt, space_,
        segment_machine::Call(segment_machine::Raise{1, RaiseReach::kAnywhere, now_})}}};
  const std::string bytes = Encode(command).value();
  const std::string answers = Encode(machine_.Apply(command).answers).value();
  for (size_t i = 0; i < snapshot.size(); ++i) {
    EXPECT_FALSE(Machine::Restore(snapshot.substr(0, i)).ok()) << i;
  }
  for (size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(DecodeCommand(bytes.substr(0, i)).ok());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_FALSE(DecodeAnswers(answers.substr(0, i)).ok()) << i;
  }
  EXPECT_FALSE(Machine::Restore(snapshot + '\0').ok());
  EXPECT_FALSE(DecodeCommand(bytes + '\0').ok());
}

}  // namespace
}  // namespace locus::cluster_machine
