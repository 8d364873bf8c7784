// SPDX-License-Identifier: Apache-2.0
// Sets of strict sequences in the machine: once by session, in snapshots, beside what nodes of
// earlier codec versions know, and as hostile bytes.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/text/byte_codec.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using strict_machine::Call;
using ::testing::HasSubstr;
using Verdict = StrictGrant::Verdict;

class StrictTest : public MachineTest {
 protected:
  StrictTest() { options_.uids = 1'000'000; }

  static StrictOwner Owner(const std::string& name) { return {name, name + ":7070", 1000}; }
  Call Create() const { return strict_machine::Create{options_, {.first_ever = true}}; }
  Call Take(const std::string& owner, std::vector<uint32_t> sections = {3}) const {
    strict_machine::Take take{options_, {Owner(owner), {}}};
    for (const uint32_t section : sections) take.request.wishes.push_back({section, 0});
    return take;
  }
  Call Extend(const std::string& owner, const StrictGrant& grant, uint64_t raise_to = 0) const {
    return strict_machine::Extend{
        options_, {Owner(owner), {{grant.section, grant.token, grant.max_seq, raise_to}}}};
  }
  Call Release(const std::string& owner, const StrictGrant& grant,
               const std::string& successor = "") const {
    return strict_machine::Release{
        options_, {Owner(owner), {{grant.section, grant.token, grant.max_seq}}, successor}};
  }
  RequestId Of(uint64_t session, uint64_t serial) const { return {now_, 1, session, serial}; }

  template <typename Item>
  static StrictReply<Item> ReplyIn(const Answer& answer) {
    EXPECT_TRUE(answer.status.ok()) << answer.status;
    const auto* reply = std::get_if<strict_machine::Reply>(&answer.reply);
    const auto* of = reply == nullptr ? nullptr : std::get_if<StrictReply<Item>>(reply);
    EXPECT_NE(of, nullptr);
    return of == nullptr ? StrictReply<Item>{0, false, {Item()}} : *of;
  }
  static StrictGrant GrantIn(const Answer& answer) { return ReplyIn<StrictGrant>(answer).items[0]; }
  static StrictExtended ExtendedIn(const Answer& answer) {
    return ReplyIn<StrictExtended>(answer).items[0];
  }
  void Restart() {
    const std::string bytes = machine_.Snapshot();
    absl::StatusOr<Machine> restored = Machine::Restore(bytes);
    ASSERT_TRUE(restored.ok()) << restored.status();
    machine_ = *std::move(restored);
    EXPECT_EQ(machine_.Snapshot(), bytes);
  }

  StrictSetOptions options_;
};

TEST_F(StrictTest, RequestSentAgain_IsCarriedOutOnce_AlsoAfterASnapshot) {
  ASSERT_TRUE(Do(Create(), Of(1, 1)).status.ok());
  const Answer taken = Do(Take("a"), Of(1, 2));
  Restart();
  EXPECT_EQ(Do(Take("a"), Of(1, 2)), taken);
  const StrictGrant grant = GrantIn(taken);
  EXPECT_EQ(grant.verdict, Verdict::kGranted);
  const Answer raised = Do(Extend("a", grant, 50'000), Of(1, 3));
  EXPECT_EQ(ExtendedIn(raised).max_seq, 50'000u);
  Restart();
  EXPECT_EQ(Do(Extend("a", grant, 50'000), Of(1, 3)), raised);
  const Answer released = Do(Release("a", grant), Of(1, 4));
  EXPECT_TRUE(ExtendedIn(released).held);
  EXPECT_EQ(Do(Release("a", grant), Of(1, 4)), released) << "not: it was another's by then";
}

TEST_F(StrictTest, TimeLeaps_NoSectionIsTakenFromItsOwner) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const StrictGrant grant = GrantIn(Do(Take("a")));
  now_ += absl::Seconds(4);
  Apply({now_, false, {}});
  now_ += absl::Hours(1);
  Apply({now_, true, {}, true});
  Restart();
  now_ += options_.ttl - absl::Seconds(4);
  EXPECT_EQ(GrantIn(Do(Take("b"))).verdict, Verdict::kHeld);
  now_ += absl::Milliseconds(1);
  EXPECT_EQ(GrantIn(Do(Take("b"))).verdict, Verdict::kGranted);
  EXPECT_FALSE(ExtendedIn(Do(Extend("a", grant))).held);
}

// A node that did not read it would not start.
TEST_F(StrictTest, StepOfAnEarlierBuild_IsReadFromLogsAndSnapshots) {
  options_.step = uint64_t{1} << 32;
  const Answer created = Do(Create());
  ASSERT_TRUE(created.status.ok()) << created.status;
  EXPECT_EQ(GrantIn(Do(Take("a"))).max_seq, options_.step);
  Restart();
  for (const Call& call : {Create(), Take("a")}) {
    internal::ByteWriter writer;
    Put(writer, call);
    const std::string bytes = writer.Take();
    internal::ByteReader reader(bytes, "a log");
    strict_machine::GetCall(reader);
    EXPECT_TRUE(reader.ok());
    EXPECT_THAT(std::string(strict_machine::Check(call).message()), HasSubstr("step is 4294967296"))
        << "what comes now";
  }
  ++options_.step;
  EXPECT_FALSE(strict_machine::CheckLogged(Create()).ok());
}

// A copy of a take that the network kept back would take the section from the process that has it,
// or for one that has handed it over.
TEST_F(StrictTest, LateCopyOfATake_IsRefused) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const StrictGrant grant = GrantIn(Do(Take("a"), Of(1, 1)));
  EXPECT_TRUE(ExtendedIn(Do(Release("a", grant), Of(1, 2))).held);
  EXPECT_EQ(Do(Take("a"), Of(1, 1)).status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(GrantIn(Do(Take("b"), Of(2, 1))).start, grant.max_seq);
  // Also if the first answer named another owner.
  const Answer held = Do(Take("a"), Of(1, 3));
  EXPECT_EQ(GrantIn(held).verdict, Verdict::kHeld);
  now_ += options_.ttl + absl::Milliseconds(1);
  EXPECT_EQ(Do(Take("a"), Of(1, 3)), held);
  EXPECT_EQ(GrantIn(Do(Take("a"), Of(1, 4))).verdict, Verdict::kGranted);
}

TEST_F(StrictTest, TimeIsTheMachines_AndSurvivesASnapshot) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const StrictGrant a = GrantIn(Do(Take("a")));
  now_ += options_.ttl;
  Restart();
  const StrictGrant held = GrantIn(Do(Take("b")));
  EXPECT_EQ(held.verdict, Verdict::kHeld);
  EXPECT_EQ(held.holder, Owner("a"));
  now_ -= absl::Hours(1);  // a leader whose clock is behind
  EXPECT_EQ(GrantIn(Do(Take("b"))).verdict, Verdict::kHeld);
  now_ += absl::Hours(1) + absl::Milliseconds(1);
  const StrictGrant b = GrantIn(Do(Take("b")));
  EXPECT_EQ(b.verdict, Verdict::kGranted);
  EXPECT_GT(b.token, a.token);
  EXPECT_EQ(b.start, a.max_seq);
}

// An owner is stored once, and forgotten with its last section.
TEST_F(StrictTest, Owners_AreKeptWhileTheyHaveSections) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const auto grants = ReplyIn<StrictGrant>(Do(Take("a", {1, 2, 3}))).items;
  EXPECT_EQ(machine_.strict_sets().holders(), 1u);
  EXPECT_EQ(machine_.strict_sets().sections(), 3u);
  EXPECT_TRUE(ExtendedIn(Do(Release("a", grants[0], "b"))).held);
  EXPECT_EQ(machine_.strict_sets().holders(), 2u) << "a successor";
  Restart();
  EXPECT_EQ(GrantIn(Do(Take("b", {1}))).verdict, Verdict::kGranted);
  EXPECT_EQ(machine_.strict_sets().holders(), 2u) << "the owner of that name in place of him";
  EXPECT_TRUE(ExtendedIn(Do(Release("a", grants[1]))).held);
  EXPECT_TRUE(ExtendedIn(Do(Release("a", grants[2]))).held);
  EXPECT_EQ(machine_.strict_sets().holders(), 1u);
  Restart();
  const auto view = machine_.strict_sets().Show(space_, now_);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_THAT(view->holders, ::testing::ElementsAre(Owner("b")));
  ASSERT_EQ(view->sections.size(), 3u);
  EXPECT_EQ(view->sections[0].holder, 1u);
  EXPECT_EQ(view->sections[1].holder, 0u);
}

TEST_F(StrictTest, OneSectionThatIsRaisedTooFar_IsRaisedToTheLimitAndOthersAsAsked) {
  ASSERT_TRUE(Do(Create()).status.ok());
  const auto grants = ReplyIn<StrictGrant>(Do(Take("a", {1, 2}))).items;
  strict_machine::Extend both{options_, {Owner("a"), {}}};
  both.request.sections.push_back({1, grants[0].token, grants[0].max_seq, 50'000});
  both.request.sections.push_back({2, grants[1].token, grants[1].max_seq, UINT64_MAX});
  const auto extended = ReplyIn<StrictExtended>(Do(Call(both))).items;
  EXPECT_EQ(extended[0].max_seq, 50'000u);
  EXPECT_EQ(extended[1].max_seq, strict::kMostRaise);
  Restart();
}

TEST_F(StrictTest, AllDataPutBack_OwnersShowTheLoss) {
  ASSERT_TRUE(Do(Create()).status.ok());
  StrictGrant grant = GrantIn(Do(Take("a")));
  const Machine older = machine_;
  grant.max_seq = ExtendedIn(Do(Extend("a", grant, 70'000))).max_seq;
  machine_ = older;
  const auto reply = ReplyIn<StrictExtended>(Do(Extend("a", grant)));
  EXPECT_TRUE(reply.loss_noticed);
  EXPECT_TRUE(reply.items[0].held);
  EXPECT_GE(reply.items[0].max_seq, kStrictLossMargin);
  EXPECT_EQ(GrantIn(Do(Take("b", {5}))).verdict, Verdict::kResting);
}

TEST_F(StrictTest, WithoutSets_AllIsOfTheEarlierVersions) {
  const Command old{now_, true, {{std::nullopt, space_, AcquireOf("a")}}};
  EXPECT_EQ(Encode(old).value()[0], 2);
  EXPECT_EQ(machine_.Snapshot()[0], 2);
  Do(type_machine::Call{"r", 0, type_machine::Type{1, "text"}}, Of(1, 1));
  const std::string version3 = machine_.Snapshot();
  EXPECT_EQ(version3[0], 3);
  EXPECT_EQ(Machine::Restore(version3).value().Snapshot(), version3);
  std::string longer = version3;
  longer[0] = 4;
  EXPECT_FALSE(Machine::Restore(longer).ok());
  longer += std::string(8, '\0');  // no owners, no sets
  EXPECT_THAT(std::string(Machine::Restore(longer).status().message()), HasSubstr("version 4"));

  ASSERT_TRUE(Do(Create(), Of(2, 1)).status.ok());
  EXPECT_EQ(machine_.Snapshot()[0], 4);
  const Command with{now_, true, {old.requests[0], {std::nullopt, space_, Take("a")}}};
  std::string bytes = Encode(with).value();
  EXPECT_EQ(bytes[0], 4);
  bytes[0] = 3;
  EXPECT_FALSE(DecodeCommand(bytes).ok()) << "a node of version 3 knows no such action";
  std::string answers = Encode(machine_.Apply(with).answers).value();
  EXPECT_EQ(answers[0], 4);
  answers[0] = 3;
  EXPECT_FALSE(DecodeAnswers(answers).ok());
  std::string of_leases = Encode(old).value();
  of_leases[0] = 4;
  EXPECT_THAT(std::string(DecodeCommand(of_leases).status().message()),
              HasSubstr("version 4, where version 2 says the same"));
}

TEST_F(StrictTest, CutAnywhereOrLonger_IsRefused) {
  ASSERT_TRUE(Do(Create(), Of(1, 1)).status.ok());
  const StrictGrant grant = GrantIn(Do(Take("a"), Of(1, 2)));
  Do(Take("b", {3, 4}), Of(2, 1));
  const std::string snapshot = machine_.Snapshot();
  const Command command{now_,
                        false,
                        {{Of(1, 3), space_, Create()},
                         {Of(1, 4), space_, Take("b", {3, 5})},
                         {Of(1, 5), space_, Extend("a", grant, 20'000)},
                         {Of(1, 6), space_, Release("a", grant, "b")},
                         {Of(1, 7), space_, Call(strict_machine::DeclareRestored())}}};
  const std::string bytes = Encode(command).value();
  EXPECT_EQ(Encode(DecodeCommand(bytes).value()).value(), bytes);
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

// Whatever a peer changes: what is accepted has one form only.
TEST_F(StrictTest, AnyByteChanged_IsRefusedOrWrittenAgainAsItIs) {
  ASSERT_TRUE(Do(Create(), Of(1, 1)).status.ok());
  const auto grants = ReplyIn<StrictGrant>(Do(Take("a", {1, 3}), Of(1, 2))).items;
  Do(Release("a", grants[0], "b"), Of(2, 1));
  Do(Take("c", {3, 4}), Of(3, 1));
  const std::string snapshot = machine_.Snapshot();
  const Command command{
      now_,
      false,
      {{Of(1, 3), space_, Extend("a", grants[1], 20'000)}, {Of(1, 4), space_, Take("b", {1, 2})}}};
  const std::string bytes = Encode(command).value();
  const std::string answers = Encode(Machine(machine_).Apply(command).answers).value();
  for (const int flip : {0x01, 0x80, 0xff}) {
    auto each = [flip](const std::string& whole, const auto& check) {
      for (size_t i = 0; i < whole.size(); ++i) {
        std::string changed = whole;
        changed[i] = static_cast<char>(changed[i] ^ flip);
        check(changed, i);
      }
    };
    each(snapshot, [](const std::string& changed, size_t i) {
      auto restored = Machine::Restore(changed);
      if (!restored.ok()) return;
      EXPECT_EQ(restored->Snapshot(), changed) << i;
    });
    each(bytes, [this](const std::string& changed, size_t i) {
      auto decoded = DecodeCommand(changed);
      if (!decoded.ok()) return;
      EXPECT_EQ(Encode(*decoded).value(), changed) << i;
      Machine machine = machine_;
      EXPECT_TRUE(Encode(machine.Apply(*decoded).answers).ok()) << i;
      EXPECT_TRUE(Machine::Restore(machine.Snapshot()).ok()) << i;
    });
    each(answers, [](const std::string& changed, size_t i) {
      auto decoded = DecodeAnswers(changed);
      if (!decoded.ok()) return;
      EXPECT_EQ(Encode(*decoded).value(), changed) << i;
    });
  }
}

TEST_F(StrictTest, CallThatCannotBe_IsNotRead) {
  auto refused = [this](Call call) {
    const Command command{now_, false, {{std::nullopt, space_, std::move(call)}}};
    return !DecodeCommand(Encode(command).value()).ok();
  };
  EXPECT_FALSE(refused(Take("a")));
  EXPECT_TRUE(refused(Take("A")));
  EXPECT_TRUE(refused(Take("a", {})));
  EXPECT_TRUE(refused(Take("a", {3, 3})));
  EXPECT_TRUE(refused(Take("a", {10})));
  options_.step = 0;
  EXPECT_TRUE(refused(Create()));
}

}  // namespace
}  // namespace locus::cluster_machine
