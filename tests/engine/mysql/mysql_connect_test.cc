// SPDX-License-Identifier: Apache-2.0
// MariaDB servers that cannot be reached: every attempt ends in time, whatever keeps it.
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "locus/engine/mysql.h"
#include "tests/support/stalled_network.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

void ExpectInTime(const char* host, uint16_t port, MysqlOptions::Tls tls, const char* says) {
  MysqlOptions options;
  options.hosts = {{host, port}};
  options.user = "locus";
  options.database = "locus";
  options.connect_timeout = options.timeout = absl::Seconds(1);
  options.tls = tls;
  const absl::Time start = absl::Now();
  absl::Status status = MysqlSegmentStore::Open(options).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << host;
}

TEST(MysqlConnectTest, NameServerDoesNotAnswer_IsUnavailableInTime) {
  StalledNames names;
  for (auto tls : {MysqlOptions::Tls::kNever, MysqlOptions::Tls::kAlways}) {
    ExpectInTime(kStalledName, 3306, tls, "not resolved in time");
  }
}

TEST(MysqlConnectTest, BlackHole_IsUnavailableInTime) {
  BlackHole hole;
  ExpectInTime("127.0.0.1", hole.port(), MysqlOptions::Tls::kNever, "");
}

// The client library would wait for minutes at the second address.
TEST(MysqlConnectTest, ManyAddressesInABlackHole_IsUnavailableInTime) {
  BlackHole hole;
  for (auto tls : {MysqlOptions::Tls::kNever, MysqlOptions::Tls::kAlways}) {
    ExpectInTime(kManyAddresses, hole.port(), tls, "");
  }
}

}  // namespace
}  // namespace locus
