// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/cluster/machine/clock_note.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_machine {
namespace {

using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixMillis(1'700'000'000'123);
const WorkerLeaseTerm kTerm{absl::Seconds(30), absl::Seconds(2)};

Command OfAllKinds() {
  const RequestId id{kNow, 1, UINT64_MAX};
  Command command{kNow, true, {}};
  auto add = [&](std::optional<RequestId> named, Action action) {
    command.requests.push_back({named, SpaceName(), std::move(action)});
  };
  add(id, Create{absl::Hours(1), kNow});
  add(id, WorkerAcquire{{5, 9}, 6, 7, kTerm, "nonce", "{}", kNow});
  add(std::nullopt, WorkerAcquire{{5, 9}, std::nullopt, 7, kTerm, "nonce", "", kNow});
  add(std::nullopt, WorkerRenew{5, 77, kNow + kTerm.ttl, kTerm, "nonce", "{}", kNow});
  add(id, WorkerRelease{5, 77, absl::InfiniteFuture()});
  add(id, WorkerRelease{5, 77, absl::InfinitePast()});
  add(id, Verdict{5, 77, false, "timeout"});
  add(std::nullopt, Delete{});
  command.requests[1].trace = {1, 0};
  command.requests[2].trace = {0, 0x0123456789abcdef};
  return command;
}

std::vector<Answer> AnswersOfAllKinds() {
  return {{absl::OkStatus(), std::nullopt},
          {absl::OkStatus(), WorkerGrant{5, 77, absl::InfinitePast(), kNow, kNow, true}},
          {absl::AbortedError("lost"), std::nullopt}};
}

TEST(ClockNoteTest, ComesBackAndIsRefusedWhereItIsCut) {
  const absl::Duration asked = absl::Microseconds(1234567);
  for (const ClockNote& note :
       {ClockNote(ClockAsk{asked}), ClockNote(ClockTold{asked, 7, true, kNow, std::nullopt}),
        ClockNote(ClockTold{asked, 7, false, kNow, kNow + absl::Hours(1)})}) {
    const std::string bytes = Encode(note);
    const auto back = DecodeClockNote(bytes);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, note);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeClockNote(bytes.substr(0, size)).ok()) << size;
    }
    EXPECT_FALSE(DecodeClockNote(bytes + "x").ok());
  }
  EXPECT_FALSE(DecodeClockNote(std::string(1, 2)).ok());
}

TEST(ClusterMachineCodecTest, EveryKind_ComesBack) {
  const std::string bytes = Encode(OfAllKinds()).value();
  const Command back = DecodeCommand(bytes).value();
  EXPECT_EQ(Encode(back).value(), bytes);
  EXPECT_EQ(back.time, kNow);
  EXPECT_TRUE(back.expire);
  ASSERT_EQ(back.requests.size(), 8u);
  EXPECT_EQ(std::get<Create>(back.requests[0].action), (Create{absl::Hours(1), kNow}));
  EXPECT_EQ(back.requests[0].id, (RequestId{kNow, 1, UINT64_MAX}));
  const auto& acquire = std::get<WorkerAcquire>(back.requests[1].action);
  EXPECT_EQ(acquire.range, (WorkerRange{5, 9}));
  EXPECT_EQ(acquire.preferred, 6u);
  EXPECT_EQ(acquire.start, 7u);
  EXPECT_EQ(acquire.term, kTerm);
  EXPECT_EQ(acquire.holder, "{}");
  EXPECT_EQ(back.requests[0].trace, TraceId());
  EXPECT_EQ(back.requests[1].trace, (TraceId{1, 0}));
  EXPECT_EQ(back.requests[2].trace, (TraceId{0, 0x0123456789abcdef}));
  EXPECT_EQ(back.requests[2].id, std::nullopt);
  const auto& renew = std::get<WorkerRenew>(back.requests[3].action);
  EXPECT_EQ(renew.ceiling, kNow + kTerm.ttl);
  EXPECT_EQ(std::get<WorkerRelease>(back.requests[4].action).last_used, absl::InfiniteFuture());
  EXPECT_EQ(std::get<WorkerRelease>(back.requests[5].action).last_used, absl::InfinitePast());
  EXPECT_EQ(std::get<Verdict>(back.requests[6].action), (Verdict{5, 77, false, "timeout"}));
  EXPECT_EQ(std::get<Delete>(back.requests[7].action), Delete{});
  EXPECT_EQ(DecodeAnswers(Encode(AnswersOfAllKinds()).value()).value(), AnswersOfAllKinds());
}

// Frozen: nodes of several versions apply each other's commands.
TEST(ClusterMachineCodecTest, BytesOfACommand) {
  const Command command{absl::FromUnixMillis(258),
                        false,
                        {{RequestId{absl::FromUnixMillis(1), 2, 3}, SpaceName(),
                          WorkerRelease{4, 5, absl::FromUnixMillis(6)}}}};
  EXPECT_EQ(absl::BytesToHexString(Encode(command).value()),
            "02"
            "0201000000000000"
            "00"
            "01000000"
            "01"
            "0100000000000000"
            "0200000000000000"
            "0300000000000000"
            "06000000"
            "6f7264657273"
            "03"
            "0400000000000000"
            "0500000000000000"
            "0600000000000000");
}

// Also frozen.
TEST(ClusterMachineCodecTest, BytesOfACommandThatKeepsEnds) {
  Command command{absl::FromUnixMillis(258), false, {}, false, true};
  std::string bytes = Encode(command).value();
  EXPECT_EQ(absl::BytesToHexString(bytes),
            "06020100000000000004"
            "00000000");
  const Command back = DecodeCommand(bytes).value();
  EXPECT_TRUE(back.keeps_ends);
  EXPECT_FALSE(back.leaps);
  bytes[0] = 5;
  EXPECT_FALSE(DecodeCommand(bytes).ok()) << "an earlier version has no such flag";
}

// Also frozen: only these two have version 6.
TEST(ClusterMachineCodecTest, BytesOfACommandThatLeaps) {
  for (const bool expire : {false, true}) {
    Command command{absl::FromUnixMillis(258), expire, {}, true};
    std::string bytes = Encode(command).value();
    EXPECT_EQ(absl::BytesToHexString(bytes),
              absl::StrCat("060201000000000000", expire ? "03" : "02", "00000000"));
    const Command back = DecodeCommand(bytes).value();
    EXPECT_TRUE(back.leaps);
    EXPECT_EQ(back.expire, expire);
    for (char version = 2; version < 6; ++version) {
      bytes[0] = version;
      EXPECT_FALSE(DecodeCommand(bytes).ok()) << "an earlier version has no such flag";
    }
    bytes[0] = 6;
    bytes[9] = expire ? 1 : 0;
    EXPECT_THAT(std::string(DecodeCommand(bytes).status().message()),
                HasSubstr("version 6, where version 2 says the same"));
  }
}

// Frozen: nodes of several versions compare what others remembered.
TEST(ClusterMachineCodecTest, Fingerprint_IsOfTheSpaceAndTheActionWithoutTheCallersClock) {
  const WorkerAcquire acquire{{0, 1023}, 5, 7, kTerm, "n", "{}", kNow};
  const Request one{RequestId{kNow, 2, 3}, SpaceName(), acquire};
  EXPECT_EQ(FingerprintOf(one), 11563504350986506625u);
  Request other = one;
  std::get<WorkerAcquire>(other.action).caller_now += absl::Seconds(1);
  other.id.reset();
  other.trace = {1, 2};
  EXPECT_EQ(FingerprintOf(other), FingerprintOf(one));
  std::get<WorkerAcquire>(other.action).start = 8;
  EXPECT_NE(FingerprintOf(other), FingerprintOf(one));
  other = one;
  other.space = SpaceName::Parse("eu").value();
  EXPECT_NE(FingerprintOf(other), FingerprintOf(one));
}

TEST(ClusterMachineCodecTest, TimeUsedLast_IsRoundedUp) {
  auto back = [](absl::Time last_used) {
    const Command command{
        kNow, false, {{std::nullopt, SpaceName(), WorkerRelease{1, 1, last_used}}}};
    return std::get<WorkerRelease>(DecodeCommand(Encode(command).value())->requests[0].action)
        .last_used;
  };
  EXPECT_EQ(back(kNow + absl::Nanoseconds(1)), kNow + absl::Milliseconds(1));
  EXPECT_EQ(back(kNow), kNow);
}

TEST(ClusterMachineCodecTest, CutAnywhereOrLonger_IsRefused) {
  const std::string command = Encode(OfAllKinds()).value();
  const std::string answers = Encode(AnswersOfAllKinds()).value();
  Machine machine;
  machine.Apply(OfAllKinds());
  const std::string snapshot = machine.Snapshot();
  for (size_t size = 0; size < command.size(); ++size) {
    EXPECT_FALSE(DecodeCommand(command.substr(0, size)).ok()) << size;
  }
  for (size_t size = 0; size < answers.size(); ++size) {
    EXPECT_FALSE(DecodeAnswers(answers.substr(0, size)).ok()) << size;
  }
  for (size_t size = 0; size < snapshot.size(); ++size) {
    EXPECT_FALSE(Machine::Restore(snapshot.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeCommand(command + "x").ok());
  EXPECT_FALSE(DecodeAnswers(answers + "x").ok());
  EXPECT_FALSE(Machine::Restore(snapshot + "x").ok());
}

TEST(ClusterMachineCodecTest, BeyondTheLimits_IsNeitherWrittenNorRead) {
  auto refusal = [](const Command& command) {
    return std::string(Encode(command).status().message());
  };
  auto one = [](Action action) {
    return Command{kNow, false, {{std::nullopt, SpaceName(), std::move(action)}}};
  };
  EXPECT_THAT(refusal({absl::FromUnixMillis(253370764800000), false, {}}),
              HasSubstr("must be between 1970 and 9998"));
  EXPECT_THAT(refusal({absl::InfiniteFuture(), false, {}}), HasSubstr("infinite-future"));
  EXPECT_THAT(refusal(one(Create{absl::Hours(26), kNow})), HasSubstr("rest is 26h"));
  EXPECT_THAT(refusal(one(Create{absl::ZeroDuration(), absl::FromUnixMillis(-1)})),
              HasSubstr("caller_now"));
  EXPECT_THAT(refusal(one(Verdict{1, 1, false, std::string(257, 'x')})),
              HasSubstr("the why of a verdict has 257 bytes; the most are 256"));
  EXPECT_THAT(refusal(one(WorkerAcquire{{}, {}, 0, kTerm, std::string(65, 'x'), "", kNow})),
              HasSubstr("a nonce has 65 bytes; the most are 64"));
  Command many = one(WorkerRelease{});
  many.requests.resize(kMostRequests + 1, many.requests[0]);
  EXPECT_THAT(refusal(many), HasSubstr("1025 requests; the most are 1024"));
  many.requests.pop_back();
  std::string bytes = Encode(many).value();
  bytes[10] = 1;  // 0x401
  EXPECT_THAT(std::string(DecodeCommand(bytes).status().message()),
              HasSubstr("at byte 10 is a size of 1025 for requests; the most are 1024"));
  bytes = Encode(Command{kNow, false, {}}).value();
  bytes[0] = 1;
  EXPECT_THAT(std::string(DecodeCommand(bytes).status().message()),
              HasSubstr("at byte 0 is version 1; this program knows versions 2 to 6"));
  bytes = Encode(one(WorkerRelease{})).value();
  bytes[19] = 'X';
  EXPECT_THAT(std::string(DecodeCommand(bytes).status().message()), HasSubstr("\"Xrders\""));
}

}  // namespace
}  // namespace locus::cluster_machine
