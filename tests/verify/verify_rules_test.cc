// SPDX-License-Identifier: Apache-2.0
// The decisions of a comparison, without servers.
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/verify/row_difference.h"
#include "migration/verify/row_verdict.h"
#include "migration/verify/verify_position.h"

namespace locus::internal {
namespace {

using ::testing::HasSubstr;

constexpr RowState kNothing{0, true};
constexpr RowState Row(uint64_t version) { return {version, false}; }
constexpr RowState Gone(uint64_t version) { return {version, true}; }

TEST(RowVerdictTest, AtRest_EqualRowsAreEqualAndOthersDiffer) {
  auto judge = [](RowState source, RowState target, bool same) {
    return JudgeRow(source, target, source, target, same);
  };
  EXPECT_EQ(judge(Row(3), Row(3), true), RowVerdict::kEqual);
  EXPECT_EQ(judge(Row(3), Row(3), false), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Row(3), Row(4), true), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Row(4), Row(3), true), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Row(3), kNothing, false), RowVerdict::kDiffers);
  EXPECT_EQ(judge(kNothing, Row(3), false), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Gone(4), Row(3), false), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Gone(3), Row(3), false), RowVerdict::kDiffers);
  EXPECT_EQ(judge(Gone(4), Gone(4), false), RowVerdict::kEqual);
  EXPECT_EQ(judge(Gone(4), kNothing, false), RowVerdict::kEqual);
}

TEST(RowVerdictTest, WrittenMeanwhile_IsLookedAtAgain) {
  EXPECT_EQ(JudgeRow(Row(3), Row(2), Row(5), Row(3), false), RowVerdict::kChanging);
  EXPECT_EQ(JudgeRow(Row(3), Row(2), Row(5), Row(2), false), RowVerdict::kDiffers)
      << "the stream has passed and did not bring version 3";
  EXPECT_EQ(JudgeRow(Row(3), kNothing, Gone(4), Row(3), false), RowVerdict::kChanging);
  EXPECT_EQ(JudgeRow(kNothing, Row(3), kNothing, Row(4), false), RowVerdict::kDiffers);
}

// One row, written by its owner, brought to the other side later; reads and passings in between.
TEST(RowVerdictTest, RandomHistories_NeverDifferUnlessPlanted) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 20'000; ++run) {
    const bool planted = run % 2 == 0;
    std::vector<RowState> log = {Row(1)};  // of the owner; its last is its row
    size_t applied = 0;
    auto write = [&] {
      const RowState last = log.back();
      log.push_back(!last.deleted && random() % 3 == 0 ? Gone(last.version + 1)
                                                       : Row(last.version + 1));
    };
    auto stir = [&] {
      for (uint64_t i = random() % 4; !planted && i > 0; --i) {
        if (random() % 2 == 0) write();
        if (random() % 2 == 0 && applied + 1 < log.size()) ++applied;
      }
    };
    // Planted: the other side has the same version with other columns, or has lost the row.
    const RowState lost = random() % 2 == 0 ? kNothing : Row(1);
    auto other = [&] { return planted ? lost : log[applied]; };
    RowVerdict verdict = RowVerdict::kChanging;
    for (int look = 0; look < 50 && verdict == RowVerdict::kChanging; ++look) {
      stir();
      const RowState source_before = log.back();
      stir();
      const RowState target_before = other();
      const size_t passes = log.size() - 1;
      stir();
      if (!planted) applied = std::max(applied, passes);
      const RowState source_now = log.back();
      stir();
      const RowState target_now = other();
      verdict = JudgeRow(source_before, target_before, source_now, target_now, !planted);
    }
    if (planted) {
      EXPECT_EQ(verdict, RowVerdict::kDiffers) << run;
    } else {
      EXPECT_NE(verdict, RowVerdict::kDiffers) << run;
    }
  }
}

CheckedTable Items() {
  CheckedTable table;
  table.moved.guard.name = "my items";
  table.moved.primary_key = {"order_id", "line"};
  table.walk = {{"order_id", WalkColumn::Form::kInteger, ""},
                {"line", WalkColumn::Form::kBytes, ""}};
  table.key_in_walk = {0, 1};
  table.by_vnode = true;
  return table;
}

TEST(VerifyPositionTest, Text_IsReadAsWritten) {
  const std::vector<CheckedTable> tables = {Items()};
  const std::vector<FencedRange> ranges = {{0, 4}, {10, 20}};
  const CopyKey key = {uint64_t{7}, stream::Bytes{std::string("\0 x", 3)}};
  for (const auto& [position, text] : std::vector<std::pair<VerifyPosition, std::string>>{
           {{0, 0, std::nullopt}, "- 0 my items"},
           {{0, 1, key}, "7,x002078 10 my items"},
           {{0, 1, CopyKey{int64_t{-7}, stream::Bytes{""}}}, "-7,x 10 my items"},
           {{1, 0, std::nullopt}, "end"}}) {
    EXPECT_EQ(VerifyPositionText(position, tables, ranges), text);
    auto read = VerifyPositionIn(text, tables, ranges);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, position) << text;
  }
  EXPECT_EQ(VerifyPositionIn("", tables, ranges).value(), VerifyPosition());
  for (const char* text :
       {"x", "- 0", "- 0 other", "- 5 my items", "7 10 my items", "x61,7 10 my items", " ", "- ",
        "7,x61,8 10 my items", "7,x6 10 my items", " 10 my items", "end ", "-  my items"}) {
    EXPECT_TRUE(absl::IsDataLoss(VerifyPositionIn(text, tables, ranges).status())) << text;
  }
}

TEST(SliceRowsTest, Pace_ComesToTheWantedTimeAndStaysInItsBounds) {
  const absl::Duration wanted = absl::Milliseconds(100);
  uint64_t rows = 256;
  for (int i = 0; i < 60; ++i) {
    rows = NextSliceRows(rows, absl::Microseconds(10) * rows, wanted, 256, 50'000);
  }
  EXPECT_GE(rows, 9'000u);
  EXPECT_LE(rows, 16'000u);
  EXPECT_EQ(NextSliceRows(300, absl::Seconds(5), wanted, 256, 50'000), 256u);
  EXPECT_EQ(NextSliceRows(49'000, absl::ZeroDuration(), wanted, 256, 50'000), 50'000u);
  EXPECT_EQ(NextSliceRows(1, absl::ZeroDuration(), wanted, 1, 10), 2u);
}

TEST(VerifySqlTest, KeysOfTombstones_AreThoseOfTheTriggers) {
  EXPECT_EQ(TombstoneKeyOf({uint64_t{12}, stream::Bytes{"a:b"}, int64_t{-5}}), "2:123:a:b2:-5");
}

TEST(VerifySqlTest, Slice_IsBoundByBothItsEnds) {
  CheckedTable items = Items();
  items.index = {"PRIMARY", "by_order"};
  items.columns = {{"line", CheckedColumn::Form::kBytes, false}};
  const std::vector<FencedRange> ranges = {{3, 4}};
  Slice slice;
  slice.behind = CopyKey{uint64_t{1}, stream::Bytes{"a"}};
  slice.up_to = CopyKey{uint64_t{2}, stream::Bytes{"b"}};
  EXPECT_EQ(SelectChecksum(items, ranges, slice, 1, 10),
            "SELECT COUNT(*), COUNT(h), BIT_XOR(CRC32(LEFT(h, 20)) << 32 | CRC32(SUBSTR(h, 21)))"
            " FROM (SELECT SHA1(CONCAT(OCTET_LENGTH(`line`), ':', `line`)) AS h FROM `my items`"
            " FORCE INDEX (`by_order`) WHERE `order_id` BETWEEN 422212465065984 AND 703687441776639"
            " AND `order_id` >= 1 AND (`order_id` > 1 OR `order_id` = 1 AND `line` > X'61')"
            " AND `order_id` <= 2 AND (`order_id` < 2 OR `order_id` = 2 AND `line` <= X'62')"
            " LIMIT 10) AS slice");
}

TEST(RowDifferenceTest, Text_NamesTheRowAndTheDifferences) {
  RowDifference difference;
  difference.table = "orders";
  difference.key = "7";
  difference.source = Row(3);
  difference.target = Gone(4);
  difference.kind = RowDifference::Kind::kMissingOnTarget;
  EXPECT_EQ(TextOf(difference),
            "orders 7: missing on the target (version 3 on the source, deleted at version 4 on the "
            "target)");
  difference.columns.push_back(
      {"note", SeenValue{3, "0123456789abcdef0123", "a\nb"}, std::nullopt});
  EXPECT_THAT(TextOf(difference), HasSubstr("; note: 'a\\x0ab' <> NULL"));
  difference.columns[0].source->shown.reset();
  EXPECT_THAT(TextOf(difference), HasSubstr("; note: 3 bytes 0123456789abcdef <> NULL"));
}

}  // namespace
}  // namespace locus::internal
