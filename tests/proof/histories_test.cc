// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/lease/histories.h"

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = RecordedCall::Kind;

constexpr char kSpace[] = "s";

absl::Time At(int64_t ms) { return absl::FromUnixMillis(ms); }

RecordedCall CallOf(Kind kind, int64_t called) {
  RecordedCall call;
  call.kind = kind;
  call.space = kSpace;
  call.range = {0, 1};
  call.called = called;
  call.last_used = At(0);
  return call;
}
RecordedCall Acquired(int64_t called, const std::string& nonce, uint64_t token, int64_t floor,
                      int64_t ceiling, int64_t now) {
  RecordedCall call = CallOf(Kind::kAcquire, called);
  call.nonce = nonce;
  call.answer.emplace();
  call.answer->returned = called + 1;
  call.answer->grant = {0, token, At(floor), At(ceiling), At(now), false};
  return call;
}
RecordedCall Shown(int64_t called, int64_t now, uint64_t token, int64_t floor, int64_t ceiling,
                   const std::string& nonce) {
  RecordedCall call = CallOf(Kind::kShow, called);
  call.answer.emplace();
  call.answer->returned = called + 1;
  WorkerSpaceView& view = call.answer->view.emplace();
  view.now = At(now);
  if (token != 0) {
    WorkerRecord& record = view.workers.emplace_back();
    record.token = token;
    record.floor = At(floor);
    record.ceiling = At(ceiling);
    record.nonce = nonce;
  }
  return call;
}
std::vector<std::string> Wrong(const std::vector<RecordedCall>& calls) {
  return NotLinearizable(HistoriesOf(calls, kSpace));
}

// Two holders after each other, seen by a third client.
std::vector<RecordedCall> Right() {
  return {Shown(1, 1000, 0, 0, 0, ""), Acquired(10, "a", 1000, 0, 1100, 1000),
          Shown(20, 1050, 1000, 0, 1100, "a"), Acquired(30, "b", 1200, 1100, 1300, 1200),
          Shown(40, 1250, 1200, 1100, 1300, "b")};
}

TEST(HistoriesTest, RightHistory_IsLinearizable) { EXPECT_THAT(Wrong(Right()), IsEmpty()); }

TEST(HistoriesTest, StaleRead_IsFound) {
  const Histories histories = HistoriesOf(Right(), kSpace);
  const linear::LeaseHistory& history = histories.at(0);
  for (uint64_t choice = 0; choice < 10; ++choice) {
    const auto stale = WithStaleRead(history, choice);
    ASSERT_TRUE(stale.has_value());
    EXPECT_EQ(NotLinearizable({{0, *stale}}).size(), 1u) << choice;
  }
  EXPECT_FALSE(WithStaleRead(histories.at(1), 0).has_value()) << "nothing changed there";
}

TEST(HistoriesTest, TwoHoldersAtOnce_AreFound) {
  auto calls = Right();
  calls.push_back(Acquired(50, "c", 1290, 1300, 1400, 1290));  // b holds it until 1300
  EXPECT_EQ(Wrong(calls).size(), 1u);
}

TEST(HistoriesTest, AcquireWithoutAnAnswer_MayBeOfAnyWorkerOfItsRange) {
  auto calls = Right();
  RecordedCall lost = CallOf(Kind::kAcquire, 45);
  lost.nonce = "c";
  calls.push_back(lost);
  EXPECT_THAT(Wrong(calls), IsEmpty());
  calls.push_back(Shown(60, 1400, 1390, 1300, 1500, "c"));
  EXPECT_THAT(Wrong(calls), IsEmpty());
  calls.push_back(Shown(70, 1450, 1390, 1300, 1500, "d"));  // no call has this one
  EXPECT_EQ(Wrong(calls).size(), 1u);
}

// Its lease ended before any client saw it: a leader then removes the nonce.
TEST(HistoriesTest, AcquireWithoutAnAnswerThatEndedUnseen_IsFound) {
  auto calls = Right();
  calls.push_back(Shown(60, 1500, 1390, 1300, 1450, ""));
  EXPECT_EQ(Wrong(calls).size(), 1u) << "nobody has asked for that token";
  for (int64_t i = 0; i < 40; ++i) {  // any one of them, or some
    RecordedCall lost = CallOf(Kind::kAcquire, 41 + i / 4);
    lost.nonce = absl::StrCat("n", i);
    calls.push_back(lost);
  }
  EXPECT_THAT(Wrong(calls), IsEmpty());
}

TEST(HistoriesTest, RenewalWithALostRequest_MayHaveBeenCarriedOutTwice) {
  auto calls = Right();
  RecordedCall renewed = CallOf(Kind::kRenew, 50);
  renewed.nonce = "b";
  renewed.token = 1200;
  renewed.answer.emplace();
  renewed.answer->returned = 80;
  renewed.answer->grant = {0, 1200, At(1100), At(1390), At(1290), false};
  calls.push_back(Shown(60, 1280, 1200, 1100, 1380, "b"));
  calls.push_back(renewed);
  EXPECT_EQ(Wrong(calls).size(), 1u);
  calls.back().answer->lost = 1;
  EXPECT_THAT(Wrong(calls), IsEmpty());
}

// An attempt before had no answer: its node may carry it out once the others have refused it.
TEST(HistoriesTest, RefusedAcquireWithALostRequest_MayBeCarriedOutLater) {
  auto calls = Right();
  RecordedCall refused = CallOf(Kind::kAcquire, 45);
  refused.nonce = "c";
  refused.answer.emplace();
  refused.answer->returned = 50;
  refused.answer->code = absl::StatusCode::kResourceExhausted;
  calls.push_back(refused);
  calls.push_back(Shown(60, 1400, 1390, 1300, 1500, "c"));
  EXPECT_EQ(Wrong(calls).size(), 1u);
  calls[calls.size() - 2].answer->lost = 1;
  EXPECT_THAT(Wrong(calls), IsEmpty());
}

TEST(HistoriesTest, RefusalsWithoutALook_SayNothing) {
  auto calls = Right();
  RecordedCall refused = CallOf(Kind::kAcquire, 5);
  refused.nonce = "c";
  refused.answer.emplace();
  refused.answer->returned = 6;
  refused.answer->code = absl::StatusCode::kResourceExhausted;
  calls.push_back(refused);
  EXPECT_EQ(HistoriesOf(calls, kSpace).at(0).size(), Right().size());
}

TEST(RecordsTest, Calls_AreReadAsTheyWereWritten) {
  TemporaryDirectory directory;
  {
    CallLog log(directory / "calls");
    RecordedCall call = CallOf(Kind::kAcquire, 0);
    call.nonce = "n";
    call.last_used = absl::InfiniteFuture();
    const uint64_t first = log.Begin(call);
    const uint64_t second = log.Begin(CallOf(Kind::kShow, 0));
    log.Begin(CallOf(Kind::kRelease, 0));
    RecordedAnswer view;
    view.view = Shown(0, 7, 3, 4, 5, "n").answer->view;
    log.End(second, view);
    RecordedAnswer grant;
    grant.lost = 2;
    grant.grant = {1, 2, absl::InfinitePast(), At(9), At(8), true};
    log.End(first, grant);
  }
  auto calls = ReadCalls(directory / "calls");
  ASSERT_TRUE(calls.ok()) << calls.status();
  ASSERT_EQ(calls->size(), 3u);
  EXPECT_EQ((*calls)[0].nonce, "n");
  EXPECT_EQ((*calls)[0].last_used, absl::InfiniteFuture());
  const auto& answer = *(*calls)[0].answer;
  EXPECT_EQ(answer.lost, 2u);
  EXPECT_EQ(answer.grant->floor, absl::InfinitePast());
  EXPECT_EQ(answer.grant->ceiling, At(9));
  EXPECT_TRUE(answer.grant->loss_noticed);
  EXPECT_GT((*calls)[0].called, 0);
  EXPECT_GE(answer.returned, (*calls)[0].called);
  const auto& workers = (*calls)[1].answer->view->workers;
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].ceiling, At(5));
  EXPECT_FALSE((*calls)[2].answer.has_value());
}

TEST(RecordsTest, CutLine_IsLeftOutAndAWrongOneIsNamed) {
  TemporaryDirectory directory;
  { CallLog(directory / "calls").Begin(CallOf(Kind::kShow, 0)); }
  std::ofstream(directory / "calls", std::ios::app) << "end 1 17 0 0 noth";
  auto calls = ReadCalls(directory / "calls");
  ASSERT_TRUE(calls.ok()) << calls.status();
  EXPECT_FALSE(calls->at(0).answer.has_value());
  std::ofstream(directory / "calls", std::ios::app) << "ing at all\n";
  EXPECT_EQ(ReadCalls(directory / "calls").status().code(), absl::StatusCode::kDataLoss);
}

TEST(RecordsTest, Ids_BecomeRunsOfOneMillisecondAndAreReadAgain) {
  TemporaryDirectory directory;
  {
    IdLog log(directory / "ids");
    log.Add(std::vector<int64_t>{5, 6, 7, 9, 4094, 4095, 4096, 4096}, 3);
    log.Add(std::vector<int64_t>{1}, 0);
  }
  auto runs = ReadIds(directory / "ids");
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_THAT(*runs, ElementsAre(IdRun{5, 3, 3}, IdRun{9, 3, 1}, IdRun{4094, 3, 2},
                                 IdRun{4096, 3, 1}, IdRun{4096, 3, 1}, IdRun{1, 0, 1}));
  std::filesystem::resize_file(directory / "ids", 3 * sizeof(IdRun) - 1);
  EXPECT_EQ(ReadIds(directory / "ids")->size(), 2u);
}

}  // namespace
}  // namespace locus::proof
