// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/frame.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

Hello Ours() {
  Hello hello;
  hello.from = 7;
  hello.to = 9;
  hello.cluster = "workers";
  hello.address = "127.0.0.1:7000";
  return hello;
}

TEST(FrameTest, Hello_IsReadAsItWasWritten) {
  for (bool bulk : {false, true}) {
    Hello hello = Ours();
    hello.bulk = bulk;
    EXPECT_EQ(DecodeHello(Encode(hello)).value(), hello);
    EXPECT_LT(Encode(hello).size(), kMostHelloBytes);
  }
}

TEST(FrameTest, CutOrLongHello_IsRefused) {
  const std::string whole = Encode(Ours());
  for (size_t size = 0; size < whole.size(); ++size) {
    if (size == 8) continue;  // as far as the version
    EXPECT_FALSE(DecodeHello(whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(DecodeHello(whole + "x").ok());
  Hello long_name = Ours();
  long_name.cluster.resize(kMostClusterBytes + 1);
  EXPECT_FALSE(DecodeHello(Encode(long_name)).ok());
  Hello long_address = Ours();
  long_address.address.resize(kMostAddressBytes + 1);
  EXPECT_FALSE(DecodeHello(Encode(long_address)).ok());
}

TEST(FrameTest, Caller_GetsTheReasonOfItsRefusal) {
  EXPECT_TRUE(CheckHello(Ours(), 9, "workers").ok());
  auto why = [](auto change) {
    Hello hello = Ours();
    change(hello);
    return std::string(CheckHello(hello, 9, "workers").message());
  };
  EXPECT_THAT(why([](Hello& one) { one.protocol = 4; }), HasSubstr("version 4 of the protocol"));
  EXPECT_THAT(why([](Hello& one) { one.codec = 2; }), HasSubstr("entries of version 2"));
  EXPECT_THAT(why([](Hello& one) { one.cluster = "x"; }), HasSubstr("of cluster \"x\""));
  EXPECT_THAT(why([](Hello& one) { one.to = 8; }), HasSubstr("wants node 8, this is node 9"));
  EXPECT_THAT(why([](Hello& one) { one.from = 9; }), HasSubstr("the ID 9"));
  EXPECT_THAT(why([](Hello& one) { one.from = 0; }), HasSubstr("the ID 0"));
  // Another protocol, whatever follows its number.
  Hello other = Ours();
  other.protocol = 4;
  EXPECT_EQ(DecodeHello(Encode(other) + "anything")->protocol, 4u);
}

TEST(FrameTest, Welcome_CarriesTheReason) {
  EXPECT_TRUE(DecodeWelcome(EncodeWelcome(absl::OkStatus())).ok());
  const absl::Status refused = DecodeWelcome(EncodeWelcome(absl::InternalError("because\x1b[m")));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("because\\x1b[m"));
  EXPECT_EQ(DecodeWelcome("").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeWelcome("LRAF").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeWelcome("LRAF\2").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(DecodeWelcome("LRAF\1x").code(), absl::StatusCode::kInvalidArgument);
}

TEST(FrameTest, Frames_AreFoundHoweverTheirBytesCome) {
  const std::vector<std::string> sent = {"one", "", std::string(3000, 'x'), "two"};
  std::string bytes;
  for (const std::string& one : sent) bytes += Framed(one);
  for (size_t step : {size_t{1}, size_t{3}, size_t{1000}, bytes.size()}) {
    FrameReader reader(3000);
    std::vector<std::string> came;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.Feed(std::string_view(bytes).substr(at, step));
      for (auto frame = reader.Next(); frame.ok() && *frame; frame = reader.Next()) {
        came.emplace_back(**frame);
      }
    }
    EXPECT_EQ(came, sent);
    EXPECT_EQ(reader.Lacks(), 0u);
  }
}

TEST(FrameTest, LongFrame_IsRefusedByItsSize) {
  FrameReader reader(10);
  reader.Feed(Framed("0123456789a").substr(0, 4));
  EXPECT_THAT(std::string(reader.Next().status().message()), HasSubstr("11 bytes"));
  FrameReader other(10);
  other.Feed(Framed("0123456789").substr(0, 3));
  EXPECT_EQ(other.Lacks(), 1u);
  other.Feed(Framed("0123456789").substr(3, 3));
  EXPECT_EQ(other.Lacks(), 8u);
}

}  // namespace
}  // namespace locus::raft
