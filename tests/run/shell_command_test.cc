// SPDX-License-Identifier: Apache-2.0
#include "migration/run/shell_command.h"

#include <cstdlib>

#include "gtest/gtest.h"

namespace locus::internal {
namespace {

TEST(ShellCommandTest, ExitCodeAndVariables_ArePassed) {
  EXPECT_EQ(*RunShellCommand("exit 3", {}, absl::Seconds(30)), 3);
  EXPECT_EQ(
      *RunShellCommand("test \"$LOCUS_SHARE\" = 500", {{"LOCUS_SHARE", "500"}}, absl::Seconds(30)),
      0);
  EXPECT_EQ(*RunShellCommand("kill -9 $$", {}, absl::Seconds(30)), 137);
  EXPECT_EQ(*RunShellCommand("no-such-command-here 2> /dev/null", {}, absl::Seconds(30)), 127);
}

TEST(ShellCommandTest, Passwords_AreNotPassed) {
  for (const char* name : {"LOCUS_PASSWORD", "LOCUS_TABLE_PASSWORD", "LOCUS_SHARD_PASSWORD",
                           "LOCUS_CEILING_PASSWORD", "LOCUS_AUDIT_PASSWORD"}) {
    setenv(name, "s3cret", 1);
    const std::string is_empty = std::string("test -z \"$") + name + "\"";
    EXPECT_EQ(*RunShellCommand(is_empty, {}, absl::Seconds(30)), 0) << name;
    unsetenv(name);
  }
}

TEST(ShellCommandTest, TooLong_IsKilledWithItsChildren) {
  const auto status = RunShellCommand("sleep 300 & sleep 300", {}, absl::Milliseconds(100));
  EXPECT_TRUE(absl::IsDeadlineExceeded(status.status())) << status.status();
}

}  // namespace
}  // namespace locus::internal
