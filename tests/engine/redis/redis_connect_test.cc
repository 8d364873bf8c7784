// SPDX-License-Identifier: Apache-2.0
// Redis servers that cannot be reached: every attempt ends in time, whatever keeps it.
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "locus/engine/redis.h"
#include "tests/support/stalled_network.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

// Expects Open to fail when `timeout` has passed, or `within` on a machine that is busy.
void ExpectInTime(const char* host, uint16_t port, absl::Duration timeout, absl::Duration within,
                  const char* says) {
  RedisOptions options;
  options.addresses = {{host, port}};
  options.timeout = options.connect_timeout = timeout;
  const absl::Time start = absl::Now();
  absl::Status status = RedisSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  EXPECT_THAT(std::string(status.message()), HasSubstr(host));
  EXPECT_LT(absl::Now() - start, within) << host;
}

TEST(RedisConnectTest, NameServerDoesNotAnswer_IsUnavailableInTime) {
  StalledNames names;
  ExpectInTime(kStalledName, 6379, absl::Seconds(1), absl::Seconds(30), "not resolved in time");
}

TEST(RedisConnectTest, BlackHole_IsUnavailableInTime) {
  BlackHole hole;
  ExpectInTime("127.0.0.1", hole.port(), absl::Seconds(1), absl::Seconds(30), "timed out");
}

TEST(RedisConnectTest, ManyAddressesInABlackHole_ShareTheTime) {
  BlackHole hole;
  // 16 s, if each of the four had all of it.
  ExpectInTime(kManyAddresses, hole.port(), absl::Seconds(4), absl::Seconds(15), "timed out");
}

}  // namespace
}  // namespace locus
