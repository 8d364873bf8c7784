// SPDX-License-Identifier: Apache-2.0
#include "src/worker/record_text.h"

#include "gtest/gtest.h"

namespace locus::worker {
namespace {

WorkerRecord Record() {
  WorkerRecord record;
  record.worker = 7;
  record.token = uint64_t{1} << 62;
  record.floor = absl::InfinitePast();
  record.ceiling = absl::FromUnixMillis(1'800'000'000'123);
  record.granted_at = absl::UnixEpoch();
  record.renewed_at = absl::FromUnixMillis(1);
  record.nonce = "a-b_0";
  record.holder = "{\"x\": \"two  spaces\n\"}";
  return record;
}

TEST(RecordTextTest, Record_IsReadAsItWasWritten) {
  WorkerRecord record = Record();
  EXPECT_EQ(TextOf(record), "4611686018427387904 - 1800000000123 0 1 a-b_0 " + record.holder);
  EXPECT_EQ(RecordOf(7, TextOf(record)), record);
  record.nonce.clear();
  record.holder.clear();
  EXPECT_EQ(RecordOf(7, TextOf(record)), record) << "released";
}

TEST(RecordTextTest, Space_IsReadAsItWasWritten) {
  for (absl::Time rest : {absl::InfinitePast(), absl::FromUnixMillis(1'800'000'000'123)}) {
    const Space space{rest, absl::Minutes(10), 3};
    EXPECT_EQ(SpaceOf(TextOf(space)), space);
  }
  EXPECT_EQ(TextOf(Space{absl::InfinitePast(), absl::Seconds(20), 0}), "- 20000 0");
}

TEST(RecordTextTest, TimesOutsideOfTheForm_AreCut) {
  EXPECT_EQ(TextOf(absl::InfinitePast()), "-");
  EXPECT_EQ(TextOf(absl::UnixEpoch() - absl::Nanoseconds(1)), "-");
  EXPECT_EQ(TextOf(absl::InfiniteFuture()), "253402300799999");
  EXPECT_EQ(TextOf(absl::FromUnixMillis(5) + absl::Microseconds(999)), "5");
}

TEST(RecordTextTest, OtherTexts_AreNone) {
  for (const char* text : {"", "1", "1 2 3 4 5", "1 2 3 4 5 a", "0 2 3 4 5 a {}", "-1 2 3 4 5 a {}",
                           "9223372036854775808 2 3 4 5 a {}", "01 2 3 4 5 a {}", "1 x 3 4 5 a {}",
                           "1 2 253402300800000 4 5 a {}", "1 2 3 -4 5 a {}", "1  2 3 4 5 a {}"}) {
    EXPECT_EQ(RecordOf(7, text), std::nullopt) << text;
  }
  EXPECT_TRUE(RecordOf(7, "1 2 3 4 5 a " + std::string(kMostHolderBytes, 'x')).has_value());
  EXPECT_FALSE(RecordOf(7, "1 2 3 4 5 a " + std::string(kMostHolderBytes + 1, 'x')).has_value());
  for (const char* text : {"", "-", "- 1", "- 1 ", "- 1 x", "x 1 1", "- - 1", "- 1 1 1"}) {
    EXPECT_EQ(SpaceOf(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace locus::worker
