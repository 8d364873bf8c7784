// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/rate_limit.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::cluster_api {
namespace {

TEST(RateLimitTest, Address_HasItsBurst_ThenItsRate) {
  RateLimit limit({.per_second = 10, .burst = 5});
  absl::Duration now = absl::Hours(1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.Take("10.0.0.1", now), absl::ZeroDuration()) << i;
  EXPECT_EQ(limit.Take("10.0.0.1", now), absl::Milliseconds(100));
  EXPECT_EQ(limit.Take("10.0.0.2", now), absl::ZeroDuration()) << "another address";
  // Ten seconds at twice the rate: half of it comes in.
  int in = 0;
  for (int i = 0; i < 200; ++i) {
    now += absl::Milliseconds(50);
    in += limit.Take("10.0.0.1", now) == absl::ZeroDuration();
  }
  EXPECT_GE(in, 99);
  EXPECT_LE(in, 101);
  now += absl::Hours(1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(limit.Take("10.0.0.1", now), absl::ZeroDuration()) << i;
  EXPECT_GT(limit.Take("10.0.0.1", now), absl::ZeroDuration()) << "a pause saves no more than that";
}

TEST(RateLimitTest, ManyAddresses_FillNoMoreThanTheTable_AndTheSilentOneIsForgotten) {
  RateLimit limit({.per_second = 1, .burst = 1, .addresses = 100});
  const absl::Duration now = absl::Hours(1);
  EXPECT_EQ(limit.Take("busy", now), absl::ZeroDuration());
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_EQ(limit.Take(absl::StrCat("10.0.", i / 256, ".", i % 256), now), absl::ZeroDuration());
    EXPECT_GT(limit.Take("busy", now), absl::ZeroDuration()) << "it goes on, so it is remembered";
  }
  EXPECT_EQ(limit.remembered(), 100u);
  EXPECT_EQ(limit.Take("10.0.0.0", now), absl::ZeroDuration()) << "forgotten";
}

TEST(RateLimitTest, AddressesOfOneIpv6Network_AreOne) {
  RateLimit limit({.per_second = 1, .burst = 1});
  const absl::Duration now = absl::Hours(1);
  EXPECT_EQ(limit.Take("2001:db8:1:2::1", now), absl::ZeroDuration());
  EXPECT_GT(limit.Take("2001:db8:1:2:ffff::9", now), absl::ZeroDuration());
  EXPECT_EQ(limit.Take("2001:db8:1:3::1", now), absl::ZeroDuration());
  EXPECT_EQ(limit.Take("::ffff:10.0.0.1", now), absl::ZeroDuration());
  EXPECT_GT(limit.Take("10.0.0.1", now), absl::ZeroDuration()) << "the same one";
  EXPECT_EQ(limit.Take("::ffff:10.0.0.2", now), absl::ZeroDuration());
}

TEST(RateLimitTest, NoRate_NoLimit) {
  RateLimit limit({.burst = 1});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limit.Take("a", {}), absl::ZeroDuration());
  EXPECT_EQ(limit.remembered(), 0u);
}

TEST(RateLimitTest, Options_OutsideTheirLimits_AreNamed) {
  using ::testing::HasSubstr;
  auto refusal = [](const RateLimitOptions& options) {
    EXPECT_EQ(options.Check().code(), absl::StatusCode::kInvalidArgument);
    return std::string(options.Check().message());
  };
  EXPECT_TRUE(RateLimitOptions().Check().ok());
  EXPECT_THAT(refusal({.per_second = -1}), HasSubstr("-1"));
  EXPECT_THAT(refusal({.per_second = std::nan("")}), HasSubstr("nan"));
  EXPECT_THAT(refusal({.burst = 0}), HasSubstr("at once"));
  EXPECT_THAT(refusal({.addresses = 0}), HasSubstr("addresses"));
}

}  // namespace
}  // namespace locus::cluster_api
