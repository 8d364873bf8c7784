// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "locus/number_format.h"

namespace locus {
namespace {

TEST(NumberFormatThreadTest, ThreadsThatShareAFormat_WriteTheirOwnTimes) {
  absl::TimeZone zone;
  ASSERT_TRUE(absl::LoadTimeZone("America/New_York", &zone));
  NumberFormat format = NumberFormat::Compile("{date:yyyyMMdd}-{time:HHmmss}{seq:8}", zone).value();
  constexpr int64_t kSeconds = 130LL * 366 * 86400;  // 1970 to 2100
  std::vector<std::thread> threads;
  std::array<std::string, 4> wrong;
  for (size_t thread = 0; thread < wrong.size(); ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(100 + thread);
      for (int i = 0; i < 5000; ++i) {
        absl::Time time = absl::FromUnixSeconds(static_cast<int64_t>(random() % kSeconds));
        std::string expected = absl::FormatTime("%E4Y%m%d-%H%M%S00001234", time, zone);
        std::string text = format.Format(time, {FieldValue::Uint64(1234)}).value_or("an error");
        if (text != expected) wrong[thread] = text + " is not " + expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& each : wrong) EXPECT_EQ(each, "");
}

}  // namespace
}  // namespace locus
