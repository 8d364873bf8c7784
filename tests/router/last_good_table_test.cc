// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_table.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "tests/router/router_follow_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/traced_child.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using Kind = RouterEvent::Kind;
using Source = RouterStats::Source;

TEST(LastGoodTextTest, Table_ComesBackEqual) {
  for (uint64_t epoch : {uint64_t{1}, uint64_t{77}, RoutingTable::kMaxEpoch}) {
    EXPECT_EQ(ParseLastGoodText(LastGoodText(TableOfEpoch(epoch))).value(), TableOfEpoch(epoch));
  }
  RoutingTable big = TableOfAllRanges(1);
  EXPECT_EQ(ParseLastGoodText(LastGoodText(big)).value(), big);
}

// Written by a program of today, read by those to come.
TEST(LastGoodTextTest, Format_IsFrozen) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h:1"}}).value();
  EXPECT_EQ(LastGoodText(table).substr(0, LastGoodText(table).find('\n') + 1),
            "locus last good table 1 xxh64=4f6dec633b480e0f bytes=148\n");
}

TEST(LastGoodTextTest, CutAnywhere_IsDataLoss) {
  std::string text = LastGoodText(TableOfEpoch(3));
  for (size_t size = 0; size < text.size(); ++size) {
    absl::Status status = ParseLastGoodText(text.substr(0, size)).status();
    ASSERT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
  }
}

TEST(LastGoodTextTest, AnyByteChangedOrAdded_IsDataLoss) {
  std::string text = LastGoodText(TableOfEpoch(3));
  for (size_t i = 0; i < text.size(); ++i) {
    for (char flip : {char{1}, char{32}, static_cast<char>(128)}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      ASSERT_TRUE(absl::IsDataLoss(ParseLastGoodText(changed).status())) << "byte " << i;
    }
    std::string longer = text;
    longer.insert(i, 1, '0');
    bool later = longer.starts_with("locus last good table 10 ");
    ASSERT_EQ(ParseLastGoodText(longer).status().code(),
              later ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss)
        << "byte " << i;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseLastGoodText(text + "\n").status()));
}

TEST(LastGoodTextTest, Damage_IsNamed) {
  std::string text = LastGoodText(TableOfEpoch(3));
  auto why = [](std::string damaged) {
    return std::string(ParseLastGoodText(damaged).status().message());
  };
  EXPECT_EQ(why(""), "it does not begin as a last good table");
  EXPECT_EQ(why("locus last good table 0 xxh64=0 bytes=0\n"), "its header names no format");
  EXPECT_EQ(why(text.substr(0, 40)), "its header has no end");
  EXPECT_THAT(why(text.substr(0, text.size() - 1)), HasSubstr(", its header says "));
  text.back() = ' ';
  EXPECT_EQ(why(text), "its checksum does not fit its document");
}

TEST(LastGoodTextTest, LaterFormat_IsNamedWhateverFollows) {
  for (const char* text :
       {"locus last good table 2 xxh64=0 bytes=0\n", "locus last good table 2 "}) {
    EXPECT_EQ(ParseLastGoodText(text).status(),
              absl::FailedPreconditionError("it is of format 2; this locus reads format 1"));
  }
}

class LastGoodFileTest : public RouterFollowTest {
 protected:
  long FilesHere() {  // NOLINT: as std::distance has it
    std::filesystem::directory_iterator files(directory_.str());
    return std::distance(begin(files), end(files));
  }

  const std::string file_ = directory_ / "table";
};

TEST_F(LastGoodFileTest, MissingFile_IsNotFoundDamagedIsDataLossNamingIt) {
  EXPECT_TRUE(absl::IsNotFound(ReadLastGoodTable(file_).status()));
  EXPECT_TRUE(absl::IsNotFound(ReadLastGoodTable(directory_ / "none/table").status()));
  std::ofstream(file_).flush();
  absl::Status status = ReadLastGoodTable(file_).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file_));
}

TEST_F(LastGoodFileTest, LaterFormat_IsNotCalledDamaged) {
  std::ofstream(file_) << "locus last good table 12 of days to come\n";
  absl::Status status = ReadLastGoodTable(file_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message(), "\"" + file_ + "\": it is of format 12; this locus reads format 1");
}

TEST_F(LastGoodFileTest, NoRegularFile_IsRefusedWithoutWaiting) {
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadLastGoodTable(directory_.str()).status()));
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadLastGoodTable(file_).status()));
}

TEST_F(LastGoodFileTest, Written_HasTheModeOfTheUmaskAndLeavesNothingBeside) {
  mode_t before = umask(027);
  absl::Status written = WriteLastGoodTable(file_, TableOfEpoch(1));
  umask(before);
  ASSERT_TRUE(written.ok()) << written;
  struct stat file;
  ASSERT_EQ(stat(file_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0640u);
  ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(2)).ok());
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(LastGoodFileTest, SymbolicLink_StaysAndItsTargetIsReplaced) {
  ASSERT_EQ(mkdir((directory_ / "there").c_str(), 0755), 0);
  ASSERT_EQ(symlink("there/table", file_.c_str()), 0);
  for (uint64_t epoch : {1, 2}) {  // dangling at first
    absl::Status written = WriteLastGoodTable(file_, TableOfEpoch(epoch));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_TRUE(std::filesystem::is_symlink(file_));
    EXPECT_EQ(ReadLastGoodTable(directory_ / "there/table")->epoch(), epoch);
  }
}

TEST_F(LastGoodFileTest, NoDirectory_FailsAndNamesTheFile) {
  absl::Status status = WriteLastGoodTable(directory_ / "none/table", TableOfEpoch(1));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("none/table"));
}

TEST_F(LastGoodFileTest, NoRoomToWrite_LeavesTheTableBeforeAndNothingBeside) {
  ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(1)).ok());
  ChildProcess writer([&] {
    rlimit room = {100, 100};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &room) != 0) return 1;
    return WriteLastGoodTable(file_, TableOfEpoch(2)).ok() ? 2 : 0;
  });
  EXPECT_EQ(writer.Wait(), 0);
  EXPECT_EQ(ReadLastGoodTable(file_)->epoch(), 1u);
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(LastGoodFileTest, KilledWhileWriting_LeavesAWholeTable) {
  ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(1)).ok());
  std::vector<VnodeRange> ranges;  // for a document that is not written in one go
  for (uint16_t last = 0; last < 2000; ++last) ranges.push_back({last, 1u + last % 3});
  RoutingTable big = RoutingTable::Make(2, TableOfEpoch(2).shards(), ranges).value();
  uint64_t last = 1;
  for (int i = 0; i < 5; ++i) {
    ChildProcess writer([&] {
      while (true) {
        if (!WriteLastGoodTable(file_, TableOfEpoch(1)).ok()) return 1;
        if (!WriteLastGoodTable(file_, big).ok()) return 1;
      }
    });
    // Killed only once it has got to writing.
    ASSERT_TRUE(WaitUntil([&] {
      absl::StatusOr<RoutingTable> table = ReadLastGoodTable(file_);
      EXPECT_TRUE(table.ok()) << table.status();
      return !table.ok() || table->epoch() != last;
    }));
    writer.Kill(SIGKILL);
    EXPECT_EQ(writer.Wait(), -SIGKILL);
    absl::StatusOr<RoutingTable> table = ReadLastGoodTable(file_);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(*table, table->epoch() == 1 ? TableOfEpoch(1) : big);
    last = table->epoch();
  }
}

TEST_F(LastGoodFileTest, KilledAtAnySystemCall_TheNextWriterLeavesNothingBeside) {
  ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(1)).ok());
  int left_something = 0;
  for (int stop = 1;; ++stop) {
    TracedChild writer([&] { return WriteLastGoodTable(file_, TableOfEpoch(2)).ok() ? 0 : 1; });
    if (!writer.RunForStops(stop)) break;
    writer.Kill();
    left_something += FilesHere() > 1;
    absl::Status written = WriteLastGoodTable(file_, TableOfEpoch(3));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(FilesHere(), 1) << stop;
    EXPECT_EQ(ReadLastGoodTable(file_)->epoch(), 3u);
  }
  EXPECT_GT(left_something, 3);
}

// Each wherever it stands: also between making its file and locking it, and while it removes what a
// third one left.
TEST_F(LastGoodFileTest, TwoWritersAtOnce_NeitherLosesItsFile) {
  bool ended = false;
  for (int stop = 1; !ended; ++stop) {
    std::ofstream(file_ + ".locus-0.tmp") << "left";
    std::ofstream(file_ + ".locus-2.tmp") << "left";
    TracedChild writer([&] { return WriteLastGoodTable(file_, TableOfEpoch(2)).ok() ? 0 : 1; });
    ended = !writer.RunForStops(stop);
    absl::Status written = WriteLastGoodTable(file_, TableOfEpoch(3));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(writer.Finish(), 0) << stop;
    EXPECT_TRUE(ReadLastGoodTable(file_).ok());
    ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(4)).ok());
    EXPECT_EQ(FilesHere(), 1) << stop;
  }
}

TEST_F(LastGoodFileTest, WhatIsNoFileOfAWriter_Stays) {
  ASSERT_EQ(mkdir((file_ + ".locus-0.tmp").c_str(), 0755), 0);
  ASSERT_EQ(symlink("elsewhere", (file_ + ".locus-1.tmp").c_str()), 0);
  ASSERT_EQ(mkfifo((file_ + ".locus-2.tmp").c_str(), 0600), 0);
  ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(1)).ok());
  EXPECT_EQ(FilesHere(), 4);
}

class LastGoodRouterTest : public RouterFollowTest {
 protected:
  LastGoodRouterTest() {
    options_.last_good_file = file_;
    options_.open_timeout = absl::ZeroDuration();
    options_.longest_pause = absl::Milliseconds(50);
  }
  uint64_t EpochInFile() const {
    absl::StatusOr<RoutingTable> table = ReadLastGoodTable(file_);
    return table.ok() ? table->epoch() : 0;
  }

  const std::string file_ = directory_ / "last-good";
};

TEST_F(LastGoodRouterTest, EachInstall_IsWritten) {
  Put(1);
  std::unique_ptr<Router> router = Open();
  EXPECT_EQ(EpochInFile(), 1u);
  for (uint64_t epoch : {2, 3}) {
    Put(epoch);
    EXPECT_TRUE(WaitUntil([&] { return EpochInFile() == epoch; }));
  }
  EXPECT_TRUE(router->Stats().last_good_error.ok());
}

TEST_F(LastGoodRouterTest, SourceDownAtTheStart_BeginsFromTheFileAndSaysSo) {
  Put(7);
  Open();
  at_first_ = absl::UnavailableError("memory: down");
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  RouterStats stats = router->Stats();
  EXPECT_TRUE(stats.from_last_good_file);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_EQ(stats.age, absl::InfiniteDuration());
  EXPECT_EQ(stats.source, Source::kFailing);
  RouterEvent told = events_.all().back();
  EXPECT_EQ(told.kind, Kind::kStartedFromFile);
  EXPECT_EQ(told.epoch, 7u);
  EXPECT_EQ(told.status, at_first_);

  source_->Heal();
  EXPECT_TRUE(WaitUntil([&] { return !router->Stats().from_last_good_file; })) << "not confirmed";
  stats = router->Stats();
  EXPECT_EQ(stats.epoch, 7u);
  EXPECT_EQ(stats.installs, 1u);
  EXPECT_LT(stats.age, absl::Minutes(1));
}

TEST_F(LastGoodRouterTest, SourceNewerThanTheFile_IsInstalled) {
  Put(7);
  Open();
  Put(8);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 8);
  EXPECT_FALSE(router->Stats().from_last_good_file);
  EXPECT_EQ(router->Stats().installs, 1u);
  EXPECT_EQ(EpochInFile(), 8u);
  EXPECT_EQ(events_.Count(Kind::kStartedFromFile), 0);
}

TEST_F(LastGoodRouterTest, SourceOlderOrBadAtTheStart_IsRefusedAndTheFileUsed) {
  Put(7);
  Open();
  for (const std::string& document : {TableOfEpoch(6).ToJson(), std::string("no table")}) {
    place_->Put(document);
    std::unique_ptr<Router> router = Open();
    ExpectInForce(*router, 7);
    RouterStats stats = router->Stats();
    EXPECT_TRUE(stats.from_last_good_file);
    EXPECT_EQ(stats.refusals, 1u);
    EXPECT_EQ(stats.source, Source::kFollowing);
    EXPECT_EQ(events_.all().back().kind, Kind::kStartedFromFile);
    Put(9);
    ASSERT_TRUE(Reaches(*router, 9));
    EXPECT_FALSE(router->Stats().from_last_good_file);
    ASSERT_TRUE(WaitUntil([&] { return EpochInFile() == 9; }));
    ASSERT_TRUE(WriteLastGoodTable(file_, TableOfEpoch(7)).ok());
  }
}

TEST_F(LastGoodRouterTest, DamagedFile_IsDataLossOnlyWhereTheSourceFails) {
  Put(7);
  Open();
  ASSERT_EQ(truncate(file_.c_str(), 100), 0);
  at_first_ = absl::UnavailableError("memory: down");
  absl::Status status = TryOpen().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(file_));
  EXPECT_THAT(std::string(status.message()), HasSubstr("memory: down"));
  at_first_ = absl::OkStatus();
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 7);
  EXPECT_TRUE(router->Stats().last_good_error.ok());
  EXPECT_EQ(EpochInFile(), 7u) << "written anew";
}

TEST_F(LastGoodRouterTest, FileThatCannotBeWritten_StopsNothingAndIsTriedAgain) {
  options_.last_good_file = directory_ / "missing/last-good";
  options_.confirm_every = absl::Milliseconds(100);
  Put(1);
  std::unique_ptr<Router> router = Open();
  ExpectInForce(*router, 1);
  EXPECT_FALSE(router->Stats().last_good_error.ok());
  Put(2);
  ASSERT_TRUE(Reaches(*router, 2));
  EXPECT_THAT(events_.kinds(), ::testing::Contains(Kind::kLastGoodFileFailed));
  ASSERT_EQ(mkdir((directory_ / "missing").c_str(), 0755), 0);
  ASSERT_TRUE(WaitUntil([&] { return router->Stats().last_good_error.ok(); }));
  EXPECT_EQ(ReadLastGoodTable(options_.last_good_file)->epoch(), 2u);
}

}  // namespace
}  // namespace locus
