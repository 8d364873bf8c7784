// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/inbox.h"

#include <string>

#include "gtest/gtest.h"

namespace locus::raft {
namespace {

Message Command(size_t bytes) {
  Append append;
  append.entries.push_back({1, Entry::Kind::kCommand, std::string(bytes, 'x'), {}});
  return append;
}

TEST(InboxTest, FullOfBytes_DropsAndCounts) {
  Inbox inbox({.messages = 1000, .bytes = 100'000});
  for (int i = 0; i < 50; ++i) inbox.Put(1, Command(10'000));
  EXPECT_EQ(inbox.dropped(), 40U);
  EXPECT_EQ(inbox.TakeAll().size(), 10U);
  EXPECT_TRUE(inbox.empty());
  EXPECT_TRUE(inbox.Put(1, Command(10'000))) << "there is room again";
}

TEST(InboxTest, FullOfMessages_DropsAndCounts) {
  Inbox inbox({.messages = 3, .bytes = 100'000});
  for (int i = 0; i < 5; ++i) inbox.Put(1, StandNow{1});
  EXPECT_EQ(inbox.dropped(), 2U);
  EXPECT_EQ(inbox.TakeAll().size(), 3U);
}

TEST(InboxTest, SnapshotBeyondTheLimit_StillArrives) {
  Inbox inbox({.messages = 1000, .bytes = 100'000});
  EXPECT_TRUE(inbox.Put(1, StandNow{1}));
  EXPECT_TRUE(inbox.Put(1, InstallSnapshot{1, {}, std::string(1'000'000, 'x'), 0}));
  EXPECT_FALSE(inbox.Put(1, StandNow{1}));
}

// 65536 of them are a megabyte on the wire, and some more in memory.
TEST(InboxTest, EntriesWithoutData_CountWithTheirMemory) {
  Inbox inbox({.messages = 1000, .bytes = 100'000});
  Append append;
  append.entries.resize(1000);
  for (int i = 0; i < 50; ++i) inbox.Put(1, append);
  EXPECT_LE(inbox.TakeAll().size(), 100'000 / (1000 * sizeof(Entry)) + 1);
}

}  // namespace
}  // namespace locus::raft
