// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/csv.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/csv_oracle.h"

namespace locus::csv {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Fields(std::string_view line) {
  SplitResult split = Split(line, 1 << 20);
  EXPECT_EQ(split.rows.size(), 1u) << line;
  return split.rows.empty() ? std::vector<std::string>() : split.rows[0].fields;
}

TEST(RecordSplitterTest, EachLineEnding_IsKeptWithItsRecord) {
  SplitResult split = Split("a,b\r\nc,d\ne,f", 1 << 20);
  ASSERT_EQ(split.rows.size(), 3u);
  EXPECT_EQ(split.rows[0], (SplitResult::Row{"a,b", "\r\n", 1, {"a", "b"}}));
  EXPECT_EQ(split.rows[1], (SplitResult::Row{"c,d", "\n", 2, {"c", "d"}}));
  EXPECT_EQ(split.rows[2], (SplitResult::Row{"e,f", "", 3, {"e", "f"}}));
}

TEST(RecordSplitterTest, LoneCarriageReturn_IsAByteOfItsField) {
  SplitResult split = Split("a\rb,c\r\r\nd\r", 1 << 20);
  ASSERT_EQ(split.rows.size(), 2u);
  EXPECT_EQ(split.rows[0], (SplitResult::Row{"a\rb,c\r", "\r\n", 1, {"a\rb", "c\r"}}));
  EXPECT_EQ(split.rows[1], (SplitResult::Row{"d\r", "", 2, {"d\r"}}));
}

TEST(RecordSplitterTest, QuotedField_HoldsSeparatorsAndLineEndings) {
  SplitResult split = Split("\"a,\"\"b\"\"\r\nc\",d\r\n\"\",\"\"\"\"\n", 1 << 20);
  ASSERT_EQ(split.rows.size(), 2u);
  EXPECT_THAT(split.rows[0].fields, ElementsAre("\"a,\"\"b\"\"\r\nc\"", "d"));
  EXPECT_EQ(split.rows[1].line, 3u) << "the line ending inside the quotes counts";
  EXPECT_THAT(split.rows[1].fields, ElementsAre("\"\"", "\"\"\"\""));
}

TEST(RecordSplitterTest, QuoteInsideAnUnquotedField_IsAByte) {
  EXPECT_THAT(Fields("5\" pipe,x\n"), ElementsAre("5\" pipe", "x"));
  EXPECT_THAT(Fields("\"a\"b\",c\n"), ElementsAre("\"a\"b\"", "c"));
  EXPECT_THAT(Fields(" \"a,b\"\n"), ElementsAre(" \"a", "b\""));
}

TEST(RecordSplitterTest, EmptyFieldsAndBlankLines_AreSeen) {
  SplitResult split = Split(",\n\n\r\n,,", 1 << 20);
  ASSERT_EQ(split.rows.size(), 4u);
  EXPECT_THAT(split.rows[0].fields, ElementsAre("", ""));
  EXPECT_EQ(split.rows[1].bytes, "");
  EXPECT_EQ(split.rows[2], (SplitResult::Row{"", "\r\n", 3, {""}}));
  EXPECT_THAT(split.rows[3].fields, ElementsAre("", "", ""));
}

TEST(RecordSplitterTest, ByteOrderMark_IsDroppedAtTheStartOnly) {
  for (size_t chunk : {1, 2, 3, 100}) {
    EXPECT_EQ(Split("\xEF\xBB\xBF\"a\"\n\xEF\xBB\xBF", chunk).Reassembled(), "\"a\"\n\xEF\xBB\xBF");
    EXPECT_EQ(Split("\xEF\xBB", chunk).Reassembled(), "\xEF\xBB") << "part of a mark is content";
    EXPECT_TRUE(Split("\xEF\xBB\xBF", chunk).rows.empty());
  }
}

TEST(RecordSplitterTest, NulBytes_AreContent) {
  EXPECT_THAT(Fields(std::string_view("a\0b,\0\n", 6)),
              ElementsAre(std::string("a\0b", 3), std::string("\0", 1)));
}

TEST(RecordSplitterTest, UnclosedQuote_IsNamedByItsLine) {
  SplitResult split = Split("a\n\"b\nc\",\"d\ne", 3);
  EXPECT_EQ(split.status, "line 3: the quote that opens here is never closed");
  EXPECT_EQ(split.rows.size(), 1u);
}

TEST(RecordSplitterTest, RecordAtAndAboveTheLimit) {
  for (size_t chunk : {1, 7, 100}) {
    EXPECT_EQ(Split("a\n1234567\n", chunk, 8).status, "");
    EXPECT_THAT(Split("a\n12345678\n", chunk, 8).status,
                HasSubstr("line 2: the record that starts here is longer than 8 bytes"));
    EXPECT_EQ(Split("a\n12345678", chunk, 8).status, "");
    EXPECT_THAT(Split("a\n\"2345678", chunk, 7).status, HasSubstr("a quote opens on line 2"));
  }
}

TEST(RecordSplitterTest, MoreFieldsThanTheLimit_AreRefused) {
  std::string widest(RecordSplitter::kMaxFields - 1, ',');
  EXPECT_EQ(Split(widest + "\n", 5000).rows[0].fields.size(), RecordSplitter::kMaxFields);
  EXPECT_EQ(Split("a\n" + widest + ",\n", 5000).status,
            "line 2: the record that starts here has more than 65536 fields");
}

TEST(RecordSplitterTest, RecordLongerThanABlock_Survives) {
  std::string input = "a,\"" + std::string(3 * RecordSplitter::kBlock, 'x') + "\n\",b\r\nc,d,e\n";
  EXPECT_EQ(Split(input, 1000).Reassembled(), input);
  EXPECT_EQ(Split(input, 1 << 30), Split(input, 1000));
}

// Text in which quotes, separators and line endings are frequent.
std::string RandomText(std::mt19937& random, size_t size) {
  constexpr std::string_view kBytes = "\"\",,\n\r\nab \xC3\xA9";
  std::string text;
  while (text.size() < size) text += kBytes[random() % kBytes.size()];
  return text;
}

TEST(RecordSplitterTest, ChunkBoundaries_ChangeNothing) {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string input = RandomText(random, random() % 80);
    SplitResult whole = Split(input, 1 << 20);
    for (size_t chunk : {1, 2, 5, 16, 17}) ASSERT_EQ(Split(input, chunk), whole) << input;
    if (!whole.status.empty()) continue;
    ASSERT_EQ(whole.Reassembled(), input);
  }
}

TEST(RecordSplitterTest, WhereLibcsvAgreesByDesign_ItAgrees) {
  std::mt19937 random(2);
  int compared = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string input = RandomText(random, random() % 40);
    SplitResult split = Split(input, 1 << 20);
    Table ours, theirs;
    if (!split.status.empty() || !ComparableTable(split, input, ours)) continue;
    ASSERT_TRUE(ParseWithLibcsv(input, theirs)) << input;
    ASSERT_EQ(ours, theirs) << input;
    ++compared;
  }
  EXPECT_GT(compared, 500);
}

TEST(RecordSplitterTest, EncodedTables_AreReadBackByBoth) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    Table table(1 + random() % 5);
    std::string input;
    for (auto& row : table) {
      row.resize(2 + random() % 4);
      for (size_t i = 0; i < row.size(); ++i) {
        row[i] = "x" + RandomText(random, random() % 12) + "x";
        if (i != 0) input += ',';
        AppendField(row[i], input);
      }
      input += random() % 2 == 0 ? "\n" : "\r\n";
    }
    Table ours, theirs;
    ASSERT_TRUE(ComparableTable(Split(input, 13), input, ours)) << input;
    ASSERT_EQ(ours, table) << input;
    ASSERT_TRUE(ParseWithLibcsv(input, theirs)) << input;
    ASSERT_EQ(theirs, table) << input;
  }
}

TEST(DecodeFieldTest, QuotesAreTakenOut) {
  std::string scratch;
  EXPECT_EQ(DecodeField("a", scratch), "a");
  EXPECT_EQ(DecodeField("", scratch), "");
  EXPECT_EQ(DecodeField("\"\"", scratch), "");
  EXPECT_EQ(DecodeField("\"a\"", scratch), "a");
  EXPECT_EQ(DecodeField("\"\"\"a\"\"\"\"b\"", scratch), "\"a\"\"b");
  EXPECT_EQ(DecodeField("5\" pipe", scratch), "5\" pipe");
  for (const char* field : {"\"", "\"a", "\"a\"b", "\"a\"\"", "\"a\"b\"", "\"\"\""}) {
    EXPECT_EQ(DecodeField(field, scratch), std::nullopt) << field;
  }
}

TEST(AppendFieldTest, OnlyWhatNeedsQuotes_GetsThem) {
  std::string out;
  for (const char* value : {"a b", "a,b", "a\"b", "a\nb", "a\rb"}) {
    AppendField(value, out);
    out += ';';
  }
  EXPECT_EQ(out, "a b;\"a,b\";\"a\"\"b\";\"a\nb\";\"a\rb\";");
}

}  // namespace
}  // namespace locus::csv
