// SPDX-License-Identifier: Apache-2.0
#include "src/base/os/loopback.h"

#include "gtest/gtest.h"

namespace locus {

using internal::IsLoopback;

namespace {

TEST(LoopbackTest, NameThatOnlyLooksLikeOne_IsNone) {
  for (const char* host : {"localhost", "127.0.0.1", "127.9.8.7", "::1"}) {
    EXPECT_TRUE(IsLoopback(host)) << host;
  }
  for (const char* host : {"", "127.db.example", "127.0.0.1.example", "128.0.0.1", "::2", "db1"}) {
    EXPECT_FALSE(IsLoopback(host)) << host;
  }
}

}  // namespace
}  // namespace locus
