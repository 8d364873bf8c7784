// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/store_records.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = StoreRecord::Kind;

TEST(StoreRecordsTest, FileThatGrows_IsReadLineByLine) {
  const TemporaryDirectory directory;
  StoreRecords records(directory / "records");
  records.ReadMore();
  EXPECT_THAT(records.all(), IsEmpty());
  std::ofstream out(directory / "records");
  out << LineOf({Kind::kNumbers, {1, 2, 3, 5}, ""})
      << LineOf({Kind::kError, {3, 4, 0, 0}, "UNAVAILABLE: no leader"}) << "r 5 6 " << std::flush;
  records.ReadMore();
  ASSERT_EQ(records.all().size(), 2u) << "the third is not whole";
  EXPECT_EQ(records.all()[0].taken.last, 5u);
  EXPECT_EQ(records.all()[1].error, "UNAVAILABLE: no leader");
  out << "7 7 \n" << std::flush;
  records.ReadMore();
  ASSERT_EQ(records.all().size(), 3u);
  EXPECT_EQ(records.all()[2].kind, Kind::kRead);
  EXPECT_EQ(records.all()[2].taken.first, 7u);
}

TEST(StoreRecordsTest, Violations_AreNamed) {
  const StoreRecord good[] = {{Kind::kNumbers, {1, 2, 1, 3}, ""},
                              {Kind::kAltered, {1, 4, 8, 8}, ""},
                              {Kind::kRead, {3, 5, 7, 7}, ""},
                              {Kind::kRead, {6, 7, 8, 8}, ""},
                              {Kind::kError, {1, 9, 0, 0}, "UNAVAILABLE: no leader"}};
  auto with = [&](StoreRecord more) {
    std::vector<StoreRecord> records(std::begin(good), std::end(good));
    records.push_back(std::move(more));
    return WrongOf(records);
  };
  EXPECT_THAT(with({Kind::kNumbers, {2, 3, 4, 6}, ""}), IsEmpty());
  EXPECT_THAT(with({Kind::kNumbers, {9, 10, 3, 5}, ""}), ElementsAre(HasSubstr("3 came twice")));
  EXPECT_THAT(with({Kind::kAltered, {9, 10, 7, 7}, ""}), ElementsAre(HasSubstr("got less")));
  EXPECT_THAT(with({Kind::kRead, {8, 9, 7, 7}, ""}),
              ElementsAre(HasSubstr("version 7 was read after version 8")));
  EXPECT_THAT(with({Kind::kError, {1, 2, 0, 0}, "DATA_LOSS: x"}), ElementsAre("DATA_LOSS: x"));
  EXPECT_THAT(with({Kind::kSegment, {1, 60'000'000'000, 64, 127}, ""}),
              ElementsAre(HasSubstr("a call took 59999 ms")));
}

}  // namespace
}  // namespace locus::proof
