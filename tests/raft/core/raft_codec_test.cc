// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/codec.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

const Members kMembers = {{1, true, "10.0.0.1:7000"}, {7, false, ""}, {UINT64_MAX, true, "h:1"}};

std::vector<Message> AllMessages() {
  return {VoteRequest{3, 9, 2, true, false, 4},
          VoteReply{3, false, true},
          Append{3,
                 9,
                 2,
                 {{3, Entry::Kind::kNothing, "", {}},
                  {3, Entry::Kind::kCommand, std::string("a\0b", 3), {}},
                  {3, Entry::Kind::kMembers, "", kMembers}},
                 8,
                 UINT64_MAX,
                 7},
          AppendReply{3, false, 12, 11, 5, true},
          InstallSnapshot{3, {9, 2, kMembers}, std::string(1000, 's'), 6},
          StandNow{4},
          Removed{5, 6},
          Note{6, "told"}};
}

TEST(RaftCodecTest, EveryMessage_ComesBack) {
  for (const Message& message : AllMessages()) {
    auto back = DecodeMessage(Encode(message));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, message) << message.index();
  }
  EXPECT_EQ(AllMessages().size(), std::variant_size_v<Message>);
  const SnapshotMark mark{9, 2, kMembers};
  EXPECT_EQ(DecodeMark(Encode(mark)).value(), mark);
}

// Frozen: nodes of several versions read each other's, and their own files.
TEST(RaftCodecTest, BytesOfAnEntry) {
  const Entry entry{258, Entry::Kind::kCommand, "ab", {}};
  EXPECT_EQ(Encode(entry), std::string("\x02\x01\0\0\0\0\0\0\x01\x02\0\0\0ab", 15));
  EXPECT_EQ(DecodeEntry(Encode(entry)).value(), entry);
}

TEST(RaftCodecTest, CutAnywhereOrLonger_IsRefused) {
  for (const Message& message : AllMessages()) {
    const std::string bytes = Encode(message);
    for (size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(DecodeMessage(bytes.substr(0, size)).ok()) << message.index() << " " << size;
    }
    EXPECT_THAT(std::string(DecodeMessage(bytes + "x").status().message()),
                HasSubstr("1 bytes behind the end"));
  }
}

TEST(RaftCodecTest, BeyondTheLimits_IsRefusedBeforeMemoryIsTaken) {
  auto refusal = [](const std::string& bytes) {
    return std::string(DecodeMessage(bytes).status().message());
  };
  EXPECT_THAT(refusal("\x08"), HasSubstr("message kind 8; the most is 7"));
  const std::string numbers(48, '\0');
  EXPECT_THAT(refusal("\x02" + numbers + "\xFF\xFF\xFF\xFF"),
              HasSubstr("a size of 4294967295 for entries; the most are 65536"));
  EXPECT_THAT(refusal("\x02" + numbers + std::string("\x01\0\0\0", 4) + std::string(8, '\0') +
                      "\x01\xFF\xFF\xFF\xFF"),
              HasSubstr("for a command; the most are 16777216"));
  std::string vote = Encode(Message(VoteReply{1, false, false}));
  vote.back() = 2;
  EXPECT_THAT(refusal(vote), HasSubstr("at byte 9 is a byte of 2; the most is 1"));
  Entry twice{1, Entry::Kind::kMembers, "", {{2, true, ""}, {2, true, ""}}};
  EXPECT_THAT(std::string(DecodeEntry(Encode(twice)).status().message()),
              HasSubstr("not above the one before"));
}

}  // namespace
}  // namespace locus::raft
