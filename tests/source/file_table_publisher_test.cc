// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "routing/source/table_file.h"
#include "src/base/os/file_lock.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/traced_child.h"

namespace locus {

using internal::FileLock;

namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

RoutingTable Table(uint64_t epoch, const std::string& author = "a") {
  return RoutingTable::Make(epoch, {{1, "a", "x://h", 100, {{"author", author}}}}, {{65535, 1}})
      .value();
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::set<std::string> Names(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

std::unique_ptr<FileTablePublisher> At(const std::string& path) {
  return FileTablePublisher::Open(path).value();
}

std::vector<uint64_t> Epochs(TablePublisher& publisher, size_t most = 1000) {
  std::vector<uint64_t> epochs;
  auto history = publisher.History(most);
  EXPECT_TRUE(history.ok()) << history.status();
  if (!history.ok()) return {};
  for (const PublishedEpoch& each : *history) epochs.push_back(each.epoch);
  return epochs;
}

class FileTablePublisherTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  std::string path_ = directory_ / "table.json";
  std::unique_ptr<FileTablePublisher> publisher_ = At(path_);
};

TEST_F(FileTablePublisherTest, NothingPublished_IsNotFound) {
  EXPECT_TRUE(absl::IsNotFound(publisher_->Current().status()));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre());
  EXPECT_TRUE(absl::IsNotFound(publisher_->Fetch(1).status()));
  EXPECT_THAT(Names(directory_.str()), ElementsAre()) << "asking makes nothing";
  EXPECT_EQ(publisher_->place(), "file " + path_);
}

TEST_F(FileTablePublisherTest, Published_IsTheFileAndKept) {
  absl::Time before = absl::Now() - absl::Seconds(2);
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(Table(2), 1).ok());
  ASSERT_TRUE(publisher_->Publish(Table(7), 2).ok());
  EXPECT_EQ(Read(path_), Table(7).ToJson());
  EXPECT_EQ(*publisher_->Current(), Table(7));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(7, 2, 1));
  EXPECT_THAT(Epochs(*publisher_, 2), ElementsAre(7, 2));
  auto history = publisher_->History(3);
  ASSERT_TRUE(history.ok());
  for (const PublishedEpoch& each : *history) {
    EXPECT_GT(each.published_at, before);
    EXPECT_LT(each.published_at, absl::Now() + absl::Seconds(2));
  }
  EXPECT_EQ(*publisher_->Fetch(2), Table(2));
  EXPECT_EQ(*publisher_->Fetch(7), Table(7));
  auto missing = publisher_->Fetch(5);
  EXPECT_TRUE(absl::IsNotFound(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("there are 1..2, 7"));
  EXPECT_THAT(Names(directory_.str()),
              UnorderedElementsAre("table.json", "table.json.epochs", "table.json.lock"));
  EXPECT_THAT(Names(path_ + ".epochs"),
              UnorderedElementsAre("00000000000000000001.json", "00000000000000000002.json",
                                   "00000000000000000007.json"));
}

TEST_F(FileTablePublisherTest, OtherEpochThanExpected_ChangesNothing) {
  ASSERT_TRUE(publisher_->Publish(Table(5), 0).ok());
  absl::Status aborted = publisher_->Publish(Table(7), 6);
  EXPECT_TRUE(absl::IsAborted(aborted)) << aborted;
  EXPECT_THAT(std::string(aborted.message()), HasSubstr("here is 5, not the expected 6"));
  EXPECT_TRUE(absl::IsAborted(publisher_->Publish(Table(7), 0)));
  EXPECT_TRUE(absl::IsAborted(publisher_->Publish(Table(5, "b"), 0))) << "of the same epoch";
  EXPECT_TRUE(absl::IsInvalidArgument(publisher_->Publish(Table(5), 5)));
  EXPECT_TRUE(absl::IsInvalidArgument(publisher_->Publish(Table(4), 5)));
  EXPECT_EQ(*publisher_->Current(), Table(5));
  EXPECT_TRUE(publisher_->Publish(Table(5), 0).ok()) << "repeated";
  EXPECT_TRUE(publisher_->Publish(Table(5), 3).ok()) << "it is the newest already";
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(5));
}

TEST_F(FileTablePublisherTest, ManyTables_TheNewestThousandAreKept) {
  // Most of them as if published before: each publication syncs several files.
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  for (uint64_t epoch = 2; epoch <= 995; ++epoch) {
    std::string name = absl::StrCat(path_, ".epochs/", absl::Dec(epoch, absl::kZeroPad20), ".json");
    Write(name, Table(epoch).ToJson());
  }
  Write(path_, Table(995).ToJson());
  for (uint64_t epoch = 996; epoch <= 1005; ++epoch) {
    ASSERT_TRUE(publisher_->Publish(Table(epoch), epoch - 1).ok());
  }
  std::vector<uint64_t> epochs = Epochs(*publisher_, 5000);
  EXPECT_EQ(epochs.size(), 1000u);
  EXPECT_EQ(epochs.back(), 6u);
  EXPECT_TRUE(absl::IsNotFound(publisher_->Fetch(5).status()));
}

TEST_F(FileTablePublisherTest, Notes_AreSafeToShowAndGoWithTheirTables) {
  auto name = [&](uint64_t epoch, const char* ending) {
    return absl::StrCat(path_, ".epochs/", absl::Dec(epoch, absl::kZeroPad20), ending);
  };
  ASSERT_TRUE(publisher_->Publish(Table(1), 0, {}, {"olga", "first"}).ok());
  EXPECT_EQ(Read(name(1, ".note")),
            absl::StrCat("olga\nfirst\n", internal::VersionOf(Table(1).ToJson()), "\n"));
  for (uint64_t epoch = 2; epoch <= 1000; ++epoch)
    Write(name(epoch, ".json"), Table(epoch).ToJson());
  Write(path_, Table(1000).ToJson());
  Write(name(999, ".note"),
        absl::StrCat("\x1B[2Jolga\r\nwhy\n", internal::VersionOf(Table(999).ToJson()), "\n"));
  // Of a publication that was cut short.
  Write(name(1001, ".note"),
        absl::StrCat("mallory\n\n", internal::VersionOf(Table(1001).ToJson()), "\n"));
  ASSERT_TRUE(publisher_->Publish(Table(1001), 1000).ok());
  const auto history = publisher_->History(3).value();
  EXPECT_EQ(history[0].note, PublicationNote());
  EXPECT_EQ(history[2].note, (PublicationNote{"\\x1b[2Jolga\\x0d", "why"}));
  EXPECT_EQ(Read(name(1, ".note")), "") << "pruned with its table";
}

TEST_F(FileTablePublisherTest, NoteOfAnotherTable_IsNotShown) {
  const std::string note = path_ + ".epochs/00000000000000000002.note";
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  TracedChild child([&] {
    return At(path_)->Publish(Table(2), 1, {}, {"mallory", "why"}).ok() ? 0 : 1;
  });
  ASSERT_TRUE(child.RunUntil([&] { return fs::exists(note); }));
  child.Kill();
  ASSERT_EQ(Read(path_), Table(1).ToJson());
  // As an earlier version publishes, which knows no notes, or cp.
  Write(path_, Table(2, "olga").ToJson());
  ASSERT_TRUE(fs::exists(note));
  EXPECT_EQ(publisher_->History(1).value()[0].note, PublicationNote());
  ASSERT_TRUE(publisher_->Publish(Table(3), 2).ok());
  EXPECT_EQ(publisher_->History(2).value()[1].note, PublicationNote()) << "also once it is kept";
}

TEST_F(FileTablePublisherTest, DirectoryThatCannotBeSynced_KeepsTheNoteOfTheTableInForce) {
  const PublicationNote note = {"olga", "why"};
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  TracedChild child([&] { return At(path_)->Publish(Table(2), 1, {}, note).ok() ? 0 : 1; });
  ASSERT_TRUE(child.RunUntil([&] { return Read(path_) == Table(2).ToJson(); }));
  // The directory cannot be opened any more.
  const rlimit none = {0, 0};
  ASSERT_EQ(prlimit(child.pid(), RLIMIT_NOFILE, &none, nullptr), 0);
  EXPECT_EQ(child.Finish(), 1);
  EXPECT_EQ(publisher_->History(1).value()[0].note, note);
  ASSERT_TRUE(publisher_->Publish(Table(2), 1).ok()) << "repeated";
  ASSERT_TRUE(publisher_->Publish(Table(3), 2).ok());
  EXPECT_EQ(publisher_->History(2).value()[1].note, note);
}

TEST_F(FileTablePublisherTest, FilePutThereByHand_IsKeptBeforeItIsReplaced) {
  Write(path_, Table(3, "by hand").ToJson());
  EXPECT_EQ(*publisher_->Current(), Table(3, "by hand"));
  EXPECT_EQ(*publisher_->Fetch(3), Table(3, "by hand"));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(3));
  chmod(path_.c_str(), 0640);
  ASSERT_TRUE(publisher_->Publish(Table(4), 3).ok());
  EXPECT_EQ(*publisher_->Fetch(3), Table(3, "by hand"));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(4, 3));
  struct stat file;
  ASSERT_EQ(stat(path_.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777u, 0640u);
}

TEST_F(FileTablePublisherTest, FileDeletedOrOlder_TheNewestKeptCounts) {
  for (uint64_t epoch : {1, 2, 3}) ASSERT_TRUE(publisher_->Publish(Table(epoch), epoch - 1).ok());
  fs::remove(path_);
  EXPECT_EQ(*publisher_->Current(), Table(3));
  EXPECT_TRUE(absl::IsAborted(publisher_->Publish(Table(1), 0)));
  ASSERT_TRUE(publisher_->Publish(Table(3), 2).ok()) << "repeated, it puts the file back";
  EXPECT_EQ(Read(path_), Table(3).ToJson());
  fs::copy_file(path_ + ".epochs/00000000000000000001.json", path_,
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(*publisher_->Current(), Table(3));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(3, 2, 1));
  ASSERT_TRUE(publisher_->Publish(Table(4), 3).ok());
  EXPECT_EQ(Read(path_), Table(4).ToJson());
}

TEST_F(FileTablePublisherTest, NoRoomToKeepTheTable_ItIsInForceAndKeptLater) {
  auto publisher = At(path_);
  ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
  // Where a table is written before it is kept.
  std::string in_the_way = path_ + ".epochs/.keeping";
  fs::create_directory(in_the_way);
  absl::Status status = publisher->Publish(Table(2), 1);
  EXPECT_THAT(std::string(status.message()), HasSubstr("epoch 2 is in force")) << status;
  EXPECT_EQ(publisher->Current().value(), Table(2));
  EXPECT_THAT(Epochs(*publisher), ElementsAre(2, 1));
  fs::remove(in_the_way);
  EXPECT_TRUE(publisher->Publish(Table(2), 1).ok());
  ASSERT_TRUE(publisher->Publish(Table(3), 2).ok());
  EXPECT_THAT(Epochs(*publisher), ElementsAre(3, 2, 1));
}

TEST_F(FileTablePublisherTest, SpoiledFile_IsRestoredOverByNameAndKept) {
  const std::string spoiled = "{\"epoch\": \"by hand\"}";
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(Table(2, "b"), 1).ok());
  Write(path_, spoiled);
  chmod(path_.c_str(), 0640);
  EXPECT_TRUE(absl::IsDataLoss(RestoreTable(*publisher_, 1).status()));
  EXPECT_EQ(Read(path_), spoiled);
  RestoreOptions options;
  options.named.spoiled = true;
  EXPECT_EQ(RestoreTable(*publisher_, 2, options).value(), Table(3, "b"));
  EXPECT_EQ(*publisher_->Current(), Table(3, "b"));
  EXPECT_EQ(Read(path_ + ".spoiled"), spoiled);
  struct stat facts;
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0640u);
  EXPECT_TRUE(absl::IsInvalidArgument(RestoreTable(*publisher_, 1, options).status()))
      << "it is not spoiled";
  Write(path_, "");
  EXPECT_EQ(RestoreTable(*publisher_, 1, options).value(), Table(4));
  EXPECT_EQ(Read(path_ + ".spoiled"), spoiled) << "nothing that was kept is replaced";
  EXPECT_EQ(Read(path_ + ".spoiled.2"), "");
}

TEST_F(FileTablePublisherTest, NoTable_IsDataLossUntilItIsRemoved) {
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  Write(path_, "{\"epoch\": \"2\"}");
  absl::Status current = publisher_->Current().status();
  EXPECT_TRUE(absl::IsDataLoss(current)) << current;
  EXPECT_THAT(std::string(current.message()), HasSubstr(path_ + ": "));
  EXPECT_TRUE(absl::IsDataLoss(publisher_->Publish(Table(2), 1)));
  EXPECT_THAT(Epochs(*publisher_), ElementsAre(1)) << "what is kept can still be told";
  EXPECT_EQ(*publisher_->Fetch(1), Table(1));
  fs::remove(path_);
  EXPECT_TRUE(publisher_->Publish(Table(2), 1).ok());
}

TEST_F(FileTablePublisherTest, KeptFileOfAnotherTable_IsDataLoss) {
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok());
  ASSERT_TRUE(publisher_->Publish(Table(2), 1).ok());
  Write(path_ + ".epochs/00000000000000000001.json", Table(2).ToJson());
  EXPECT_TRUE(absl::IsDataLoss(publisher_->Fetch(1).status()));
  Write(path_ + ".epochs/00000000000000000001.json", "");
  EXPECT_TRUE(absl::IsDataLoss(publisher_->Fetch(1).status()));
}

TEST_F(FileTablePublisherTest, BehindASymbolicLink_TheFileIsReplaced) {
  fs::create_directory(directory_ / "real");
  fs::create_symlink("real/table.json", path_);
  ASSERT_TRUE(publisher_->Publish(Table(1), 0).ok()) << "there is nothing yet";
  ASSERT_TRUE(publisher_->Publish(Table(2), 1).ok());
  EXPECT_TRUE(fs::is_symlink(path_));
  EXPECT_EQ(Read(directory_ / "real/table.json"), Table(2).ToJson());
  EXPECT_THAT(Names(directory_.str()), UnorderedElementsAre("real", "table.json"));
}

TEST_F(FileTablePublisherTest, NoDirectoryOrNoFile_IsRefused) {
  EXPECT_TRUE(absl::IsNotFound(At(directory_ / "no/such/table")->Publish(Table(1), 0)));
  EXPECT_TRUE(absl::IsFailedPrecondition(At(directory_.str())->Publish(Table(1), 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(FileTablePublisher::Open("").status()));
}

TEST_F(FileTablePublisherTest, ManyPublishersAtOnce_OneSucceedsEachTime) {
  constexpr int kThreads = 4;
  constexpr uint64_t kEpochs = 50;
  std::atomic<uint64_t> published = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      auto publisher = At(path_);
      for (uint64_t newest = 0; newest < kEpochs;) {
        absl::Status status = publisher->Publish(Table(newest + 1, absl::StrCat("t", i)), newest);
        EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
        published += status.ok();
        newest = publisher->Current().value().epoch();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(published, kEpochs);
  EXPECT_EQ(Epochs(*publisher_).size(), kEpochs);
}

TEST(FileTablePublisherKillTest, KilledAtAnySystemCall_OldOrNewIsThereAndHistoryWhole) {
  int killed = 0, saw_old = 0, saw_new = 0;
  for (int stop = 1;; ++stop) {
    TemporaryDirectory directory;
    std::string path = directory / "table.json";
    auto publisher = At(path);
    // The first publication makes what the later ones find.
    bool first = stop % 2 == 0;
    uint64_t before = first ? 0 : 1;
    if (!first) {
      ASSERT_TRUE(publisher->Publish(Table(1), 0).ok());
    }
    const PublicationNote note = {"olga", "why"};
    TracedChild child(
        [&] { return At(path)->Publish(Table(before + 1), before, {}, note).ok() ? 0 : 1; });
    bool was_killed = child.RunForStops(stop);
    child.Kill();
    if (!was_killed) {
      EXPECT_EQ(child.Finish(), 0);
    }
    std::string file = Read(path);
    bool is_new = file == Table(before + 1).ToJson();
    EXPECT_TRUE(is_new || file == (first ? "" : Table(1).ToJson())) << stop << ": " << file;
    (is_new ? saw_new : saw_old)++;
    std::vector<uint64_t> epochs =
        is_new ? std::vector<uint64_t>{before + 1} : std::vector<uint64_t>();
    if (!first) epochs.push_back(1);
    EXPECT_EQ(Epochs(*publisher), epochs) << stop;
    if (is_new) {
      EXPECT_EQ(publisher->History(1).value()[0].note, note) << stop;
    }
    // The next one carries on.
    EXPECT_TRUE(publisher->Publish(Table(before + 1), before).ok()) << stop;
    EXPECT_EQ(*publisher->Current(), Table(before + 1));
    ASSERT_TRUE(publisher->Publish(Table(before + 2), before + 1).ok()) << stop;
    for (uint64_t epoch = 1; epoch <= before + 2; ++epoch) {
      EXPECT_EQ(*publisher->Fetch(epoch), Table(epoch)) << stop;
    }
    EXPECT_THAT(Names(directory.str()),
                UnorderedElementsAre("table.json", "table.json.epochs", "table.json.lock"));
    // Repeated without a note, it has none where the first attempt changed nothing.
    EXPECT_EQ(publisher->History(2).value()[1].note, is_new ? note : PublicationNote()) << stop;
    std::set<std::string> tables = Names(path + ".epochs");
    std::erase_if(tables, [](const std::string& name) { return !name.ends_with(".json"); });
    EXPECT_EQ(tables.size(), before + 2) << stop;
    if (!was_killed && !first) break;
    killed += was_killed;
  }
  EXPECT_GT(killed, 40);
  EXPECT_GT(saw_old, 10);
  EXPECT_GT(saw_new, 10);
}

// If PATH.lock is deleted by mistake, a second publisher gets in.
TEST(FileTablePublisherLockTest, LockDeletedWhileHeld_TheSecondPublisherIsNotOverwritten) {
  TemporaryDirectory directory;
  std::string path = directory / "table.json";
  std::string kept = path + ".epochs/00000000000000000001.json";
  // Where the first one stands then: what is replaced was read and kept; its own table is written.
  for (const std::string& stands : {kept, path + ".publishing"}) {
    auto publisher = At(path);
    Write(path, Table(1).ToJson());
    fs::remove_all(path + ".epochs");
    TracedChild first([&] {
      absl::Status status = At(path)->Publish(Table(2, "first"), 1);
      if (status.ok()) return 1;
      return absl::IsUnavailable(status) ? 0 : 2;
    });
    ASSERT_TRUE(first.RunUntil([&] { return fs::exists(stands); })) << stands;
    ASSERT_TRUE(fs::remove(path + ".lock"));
    absl::Status second = publisher->Publish(Table(2, "second"), 1);
    ASSERT_TRUE(second.ok()) << second;
    EXPECT_EQ(first.Finish(), 0) << stands;
    EXPECT_EQ(*publisher->Current(), Table(2, "second"));
    EXPECT_EQ(*publisher->Fetch(2), Table(2, "second"));
    EXPECT_TRUE(publisher->Publish(Table(3), 2).ok());
    EXPECT_THAT(Names(directory.str()),
                UnorderedElementsAre("table.json", "table.json.epochs", "table.json.lock"));
    EXPECT_EQ(Names(path + ".epochs").size(), 3u);
  }
}

TEST(FileLockTest, HeldByAnother_IsUnavailableAtTheDeadline) {
  TemporaryDirectory directory;
  auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(20); };
  {
    auto lock = FileLock::TakeOrCreate(directory / "lock", soon());
    ASSERT_TRUE(lock.ok()) << lock.status();
    auto second = FileLock::TakeOrCreate(directory / "lock", soon());
    EXPECT_TRUE(absl::IsUnavailable(second.status())) << second.status();
  }
  EXPECT_TRUE(FileLock::TakeOrCreate(directory / "lock", soon()).ok());
  EXPECT_TRUE(absl::IsNotFound(FileLock::TakeOrCreate(directory / "no/lock", soon()).status()));
}

TEST(FileLockTest, FileDeletedOrReplacedWhileHeld_IsNotHeldAnyMore) {
  TemporaryDirectory directory;
  auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::seconds(10); };
  auto lock = FileLock::TakeOrCreate(directory / "lock", soon());
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_TRUE(lock->CheckHeld().ok());
  FileLock moved = *std::move(lock);
  EXPECT_TRUE(moved.CheckHeld().ok());
  fs::remove(directory / "lock");
  absl::Status lost = moved.CheckHeld();
  EXPECT_TRUE(absl::IsUnavailable(lost)) << lost;
  EXPECT_THAT(std::string(lost.message()), HasSubstr(directory / "lock"));
  EXPECT_TRUE(FileLock::TakeOrCreate(directory / "lock", soon()).ok());
  EXPECT_TRUE(absl::IsUnavailable(moved.CheckHeld()));
}

}  // namespace
}  // namespace locus
