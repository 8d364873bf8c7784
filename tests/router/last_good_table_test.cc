// SPDX-License-Identifier: Apache-2.0
#include "routing/router/last_good_table.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "tests/router/router_follow_fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/traced_child.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {

using internal::CheckLastGoodPlace;
using internal::LastGoodTable;
using internal::LastGoodText;
using internal::ParseLastGoodText;
using internal::ReadLastGoodTable;
using internal::WriteLastGoodTable;

namespace {

using ::testing::HasSubstr;

constexpr char kPlace[] = "memory";

std::string TextOf(const RoutingTable& table) { return LastGoodText(kPlace, table); }

TEST(LastGoodTextTest, PlaceAndTable_ComeBackEqual) {
  for (uint64_t epoch : {uint64_t{1}, uint64_t{77}, RoutingTable::kMaxEpoch}) {
    LastGoodTable read = ParseLastGoodText(TextOf(TableOfEpoch(epoch))).value();
    EXPECT_EQ(read.table, TableOfEpoch(epoch));
    EXPECT_EQ(read.place, kPlace);
  }
  RoutingTable big = TableOfAllRanges(1);
  EXPECT_EQ(ParseLastGoodText(TextOf(big))->table, big);
  for (std::string place :
       {"file /a b/ place=c", "file /\n\"\\\t\x01", "etcd at h:1 key \xC3\xA9"}) {
    EXPECT_EQ(ParseLastGoodText(LastGoodText(place, TableOfEpoch(1)))->place, place);
  }
}

// A program of today writes it, later ones read it.
TEST(LastGoodTextTest, Format_IsFrozen) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h:1"}}).value();
  std::string text = LastGoodText("file /t\n", table);
  EXPECT_EQ(text.substr(0, text.find('\n') + 1),
            "locus last good table 2 xxh64=03278b278fef3394 bytes=148 place=file /t\\n\n");
}

// Files that earlier versions wrote.
std::string TextOfFormatOne(const RoutingTable& table) {
  std::string document = table.ToJson();
  return absl::StrCat("locus last good table 1 xxh64=",
                      absl::Hex(XXH64(document.data(), document.size(), 0), absl::kZeroPad16),
                      " bytes=", document.size(), "\n", document);
}

TEST(LastGoodTextTest, FormatOne_IsReadWithoutAPlace) {
  RoutingTable table = RoutingTable::MakeEven({{"a", "h:1"}}).value();
  std::string text = TextOfFormatOne(table);
  EXPECT_EQ(text.substr(0, text.find('\n') + 1),
            "locus last good table 1 xxh64=4f6dec633b480e0f bytes=148\n");
  LastGoodTable read = ParseLastGoodText(text).value();
  EXPECT_EQ(read.table, table);
  EXPECT_EQ(read.place, "");
  absl::Status place = CheckLastGoodPlace("/f", read, "memory");
  EXPECT_TRUE(absl::IsFailedPrecondition(place)) << place;
  text.back() = ' ';
  EXPECT_TRUE(absl::IsDataLoss(ParseLastGoodText(text).status()));
}

TEST(LastGoodTextTest, PlaceOfAnotherSource_IsRefusedNamingBoth) {
  LastGoodTable kept = {"etcd at staging", TableOfEpoch(40)};
  EXPECT_TRUE(CheckLastGoodPlace("/f", kept, "etcd at staging").ok());
  absl::Status status = CheckLastGoodPlace("/f", kept, "etcd at production");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("etcd at staging"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("etcd at production"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"/f\" (epoch 40)"));
}

TEST(LastGoodTextTest, CutAnywhere_IsDataLoss) {
  std::string text = TextOf(TableOfEpoch(3));
  for (size_t size = 0; size < text.size(); ++size) {
    absl::Status status = ParseLastGoodText(text.substr(0, size)).status();
    ASSERT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
  }
}

TEST(LastGoodTextTest, AnyByteChangedOrAdded_IsDataLoss) {
  std::string text = TextOf(TableOfEpoch(3));
  for (size_t i = 0; i < text.size(); ++i) {
    for (char flip : {char{1}, char{32}, static_cast<char>(128)}) {
      std::string changed = text;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      bool later = changed.starts_with("locus last good table 3 ");
      ASSERT_EQ(ParseLastGoodText(changed).status().code(),
                later ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss)
          << "byte " << i;
    }
    std::string longer = text;
    longer.insert(i, 1, '0');
    bool later = longer.starts_with("locus last good table 20 ");
    ASSERT_EQ(ParseLastGoodText(longer).status().code(),
              later ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kDataLoss)
        << "byte " << i;
  }
  EXPECT_TRUE(absl::IsDataLoss(ParseLastGoodText(text + "\n").status()));
}

TEST(LastGoodTextTest, Damage_IsNamed) {
  std::string text = TextOf(TableOfEpoch(3));
  auto why = [](std::string damaged) {
    return std::string(ParseLastGoodText(damaged).status().message());
  };
  EXPECT_EQ(why(""), "it does not begin like a last-good table");
  EXPECT_EQ(why("locus last good table 0 xxh64=0 bytes=0\n"), "its header names no format");
  EXPECT_EQ(why(text.substr(0, 40)), "its header has no end");
  EXPECT_THAT(why(text.substr(0, text.size() - 1)), HasSubstr(", its header says "));
  text.back() = ' ';
  EXPECT_EQ(why(text), "its checksum does not match its contents");
}

TEST(LastGoodTextTest, LaterFormat_IsNamedWithAnyRest) {
  for (const char* text :
       {"locus last good table 3 xxh64=0 bytes=0\n", "locus last good table 3 "}) {
    EXPECT_EQ(ParseLastGoodText(text).status(),
              absl::FailedPreconditionError(
                  "it has format 3; this version of locus reads formats up to 2"));
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
  EXPECT_EQ(status.message(),
            "\"" + file_ + "\": it has format 12; this version of locus reads formats up to 2");
}

TEST_F(LastGoodFileTest, NoRegularFile_IsRefusedWithoutWaiting) {
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadLastGoodTable(directory_.str()).status()));
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(ReadLastGoodTable(file_).status()));
}

TEST_F(LastGoodFileTest, Written_HasTheModeOfTheUmaskAndLeavesNothingBeside) {
  mode_t before = umask(027);
  absl::Status written = WriteLastGoodTable(file_, kPlace, TableOfEpoch(1));
  umask(before);
  ASSERT_TRUE(written.ok()) << written;
  struct stat file;
  ASSERT_EQ(stat(file_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0640u);
  ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(2)).ok());
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(LastGoodFileTest, NoRegularFile_IsNotReplaced) {
  auto expect_refused = [](const std::string& path) {
    absl::Status status = WriteLastGoodTable(path, kPlace, TableOfEpoch(1));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path + "\" is not a regular file"));
  };
  ASSERT_EQ(mkfifo(file_.c_str(), 0600), 0);
  const std::string link = directory_ / "link";
  ASSERT_EQ(symlink("table", link.c_str()), 0);
  expect_refused(file_);
  expect_refused(link);
  expect_refused(directory_.str());
  ASSERT_TRUE(std::filesystem::is_fifo(file_));
}

TEST_F(LastGoodFileTest, FileOfOtherContents_IsNotReplaced) {
  for (std::string text : {"x", "locus last good tables are fine\n", "{\"epoch\": 1}"}) {
    std::ofstream(file_) << text;
    absl::Status status = WriteLastGoodTable(file_, kPlace, TableOfEpoch(1));
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(file_ + "\" does not begin like"));
    std::ostringstream after;
    after << std::ifstream(file_).rdbuf();
    EXPECT_EQ(after.str(), text);
  }
  for (std::string text :
       {"", "locus last good table 12 of days to come\n", "locus last good table 1 damaged"}) {
    std::ofstream(file_) << text;
    ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(3)).ok());
    EXPECT_EQ(ReadLastGoodTable(file_)->table.epoch(), 3u);
  }
}

TEST_F(LastGoodFileTest, SymbolicLink_StaysAndItsTargetIsReplaced) {
  ASSERT_EQ(mkdir((directory_ / "there").c_str(), 0755), 0);
  ASSERT_EQ(symlink("there/table", file_.c_str()), 0);
  for (uint64_t epoch : {1, 2}) {  // dangling at first
    absl::Status written = WriteLastGoodTable(file_, kPlace, TableOfEpoch(epoch));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_TRUE(std::filesystem::is_symlink(file_));
    EXPECT_EQ(ReadLastGoodTable(directory_ / "there/table")->table.epoch(), epoch);
  }
}

TEST_F(LastGoodFileTest, NoDirectory_FailsAndNamesTheFile) {
  absl::Status status = WriteLastGoodTable(directory_ / "none/table", kPlace, TableOfEpoch(1));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("none/table"));
}

TEST_F(LastGoodFileTest, NoRoomToWrite_LeavesTheTableBeforeAndNothingBeside) {
  ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(1)).ok());
  ChildProcess writer([&] {
    rlimit room = {100, 100};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &room) != 0) return 1;
    return WriteLastGoodTable(file_, kPlace, TableOfEpoch(2)).ok() ? 2 : 0;
  });
  EXPECT_EQ(writer.Wait(), 0);
  EXPECT_EQ(ReadLastGoodTable(file_)->table.epoch(), 1u);
  EXPECT_EQ(FilesHere(), 1);
}

TEST_F(LastGoodFileTest, KilledWhileWriting_LeavesAWholeTable) {
  ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(1)).ok());
  std::vector<VnodeRange> ranges;  // for a document that is not written in one go
  for (uint16_t last = 0; last < 2000; ++last) ranges.push_back({last, 1u + last % 3});
  RoutingTable big = RoutingTable::Make(2, TableOfEpoch(2).shards(), ranges).value();
  uint64_t last = 1;
  for (int i = 0; i < 5; ++i) {
    ChildProcess writer([&] {
      while (true) {
        if (!WriteLastGoodTable(file_, kPlace, TableOfEpoch(1)).ok()) return 1;
        if (!WriteLastGoodTable(file_, kPlace, big).ok()) return 1;
      }
    });
    // Killed only once it has got to writing.
    ASSERT_TRUE(WaitUntil([&] {
      absl::StatusOr<LastGoodTable> table = ReadLastGoodTable(file_);
      EXPECT_TRUE(table.ok()) << table.status();
      return !table.ok() || table->table.epoch() != last;
    }));
    writer.Kill(SIGKILL);
    EXPECT_EQ(writer.Wait(), -SIGKILL);
    absl::StatusOr<LastGoodTable> table = ReadLastGoodTable(file_);
    ASSERT_TRUE(table.ok()) << table.status();
    EXPECT_EQ(table->table, table->table.epoch() == 1 ? TableOfEpoch(1) : big);
    last = table->table.epoch();
  }
}

TEST_F(LastGoodFileTest, KilledAtAnySystemCall_TheNextWriterLeavesNothingBeside) {
  ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(1)).ok());
  int left_something = 0;
  for (int stop = 1;; ++stop) {
    TracedChild writer(
        [&] { return WriteLastGoodTable(file_, kPlace, TableOfEpoch(2)).ok() ? 0 : 1; });
    if (!writer.RunForStops(stop)) break;
    writer.Kill();
    left_something += FilesHere() > 1;
    absl::Status written = WriteLastGoodTable(file_, kPlace, TableOfEpoch(3));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(FilesHere(), 1) << stop;
    EXPECT_EQ(ReadLastGoodTable(file_)->table.epoch(), 3u);
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
    TracedChild writer(
        [&] { return WriteLastGoodTable(file_, kPlace, TableOfEpoch(2)).ok() ? 0 : 1; });
    ended = !writer.RunForStops(stop);
    absl::Status written = WriteLastGoodTable(file_, kPlace, TableOfEpoch(3));
    ASSERT_TRUE(written.ok()) << written;
    EXPECT_EQ(writer.Finish(), 0) << stop;
    EXPECT_TRUE(ReadLastGoodTable(file_).ok());
    ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(4)).ok());
    EXPECT_EQ(FilesHere(), 1) << stop;
  }
}

TEST_F(LastGoodFileTest, FileThatNoWriterMade_Stays) {
  ASSERT_EQ(mkdir((file_ + ".locus-0.tmp").c_str(), 0755), 0);
  ASSERT_EQ(symlink("elsewhere", (file_ + ".locus-1.tmp").c_str()), 0);
  ASSERT_EQ(mkfifo((file_ + ".locus-2.tmp").c_str(), 0600), 0);
  ASSERT_TRUE(WriteLastGoodTable(file_, kPlace, TableOfEpoch(1)).ok());
  EXPECT_EQ(FilesHere(), 4);
}

}  // namespace
}  // namespace locus
