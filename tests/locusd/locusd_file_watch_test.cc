// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "apps/locusd/reload/file_watch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;
using TimePoint = FileWatch::TimePoint;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class FileWatchTest : public ::testing::Test {
 protected:
  // Whether the kernel told of something, and a file is another one.
  bool Told() {
    pollfd fd = {watch_.fd(), POLLIN, 0};
    if (poll(&fd, 1, 10'000) != 1) return false;
    const TimePoint now{};
    watch_.TakeEvents(now);
    EXPECT_EQ(watch_.due(), now + FileWatch::kQuiet);
    const bool changed = watch_.Look();
    EXPECT_FALSE(watch_.due());
    return changed;
  }

  const TemporaryDirectory directory_;
  const std::string file_ = directory_ / "file";
  FileWatch watch_;
};

TEST_F(FileWatchTest, FileThatIsWrittenReplacedRemovedOrMade_IsTold) {
  Write(file_, "one");
  watch_.Watch({file_});
  EXPECT_FALSE(watch_.Look());
  Write(file_, "other");
  EXPECT_TRUE(Told());
  EXPECT_FALSE(watch_.Look()) << "once";
  // As editors do.
  Write(directory_ / "new", "third");
  fs::rename(directory_ / "new", file_);
  EXPECT_TRUE(Told());
  fs::remove(file_);
  EXPECT_TRUE(Told());
  Write(file_, "fourth");
  EXPECT_TRUE(Told());
  chmod(file_.c_str(), 0600);
  EXPECT_TRUE(Told());
}

TEST_F(FileWatchTest, OtherFilesBesideIt_AreNoChange) {
  Write(file_, "one");
  watch_.Watch({file_});
  Write(directory_ / "other", "x");
  EXPECT_FALSE(Told());
}

// A volume of Kubernetes: file -> ..data/file, ..data -> ..1; an update renames a new ..data.
TEST_F(FileWatchTest, SwapOfADirectoryByItsLink_IsTold) {
  for (const std::string version : {"..1", "..2"}) {
    fs::create_directory(directory_ / version);
    Write(directory_ / version + "/file", "text of " + version);
  }
  fs::create_symlink("..1", directory_ / "..data");
  fs::create_symlink("..data/file", file_);
  watch_.Watch({file_});
  EXPECT_THAT(DirectoriesOf(file_), UnorderedElementsAre(directory_.str(), directory_ / "..1"));
  for (const char* const next : {"..2", "..1", "..2"}) {
    fs::create_symlink(next, directory_ / "..data_tmp");
    fs::rename(directory_ / "..data_tmp", directory_ / "..data");
    EXPECT_TRUE(Told()) << next;
  }
  // The directory to which it leads now is watched as well.
  Write(directory_ / "..2/file", "written in its place");
  EXPECT_TRUE(Told());
}

TEST_F(FileWatchTest, LinkThatIsADirectoryOnTheWay_IsWatched) {
  fs::create_directory(directory_ / "a");
  fs::create_directory(directory_ / "b");
  Write(directory_ / "a/file", "one");
  Write(directory_ / "b/file", "other");
  fs::create_directory_symlink(directory_ / "a", directory_ / "current");
  watch_.Watch({directory_ / "current/file"});
  fs::create_directory_symlink(directory_ / "b", directory_ / "next");
  fs::rename(directory_ / "next", directory_ / "current");
  EXPECT_TRUE(Told());
}

TEST_F(FileWatchTest, DirectoryThatComesLater_IsWatchedFromThen) {
  const std::string late = directory_ / "late";
  watch_.Watch({late + "/file"});
  fs::create_directory(late);
  Write(late + "/file", "one");
  EXPECT_TRUE(watch_.Look()) << "found without being told";
  Write(late + "/file", "other");
  EXPECT_TRUE(Told());
}

TEST_F(FileWatchTest, FilesThatStay_KeepWhatIsKnownOfThem) {
  Write(file_, "one");
  watch_.Watch({file_});
  Write(file_, "other");
  watch_.Watch({file_, directory_ / "second"});
  EXPECT_TRUE(watch_.Look()) << "a change between two calls is not lost";
}

TEST_F(FileWatchTest, WhatHappensAllTheTime_IsLookedAtNevertheless) {
  Write(file_, "one");
  watch_.Watch({file_});
  const TimePoint begin{};
  TimePoint now = begin;
  for (int i = 0; i < 100; ++i) {
    Write(directory_ / "noise", "x");
    watch_.TakeEvents(now);
    now += std::chrono::milliseconds(100);
  }
  EXPECT_EQ(watch_.due(), begin + FileWatch::kLongest);
}

TEST(DirectoriesOfTest, LinksInACircle_End) {
  const TemporaryDirectory directory;
  fs::create_symlink("b", directory / "a");
  fs::create_symlink("a", directory / "b");
  EXPECT_THAT(DirectoriesOf(directory / "a"), ElementsAre(directory.str()));
}

}  // namespace
}  // namespace locus::locusd
