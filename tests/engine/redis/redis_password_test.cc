// SPDX-License-Identifier: Apache-2.0
#include "gtest/gtest.h"
#include "locus/engine/redis.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/password_search.h"

namespace locus {
namespace {

TEST(RedisPasswordTest, OpenSequencer_LeavesNoPasswordInACoreDump) {
  TemporaryDirectory directory;
  std::string file = directory / "password.conf", password;
  Fill(password);
  int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(write(fd, "requirepass ", 12), 12);
  ASSERT_EQ(write(fd, password.data(), kLength), static_cast<ssize_t>(kLength));
  close(fd);
  explicit_bzero(password.data(), password.size());
  RedisServer server({"--include", file});
  RedisOptions options = server.options();
  Fill(options.password);
  auto sequencer = RedisSequencer::Open(options, {});
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  EXPECT_EQ((*sequencer)->Next("k").value(), 1);
  Found kept = Search();
  EXPECT_EQ(kept.dumped, 0u);
  EXPECT_EQ(kept.left_out, 1u) << "for the next connection";
}

}  // namespace
}  // namespace locus
