// SPDX-License-Identifier: Apache-2.0
// Keys as checkpoints and tombstones have them.
#include "gtest/gtest.h"
#include "migration/apply/copy_sql.h"

namespace locus {
namespace {

using internal::CopyKey;
using internal::CopyKeyIn;
using internal::CopyKeyText;
using internal::InstantIn;

TEST(CopyKeyTest, Text_IsReadAsWritten) {
  const CopyKey key = {uint64_t{7}, stream::Bytes{std::string("\0,x", 3)}, int64_t{-5},
                       stream::Bytes{""}};
  EXPECT_EQ(CopyKeyText(key), "7,x002c78,-5,x");
  EXPECT_EQ(CopyKeyIn(CopyKeyText(key), 4).value(), key);
  EXPECT_EQ(CopyKeyIn("", 4).value(), std::nullopt);
  const stream::Date day{2026, 11, 28};
  const CopyKey typed = {stream::Decimal{"-0.50"}, day, stream::DateTime{day, 1, 2, 3, 40},
                         stream::Time{true, 838, 59, 58, 1}};
  EXPECT_EQ(CopyKeyText(typed),
            "n-0.50,d2026-11-28,s2026-11-28T01:02:03.000040,t-838:59:58.000001");
  EXPECT_EQ(CopyKeyIn(CopyKeyText(typed), 4).value(), typed);
  const CopyKey counted = {stream::EnumNumber{65535}, stream::SetBits{UINT64_MAX}, stream::Bits{0},
                           stream::Timestamp{1'698'543'000'500'000}};
  EXPECT_EQ(CopyKeyText(counted), "e65535,m18446744073709551615,b0,u1698543000500000");
  EXPECT_EQ(CopyKeyIn(CopyKeyText(counted), 4).value(), counted);
  for (const char* text :
       {"7", "7,8,9,10,11", "7,8,9,", "7,8,9,y", "7,8,9,x0", "7,8,9,xZZ", "07,8,9,10", " 7,8,9,10",
        "7,8,9,d2026-1-1", "7,8,9,n1;", "7,8,9,s2026-11-28", "7,8,9,t1:2:3", "7,8,9,e65536",
        "7,8,9,e01", "7,8,9,m-1", "7,8,9,b", "7,8,9,u1.5", "99999999999999999999,8,9,10"}) {
    EXPECT_TRUE(absl::IsDataLoss(CopyKeyIn(text, 4).status())) << text;
  }
}

TEST(KeyTextTest, Instant_IsReadAsWritten) {
  stream::Column column;
  column.scale = 3;
  for (int64_t microseconds : {int64_t{0}, int64_t{500'000}, int64_t{1'698'543'000'500'000},
                               int64_t{4'294'967'295'999'000}}) {
    const stream::Timestamp stamp{microseconds};
    const std::string text = internal::KeyText(stamp, column);
    EXPECT_EQ(InstantIn(text), stamp) << text;
  }
  EXPECT_EQ(internal::KeyText(stream::Timestamp{500'000}, column), "0.500");
  EXPECT_EQ(internal::KeyText(stream::Timestamp{0}, column), "0");
  for (const char* text : {"", "-1", "1.", ".5", "1.5x", "1.1234567", "4294967296", " 1"}) {
    EXPECT_EQ(InstantIn(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace locus
