// SPDX-License-Identifier: Apache-2.0
#include "routing/source/writer_patience.h"

#include <chrono>

#include "gtest/gtest.h"

namespace locus {
namespace {

using internal::FileSigns;
using internal::WaitForWriter;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WriterPatienceTest, FinishedFile_IsHardlyWaitedFor) {
  FileSigns replaced{.whole = true, .replaced = true};
  EXPECT_EQ(WaitForWriter(replaced), milliseconds(0));
  FileSigns in_place{.whole = true};
  EXPECT_EQ(WaitForWriter(in_place), milliseconds(100));
  in_place.quiet = milliseconds(100);
  EXPECT_EQ(WaitForWriter(in_place), milliseconds(0));
}

TEST(WriterPatienceTest, UnfinishedFile_IsWaitedForUntilItRests) {
  FileSigns open{.open = true,
                 .whole = true,
                 .replaced = true,
                 .quiet = milliseconds(300),
                 .busy = milliseconds(300)};
  EXPECT_EQ(WaitForWriter(open), milliseconds(700));
  FileSigns half{.quiet = milliseconds(300), .busy = milliseconds(300)};
  EXPECT_EQ(WaitForWriter(half), milliseconds(700));
  half.quiet = milliseconds(1000);
  EXPECT_EQ(WaitForWriter(half), milliseconds(0));
}

// A writer that was stopped between a write and the kernel's word of it: more may come.
TEST(WriterPatienceTest, UnreportedChange_IsWaitedForAsIfOpen) {
  FileSigns unreported{.whole = true, .unreported = true, .quiet = milliseconds(300)};
  EXPECT_EQ(WaitForWriter(unreported), milliseconds(700));
  unreported.quiet = milliseconds(1000);
  EXPECT_EQ(WaitForWriter(unreported), milliseconds(0));
}

TEST(WriterPatienceTest, FileThatNeverRests_IsTakenInTheEnd) {
  FileSigns busy{.open = true, .quiet = milliseconds(1), .busy = milliseconds(9500)};
  EXPECT_EQ(WaitForWriter(busy), milliseconds(500));
  busy.busy = seconds(11);
  EXPECT_EQ(WaitForWriter(busy), milliseconds(0));
}

}  // namespace
}  // namespace locus
