// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "locus/routing/routing_table.h"
#include "tests/support/child_process.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace {

std::atomic<bool> no_inotify = false;
std::atomic<int> inotify_asked = 0;

}  // namespace

// In the place of the library's: that a user has no instances left cannot be brought about without
// taking them from other processes.
extern "C" int inotify_init1(int flags) noexcept {
  ++inotify_asked;
  if (!no_inotify) return static_cast<int>(syscall(SYS_inotify_init1, flags));
  errno = EMFILE;
  return -1;
}

namespace locus {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Every shard says the epoch, so that a mixture of two shows. All of one length below epoch 10^6.
std::string Document(uint64_t epoch) {
  epoch += 100000;
  std::vector<Shard> shards(300);
  for (uint32_t i = 0; i < shards.size(); ++i) {
    shards[i] = {
        i + 1, absl::StrCat("shard-", i), absl::StrCat("x://", epoch, "/", 1000 + i), 100, {}};
  }
  return RoutingTable::Make(epoch, shards, {{65535, 1}}).value().ToJson();
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text << std::flush;
}

void Replace(const std::string& path, const std::string& text) {
  Write(path + ".tmp", text);
  fs::rename(path + ".tmp", path);
}

class FileTableSourceTest : public ::testing::Test {
 protected:
  void Follow(const std::string& path) {
    source_ = FileTableSource::Open(path).value();
    known_.clear();
  }

  auto NextWithin(std::chrono::milliseconds wait) {
    return source_->Next(known_, std::chrono::steady_clock::now() + wait);
  }

  // The news, which must come long before anybody looks for it unasked.
  std::string News() {
    auto next = NextWithin(seconds(60));
    if (!next.ok()) return next.status().ToString();
    if (!*next) return "no news";
    EXPECT_NE((*next)->version, known_);
    EXPECT_NE((*next)->version, "");
    known_ = (*next)->version;
    return (*next)->document;
  }

  std::string NoNews(std::chrono::milliseconds wait = milliseconds(50)) {
    auto next = NextWithin(wait);
    if (!next.ok()) return next.status().ToString();
    return *next ? (*next)->document : "no news";
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "table.json";
  std::unique_ptr<FileTableSource> source_;
  std::string known_;
};

TEST_F(FileTableSourceTest, DocumentThatIsThere_IsReturnedAtOnce) {
  Write(path_, Document(1));
  Follow(path_);
  EXPECT_EQ(source_->place(), "file " + path_);
  EXPECT_EQ(News(), Document(1));
  EXPECT_EQ(NoNews(), "no news");
  known_.clear();
  EXPECT_EQ(News(), Document(1)) << "a caller without a version gets it again";
  known_ = "of another source";
  EXPECT_EQ(News(), Document(1));
}

TEST_F(FileTableSourceTest, NothingThere_IsNotFoundUntilItComes) {
  Follow(path_);
  auto next = NextWithin(seconds(60));
  EXPECT_TRUE(absl::IsNotFound(next.status())) << next.status();
  EXPECT_THAT(std::string(next.status().message()), HasSubstr(path_));
  Replace(path_, Document(1));
  EXPECT_EQ(News(), Document(1));
}

TEST_F(FileTableSourceTest, DirectoryMissing_IsNotFoundUntilItComes) {
  std::string path = directory_ / "a/b/table.json";
  Follow(path);
  EXPECT_TRUE(absl::IsNotFound(NextWithin(seconds(60)).status()));
  fs::create_directories(directory_ / "a/b");
  EXPECT_TRUE(absl::IsNotFound(NextWithin(seconds(60)).status()));
  Write(path, Document(1));
  EXPECT_EQ(News(), Document(1));
}

TEST_F(FileTableSourceTest, PathThatIsNoFile_IsRefused) {
  mkfifo(path_.c_str(), 0600);
  Follow(path_);
  auto fifo = NextWithin(seconds(60));
  EXPECT_TRUE(absl::IsFailedPrecondition(fifo.status())) << fifo.status();
  Follow(directory_.str());
  EXPECT_TRUE(absl::IsFailedPrecondition(NextWithin(seconds(60)).status()));
  fs::create_symlink("loop", directory_ / "loop");
  Follow(directory_ / "loop");
  EXPECT_TRUE(absl::IsFailedPrecondition(NextWithin(seconds(60)).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FileTableSource::Open("").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FileTableSource::Open(std::string("a\0b", 3)).status()));
}

TEST_F(FileTableSourceTest, TooLong_IsRefusedWithBothLengths) {
  Write(path_, "{}");
  fs::resize_file(path_, TableSource::kMaxDocumentBytes + 1);
  Follow(path_);
  auto next = NextWithin(seconds(60));
  EXPECT_TRUE(absl::IsFailedPrecondition(next.status())) << next.status();
  EXPECT_THAT(std::string(next.status().message()),
              HasSubstr(std::to_string(TableSource::kMaxDocumentBytes + 1)));
  EXPECT_THAT(std::string(next.status().message()),
              HasSubstr(std::to_string(TableSource::kMaxDocumentBytes)));
}

TEST_F(FileTableSourceTest, LookNow_AnswersAtOnce) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  source_->LookNow();
  EXPECT_EQ(NoNews(std::chrono::hours(1)), "no news");
  std::thread other([this] { source_->LookNow(); });
  EXPECT_EQ(NoNews(std::chrono::hours(1)), "no news");
  other.join();
}

TEST_F(FileTableSourceTest, LookNowWhileItChangesAllTheTime_IsAnsweredAllTheSame) {
  // As long as may be, so that it changes while it is read.
  std::string document = Document(1);
  document.resize(TableSource::kMaxDocumentBytes, ' ');
  Write(path_, document);
  Follow(path_);
  News();
  std::atomic<bool> answered = false;
  std::thread touching([&] {
    while (!answered) utimensat(AT_FDCWD, path_.c_str(), nullptr, 0);
  });
  std::thread asking([&] {
    EXPECT_EQ(NoNews(std::chrono::hours(1)), "no news");
    answered = true;
  });
  source_->LookNow();
  EXPECT_TRUE(WaitUntil([&] { return answered.load(); }));
  answered = true;
  source_->LookNow();
  touching.join();
  asking.join();
}

TEST_F(FileTableSourceTest, NoDeadline_IsWaitedForAsLongAsItTakes) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  std::thread writer([this] { Write(path_, Document(2)); });
  auto next = source_->Next(known_, TableSource::TimePoint::max());
  writer.join();
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->value().document, Document(2));
}

// Whether a process waits for something.
bool Sleeps(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string stat(std::istreambuf_iterator<char>(file), {});
  size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.compare(name_end, 3, ") S") == 0;
}

// As a user that may enter the directory but not list it: the kernel reports no change there to it.
TEST_F(FileTableSourceTest, DirectoryThatMayNotBeWatched_IsLookedAtFromTimeToTime) {
  fs::create_directory(directory_ / "closed");
  std::string path = directory_ / "closed/table.json";
  Write(path, Document(1));
  ASSERT_EQ(chmod(directory_.str().c_str(), 0711), 0);
  ASSERT_EQ(chmod((directory_ / "closed").c_str(), 0311), 0);
  int said[2];
  ASSERT_EQ(pipe(said), 0);
  constexpr uint64_t kLast = 4;
  ChildProcess reader([&] {
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1;
    // It must be as this test says.
    if (open((directory_ / "closed").c_str(), O_RDONLY | O_DIRECTORY) >= 0) return 2;
    Follow(path);
    for (uint64_t epoch = 1; epoch <= kLast; ++epoch) {
      if (News() != Document(epoch)) return static_cast<int>(10 + epoch);
      if (NoNews() != "no news") return 3;
      pid_t self = getpid();
      if (write(said[1], &self, sizeof self) != sizeof self) return 4;
    }
    source_->LookNow();
    return NoNews(std::chrono::hours(1)) == "no news" ? 0 : 5;
  });
  close(said[1]);
  for (uint64_t epoch = 2; epoch <= kLast + 1; ++epoch) {
    pid_t pid;
    ASSERT_EQ(read(said[0], &pid, sizeof pid), ssize_t{sizeof pid}) << "exit " << reader.Wait();
    if (epoch > kLast) break;
    ASSERT_TRUE(WaitUntil([&] { return Sleeps(pid); })) << "it does not wait for news";
    if (epoch % 2 == 0) {
      Replace(path, Document(epoch));
    } else {
      Write(path, Document(epoch));
    }
  }
  EXPECT_EQ(reader.Wait(), 0);
  close(said[0]);
}

TEST_F(FileTableSourceTest, NoInotifyInstanceLeft_IsLookedAtFromTimeToTimeUntilThereIsOne) {
  no_inotify = true;
  Write(path_, Document(1));
  Follow(path_);
  EXPECT_EQ(News(), Document(1));
  for (uint64_t epoch = 2; epoch <= 3; ++epoch) {
    std::thread writer([&, asked = inotify_asked.load()] {
      EXPECT_TRUE(WaitUntil([&] { return inotify_asked > asked + 2; })) << "it looks no more";
      Replace(path_, Document(epoch));
    });
    EXPECT_EQ(News(), Document(epoch));
    writer.join();
  }
  no_inotify = false;
  EXPECT_EQ(NoNews(), "no news");
  int asked = inotify_asked;
  Replace(path_, Document(4));
  EXPECT_EQ(News(), Document(4));
  EXPECT_EQ(NoNews(), "no news");
  EXPECT_EQ(inotify_asked, asked) << "it has one";
}

TEST_F(FileTableSourceTest, EachWayToReplaceIt_IsNews) {
  Write(path_, Document(1));
  Follow(path_);
  EXPECT_EQ(News(), Document(1));
  Replace(path_, Document(2));
  EXPECT_EQ(News(), Document(2));
  Write(path_, Document(3));
  EXPECT_EQ(News(), Document(3)) << "in place";
  fs::remove(path_);
  std::thread editor([this] { Write(path_, Document(4)); });
  EXPECT_EQ(News(), Document(4)) << "editors delete and make anew";
  editor.join();
  Write(directory_ / "other", Document(5));
  fs::remove(path_);
  fs::create_hard_link(directory_ / "other", path_);
  EXPECT_EQ(News(), Document(5));
  std::string sed = absl::StrCat("sed -i s/100005/100006/ ", path_);
  ASSERT_EQ(std::system(sed.c_str()), 0);
  EXPECT_EQ(News(), Document(6));
  Write(path_ + "~", Document(7));
  fs::rename(path_, path_ + ".bak");
  fs::rename(path_ + "~", path_);
  EXPECT_EQ(News(), Document(7));
  // Looks only at the last document, not at the steps.
  Replace(path_, Document(8));
  Write(path_, Document(9));
  EXPECT_EQ(News(), Document(9));
}

TEST_F(FileTableSourceTest, SameContentsWrittenAgain_AreNoNews) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  Replace(path_, Document(1));
  EXPECT_EQ(NoNews(), "no news");
  fs::last_write_time(path_, fs::file_time_type::clock::now());
  EXPECT_EQ(NoNews(), "no news");
  Write(path_, Document(2));
  Write(path_, Document(1));
  EXPECT_EQ(NoNews(), "no news");
}

TEST_F(FileTableSourceTest, ChangedBetweenCalls_IsNewsToTheNextCall) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  // More than the kernel queues.
  for (int i = 0; i < 12000; ++i) {
    std::string name = directory_ / absl::StrCat("other", i);
    Write(name, "");
    fs::remove(name);
  }
  Replace(path_, Document(2));
  EXPECT_EQ(News(), Document(2));
  Replace(path_, Document(3));
  EXPECT_EQ(News(), Document(3)) << "still told";
}

TEST_F(FileTableSourceTest, Vanished_IsNotFoundAfterAWhile) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  fs::remove(path_);
  EXPECT_TRUE(absl::IsNotFound(NextWithin(seconds(60)).status()));
  EXPECT_TRUE(absl::IsNotFound(NextWithin(milliseconds(0)).status()));
  Write(path_, Document(1));
  EXPECT_EQ(NoNews(), "no news") << "it is back as it was";
}

// As the kubelet updates a mounted ConfigMap.
TEST_F(FileTableSourceTest, ConfigMapSwapped_IsNews) {
  fs::create_directory(directory_ / "..2026_1");
  Write(directory_ / "..2026_1/table.json", Document(1));
  fs::create_directory_symlink("..2026_1", directory_ / "..data");
  fs::create_symlink("..data/table.json", path_);
  Follow(path_);
  EXPECT_EQ(News(), Document(1));
  for (uint64_t i = 2; i < 20; ++i) {
    std::string name = absl::StrCat("..2026_", i);
    fs::create_directory(directory_ / name);
    Write(directory_ / (name + "/table.json"), Document(i));
    fs::create_directory_symlink(name, directory_ / "..data_tmp");
    fs::rename(directory_ / "..data_tmp", directory_ / "..data");
    fs::remove_all(directory_ / absl::StrCat("..2026_", i - 1));
    EXPECT_EQ(News(), Document(i));
  }
}

TEST_F(FileTableSourceTest, DirectoriesExchanged_AreNews) {
  for (const char* name : {"a", "b", "c"}) fs::create_directories(directory_ / name + "/x");
  Write(directory_ / "a/x/table.json", Document(1));
  Write(directory_ / "b/x/table.json", Document(2));
  Write(directory_ / "c/x/table.json", Document(3));
  fs::create_directory_symlink(directory_ / "a", directory_ / "current");
  Follow(directory_ / "current/x/../x/./table.json");
  EXPECT_EQ(News(), Document(1));
  fs::create_directory_symlink(directory_ / "b", directory_ / "next");
  fs::rename(directory_ / "next", directory_ / "current");
  EXPECT_EQ(News(), Document(2)) << "a link in the middle was turned";
  fs::rename(directory_ / "b", directory_ / "b.old");
  fs::rename(directory_ / "c", directory_ / "b");
  EXPECT_EQ(News(), Document(3)) << "a directory above was renamed";
  fs::remove_all(directory_ / "b");
  EXPECT_TRUE(absl::IsNotFound(NextWithin(seconds(60)).status()));
  fs::create_directories(directory_ / "b/x");
  Write(directory_ / "b/x/table.json", Document(4));
  EXPECT_EQ(News(), Document(4)) << "deleted and made anew";
}

TEST_F(FileTableSourceTest, RelativePath_IsOfTheDirectoryOfThen) {
  fs::path before = fs::current_path();
  Write(path_, Document(1));
  fs::current_path(directory_.str());
  Follow("table.json");
  fs::current_path(before);
  EXPECT_EQ(News(), Document(1));
}

TEST_F(FileTableSourceTest, WriterAtIt_IsWaitedFor) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  // Even what is whole may go on while it is open.
  std::ofstream file(path_, std::ios::trunc);
  file << Document(2) << std::flush;
  EXPECT_EQ(NoNews(), "no news");
  file << "\n" << std::flush;
  source_->LookNow();
  EXPECT_EQ(NoNews(std::chrono::hours(1)), "no news") << "LookNow does not wait for the writer";
  file.close();
  EXPECT_EQ(News(), Document(2) + "\n");
}

TEST_F(FileTableSourceTest, WriterThatNeverEnds_IsWaitedForAWhile) {
  Write(path_, Document(1));
  Follow(path_);
  News();
  std::ofstream file(path_, std::ios::trunc);
  std::string half = Document(2).substr(0, 1000);
  file << half << std::flush;
  EXPECT_EQ(NoNews(), "no news");
  EXPECT_EQ(News(), half);
  EXPECT_EQ(NoNews(), "no news");
  file << Document(2).substr(1000) << std::flush;
  file.close();
  EXPECT_EQ(News(), Document(2));
}

TEST_F(FileTableSourceTest, WriterAtItAtTheStart_IsUnavailable) {
  std::ofstream file(path_, std::ios::trunc);
  file << Document(1).substr(0, 1000) << std::flush;
  Follow(path_);
  auto next = NextWithin(milliseconds(50));
  EXPECT_TRUE(absl::IsUnavailable(next.status())) << next.status();
  file << Document(1).substr(1000) << std::flush;
  file.close();
  EXPECT_EQ(News(), Document(1));
}

// In place and in pieces, anew and over what is there, while it is followed.
TEST_F(FileTableSourceTest, WriterInPieces_NoHalfDocumentIsEverHandedOut) {
  constexpr uint64_t kRounds = 400;
  int seen[2];
  ASSERT_EQ(pipe(seen), 0);
  Write(path_, Document(1));
  ChildProcess writer([&] {
    for (uint64_t round = 2; round <= kRounds; ++round) {
      std::string document = Document(round);
      int fd = open(path_.c_str(), O_WRONLY | (round % 2 == 0 ? O_TRUNC : 0));
      for (size_t at = 0; at < document.size(); at += 1000) {
        size_t size = std::min<size_t>(1000, document.size() - at);
        if (write(fd, document.data() + at, size) != static_cast<ssize_t>(size)) return 1;
      }
      close(fd);
      // At times the reader gets to see it; at times the next one comes before.
      char byte;
      if (round % 7 < 2 && read(seen[0], &byte, 1) != 1) return 2;
    }
    return 0;
  });
  Follow(path_);
  uint64_t last = 0;
  for (uint64_t documents = 0; last < kRounds; ++documents) {
    std::string document = News();
    auto table = RoutingTable::Parse(document);
    ASSERT_TRUE(table.ok()) << table.status() << "\n" << document.substr(0, 100);
    last = table->epoch() - 100000;
    ASSERT_EQ(document, Document(last)) << "a mixture";
    if (last % 7 < 2 && last > 1) {
      ASSERT_EQ(write(seen[1], "x", 1), 1);
    }
  }
  EXPECT_EQ(writer.Wait(), 0);
  close(seen[0]);
  close(seen[1]);
}

}  // namespace
}  // namespace locus
