// SPDX-License-Identifier: Apache-2.0
// What the status of a move says of how far it has come.
#include "apps/shared/moves/move_text.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::apps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MoveTextTest : public ::testing::Test {
 protected:
  // The status where a runner has told these figures.
  std::string Text(internal::Phase phase, const std::string& figures) {
    Move move;
    move.name = "peak.1>2";
    move.source.name = "a";
    move.target.name = "b";
    move.ranges = {{0, 99}};
    mysql::MoveRecord record;
    record.phase = phase;
    record.silent = silent_;
    record.wish.started = true;
    record.wish.hold = hold_;
    record.wish.goal = goal_;
    record.status = figures;
    view_.record = record;
    view_.source = view_.target = internal::BandFence();
    return StatusText(move, view_, {}, "peak.toml", {});
  }
  mysql::MoveView view_;
  absl::Duration silent_ = absl::Seconds(1);
  std::string hold_;
  uint32_t goal_ = 0;
};

constexpr char kRows[] =
    R"("rows": 2000, "estimated": 10000, "rows_per_second": 100.0, "left_s": 80)";
// As a runner tells it that waits, or whose task adds nothing.
constexpr char kStill[] =
    R"("rows": 2000, "estimated": 10000, "rows_per_second": 100.0, "left_s": -1)";

TEST_F(MoveTextTest, CopyAndComparison_ShowRowsOfAboutHowManyAndWhatIsLeft) {
  const std::string so_far = "2,000 rows of about 10,000 (20 %), 100 rows/s, 1m20s left";
  EXPECT_THAT(Text(internal::Phase::kCopying, absl::StrCat(R"({"copied": {)", kRows, "}}")),
              HasSubstr("  copied    " + so_far + "\n"));
  const std::string compared =
      absl::StrCat(R"({"compared": {)", kRows, R"(, "differences": 1, "done": false}})");
  for (const internal::Phase phase : {internal::Phase::kVerifying, internal::Phase::kFinalizing}) {
    EXPECT_THAT(Text(phase, compared), HasSubstr("  compared  " + so_far + ", 1 differences\n"));
  }
  EXPECT_THAT(Text(internal::Phase::kReady, compared),
              HasSubstr("  compared  2,000 rows, 1 differences\n"));
}

TEST_F(MoveTextTest, FullTarget_SaysWhatItWaitsForAndNotHowLong) {
  const std::string copied = absl::StrCat(
      R"({"copied": {)", kStill, R"json(, "waiting": "The table 'orders' is full (1114)"}})json");
  EXPECT_THAT(Text(internal::Phase::kCopying, copied),
              AllOf(HasSubstr("10,000 (20 %), waits: The table 'orders' is full (1114)\n"),
                    Not(HasSubstr(" left"))));
  // What a runner told before all its commits had to wait.
  const std::string before = absl::StrCat(R"({"copied": {)", kRows, "}}");
  view_.target_waits_for_space = 2;
  EXPECT_THAT(Text(internal::Phase::kCopying, before),
              AllOf(HasSubstr("(20 %), waits: a disk is full\n"), Not(HasSubstr(" left"))));
  view_.target_waits_for_space = 0;
  hold_ = "by an operator";
  EXPECT_THAT(Text(internal::Phase::kCopying, before), HasSubstr("(20 %), waits: held\n"));
  silent_ = absl::Minutes(1);
  EXPECT_THAT(Text(internal::Phase::kCopying, before), HasSubstr("(20 %), waits: no runner\n"));
}

TEST_F(MoveTextTest, StreamBackThatStandsStill_IsNextInsteadOfFinalize) {
  view_.fences = {internal::Situation::Kind::kAgreed, 10000, 10000, internal::Side::kSource};
  goal_ = 10000;
  auto next = [&](const std::string& back) {
    const std::string text =
        Text(internal::Phase::kReady,
             absl::StrCat(R"({"forth": {"lag_ms": 5.0}, "back": {)", back, "}}"));
    return text.substr(text.rfind("  next"));
  };
  EXPECT_THAT(next(R"("lag_ms": 5.0)"), HasSubstr("locus move finalize peak.toml\n"));
  EXPECT_THAT(next(""), HasSubstr("locus move finalize peak.toml\n"));
  const std::string stands = " wait for the stream from the target, which stands still";
  EXPECT_THAT(next(R"("lag_ms": -1.0)"), HasSubstr(stands + "\n"));
  EXPECT_THAT(next(R"json("lag_ms": 5.0, "waiting": "full (1114)")json"),
              HasSubstr(stands + ": full (1114)\n"));
}

TEST_F(MoveTextTest, StreamsOfAMoveThatIsOver_HaveEnded) {
  const std::string figures = R"({"forth": {"lag_ms": -1.0}, "back": {"lag_ms": -1.0}})";
  EXPECT_THAT(
      Text(internal::Phase::kReady, figures),
      HasSubstr("  lag       from the source stands still, from the target stands still\n"));
  for (const internal::Phase over :
       {internal::Phase::kFinalized, internal::Phase::kDone, internal::Phase::kAborted}) {
    EXPECT_THAT(Text(over, figures),
                HasSubstr("  lag       from the source ended, from the target ended\n"));
  }
}

// An earlier version told less.
TEST_F(MoveTextTest, FiguresWithoutWhatIsLeft_AreShownWithoutIt) {
  EXPECT_THAT(Text(internal::Phase::kCopying,
                   R"({"copied": {"rows": 20, "estimated": 100, "rows_per_second": 5.0}})"),
              HasSubstr("  copied    20 rows of about 100 (20 %), 5 rows/s\n"));
  EXPECT_THAT(Text(internal::Phase::kVerifying, R"({"compared": 5, "copied": []})"),
              AllOf(HasSubstr("  compared  0 rows, 0 differences\n")));
}

}  // namespace
}  // namespace locus::apps
