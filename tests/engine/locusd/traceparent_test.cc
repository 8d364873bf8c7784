// SPDX-License-Identifier: Apache-2.0
#include "src/http/api/traceparent.h"

#include "gtest/gtest.h"

namespace locus::http_api {
namespace {

using internal::TraceId;

constexpr TraceId kTrace{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736};

TEST(TraceparentTest, WellFormed_GivesItsTrace) {
  EXPECT_EQ(ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), kTrace);
  EXPECT_EQ(ParseTraceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"), kTrace);
  EXPECT_EQ(ParseTraceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), kTrace)
      << "a later version";
  EXPECT_EQ(ParseTraceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"),
            kTrace);
  EXPECT_EQ(ToString(kTrace), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(ToString(TraceId{0, 1}), "00000000000000000000000000000001");
  EXPECT_EQ(ToString(TraceId()), "");
}

TEST(TraceparentTest, Malformed_IsIgnored) {
  for (const char* value : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 ",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "0g-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902bg-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
       }) {
    EXPECT_TRUE(ParseTraceparent(value).empty()) << value;
  }
}

}  // namespace
}  // namespace locus::http_api
