// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/uuid.h"
#include "tests/cli/command.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using testing::Outcome;
using testing::RunLocus;
using testing::RunningCommand;

// Each line, which ends with LF, as a UUID in the form that is printed.
std::vector<Uuid> UuidsOf(const std::string& out) {
  std::vector<Uuid> uuids;
  EXPECT_TRUE(out.ends_with('\n'));
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    uuids.push_back(Uuid::Parse(line).value());
    EXPECT_EQ(uuids.back().ToString(), line);
  }
  return uuids;
}

TEST(CliUuidTest, WithoutOptions_IsOneOfVersion7) {
  absl::Time before = absl::FromUnixMillis(absl::ToUnixMillis(absl::Now()));
  Outcome outcome = RunLocus({"uuid"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::vector<Uuid> uuids = UuidsOf(outcome.out);
  ASSERT_EQ(uuids.size(), 1u);
  EXPECT_EQ(uuids[0].version(), 7);
  EXPECT_GE(*uuids[0].time(), before);
  EXPECT_LE(*uuids[0].time(), absl::Now());
}

TEST(CliUuidTest, ManyOfVersion7_RiseStrictly) {
  Outcome outcome = RunLocus({"uuid", "--version", "7", "--count", "20000"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  std::vector<Uuid> uuids = UuidsOf(outcome.out);
  ASSERT_EQ(uuids.size(), 20000u);
  for (const Uuid& uuid : uuids) EXPECT_EQ(uuid.version(), 7);
  EXPECT_EQ(std::adjacent_find(uuids.begin(), uuids.end(), std::greater_equal<Uuid>()),
            uuids.end());
}

TEST(CliUuidTest, ManyOfVersion4_AreDifferent) {
  Outcome outcome = RunLocus({"uuid", "--count=20000", "--version=4"});
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  std::vector<Uuid> uuids = UuidsOf(outcome.out);
  for (const Uuid& uuid : uuids) EXPECT_EQ(uuid.version(), 4);
  EXPECT_EQ(std::set<Uuid>(uuids.begin(), uuids.end()).size(), 20000u);
}

TEST(CliUuidTest, WrongUsage_NamesValueAndLimit) {
  for (std::string count : {"0", "-1", "01", "1e3", "", "18446744073709551616"}) {
    Outcome outcome = RunLocus({"uuid", "--count", count});
    EXPECT_EQ(outcome.exit, 2) << count;
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "locus uuid: --count: \"" + count +
                               "\" is not a whole number in 1..18446744073709551615\n");
  }
  Outcome outcome = RunLocus({"uuid", "--version", "1"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_EQ(outcome.err, "locus uuid: --version: \"1\" is not one of 4, 7\n");
  outcome = RunLocus({"uuid", "7"});
  EXPECT_EQ(outcome.exit, 2);
  EXPECT_THAT(outcome.err, HasSubstr("\"7\""));
}

TEST(CliUuidTest, FullDevice_Fails) {
  Outcome outcome = RunningCommand({"uuid"}, "/dev/full").Finish();
  EXPECT_EQ(outcome.exit, 1);
  EXPECT_THAT(outcome.err, HasSubstr("No space left"));
}

TEST(CliUuidTest, ClosedPipe_EndsItQuietly) {
  RunningCommand uuid({"uuid", "--count", "18446744073709551615"});
  EXPECT_TRUE(Uuid::Parse(uuid.ReadLine()).ok());
  uuid.CloseStdout();
  Outcome outcome = uuid.Finish();
  EXPECT_EQ(outcome.exit, 0);
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace locus
