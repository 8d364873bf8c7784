// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/log_store.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/codec.h"
#include "tests/raft/log/file_bytes.h"
#include "tests/support/child_process.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

Entry Command(Term term, std::string data) {
  return {term, Entry::Kind::kCommand, std::move(data), {}};
}

Write Entries(Index from, std::vector<Entry> entries) {
  Write write;
  write.from = from;
  write.entries = std::move(entries);
  return write;
}

// All that Load returns, as one text.
std::string TextOf(const LogStore::Stored& stored) {
  const Remembered& node = stored.remembered;
  std::string text = absl::StrCat(node.self, " ", node.vote.term, " ", node.vote.candidate, " ",
                                  Encode(node.snapshot), " ", stored.state, " ");
  for (const Entry& entry : node.entries) absl::StrAppend(&text, Encode(entry));
  return text;
}

class LogStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<LogStore> Create() { return LogStore::Create(path_, kCluster).value(); }
  std::unique_ptr<LogStore> Open() {
    auto store = LogStore::Open(path_, kCluster);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }
  static void Apply(LogStore& store, const Write& write) {
    const absl::Status status = store.Apply({&write, 1});
    ASSERT_TRUE(status.ok()) << status;
  }
  // Changes the file as with the sqlite3 shell.
  void Tamper(const std::string& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  absl::Status OpenAndLoad() {
    auto store = LogStore::Open(path_, kCluster);
    if (!store.ok()) return store.status();
    return (*store)->Load().status();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
};

TEST_F(LogStoreTest, EverythingWritten_IsLoaded) {
  const Members members = {{7, true, "a:1"}, {9, false, ""}};
  NodeId self = 0;
  {
    auto store = Create();
    self = store->self();
    Write first = Entries(1, {{1, Entry::Kind::kMembers, "", members}, Command(1, "x")});
    first.vote = Vote{1, 7};
    Write second = Entries(3, {Command(1, std::string("\0y", 2)), Command(2, "dropped")});
    second.vote = Vote{0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE};
    const std::vector<Write> both = {first, second, Entries(4, {Command(3, "kept")})};
    ASSERT_TRUE(store->Apply(both).ok());
  }
  auto store = Open();
  EXPECT_EQ(store->self(), self);
  LogStore::Stored stored = store->Load().value();
  EXPECT_EQ(stored.remembered.vote, (Vote{0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFE}));
  ASSERT_EQ(stored.remembered.entries.size(), 4u);
  EXPECT_EQ(stored.remembered.entries[0].members, members);
  EXPECT_EQ(stored.remembered.entries[2].data, std::string("\0y", 2));
  EXPECT_EQ(stored.remembered.entries[3], Command(3, "kept"));

  ASSERT_TRUE(store->Compact({3, 1, members}, "state of 3").ok());
  Apply(*store, Entries(5, {Command(3, "behind")}));
  Apply(*store, Entries(5, {Command(4, "instead")}));
  store.reset();
  stored = Open()->Load().value();
  EXPECT_EQ(stored.remembered.snapshot, (SnapshotMark{3, 1, members}));
  EXPECT_EQ(stored.state, "state of 3");
  ASSERT_EQ(stored.remembered.entries.size(), 2u);
  EXPECT_EQ(stored.remembered.entries[0], Command(3, "kept"));
  EXPECT_EQ(stored.remembered.entries[1], Command(4, "instead"));
}

TEST_F(LogStoreTest, SnapshotOfALeader_ReplacesTheWholeLog) {
  auto store = Create();
  Apply(*store, Entries(1, {Command(1, "a"), Command(1, "b")}));
  Write install;
  install.snapshot = SnapshotMark{10, 4, {{3, true, ""}}};
  install.state = "theirs";
  install.vote = Vote{4, 0};
  Apply(*store, install);
  Apply(*store, Entries(11, {Command(4, "next")}));
  store.reset();
  const LogStore::Stored stored = Open()->Load().value();
  EXPECT_EQ(stored.remembered.snapshot, *install.snapshot);
  EXPECT_EQ(stored.state, "theirs");
  ASSERT_EQ(stored.remembered.entries.size(), 1u);
  EXPECT_EQ(stored.remembered.entries[0].data, "next");
}

TEST_F(LogStoreTest, NewFile_IsPrivateAndOfANewNode) {
  const NodeId first = Create()->self();
  struct stat there;
  for (const char* name : {"", "-wal"}) {
    auto store = Open();
    Apply(*store, Write());
    ASSERT_EQ(stat((path_ + name).c_str(), &there), 0) << name;
    EXPECT_EQ(there.st_mode & 0777, 0600u) << name;
  }
  EXPECT_EQ(LogStore::Create(path_, kCluster).status().code(), absl::StatusCode::kAlreadyExists);
  std::filesystem::remove(path_);
  EXPECT_EQ(LogStore::Open(path_, kCluster).status().code(), absl::StatusCode::kNotFound);
  Put(path_, "");
  EXPECT_EQ(LogStore::Open(path_, kCluster).status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(Create()->self(), first);
}

TEST_F(LogStoreTest, FileLostBesideItsLog_IsNoNewNode) {
  auto store = Create();
  Apply(*store, Write());
  const std::string wal = Read(path_ + "-wal");
  store.reset();
  for (const bool there : {true, false}) {
    there ? Put(path_, "") : static_cast<void>(std::filesystem::remove(path_));
    Put(path_ + "-wal", wal);
    for (const auto& result :
         {LogStore::Open(path_, kCluster).status(), LogStore::Create(path_, kCluster).status()}) {
      EXPECT_EQ(result.code(), absl::StatusCode::kFailedPrecondition) << result;
      EXPECT_THAT(std::string(result.message()), HasSubstr("remove both only if"));
    }
    EXPECT_EQ(std::filesystem::exists(path_), there);
    EXPECT_EQ(Read(path_ + "-wal"), wal);
  }
  std::filesystem::remove(path_ + "-wal");
  EXPECT_NE(Create(), nullptr);
}

TEST_F(LogStoreTest, FileRemovedOrReplacedWhileOpen_IsNoticedAndOthersAreLeftAlone) {
  for (const char* name : {"", "-wal"}) {
    for (const bool replaced : {false, true}) {
      std::filesystem::remove(path_);
      std::filesystem::remove(path_ + "-wal");
      auto store = Create();
      Apply(*store, Write());
      EXPECT_TRUE(store->InPlace().ok()) << store->InPlace();
      std::filesystem::rename(path_ + name, path_ + ".away");
      if (replaced) std::filesystem::copy_file(path_ + ".away", path_ + name);
      const absl::Status status = store->InPlace();
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(absl::StrCat(path_, name, replaced ? " was repl" : " was removed")));
      std::filesystem::remove(path_ + "-wal");
      Put(path_ + "-wal", "of another node");
      store.reset();
      EXPECT_EQ(Read(path_ + "-wal"), "of another node");
    }
  }
}

TEST_F(LogStoreTest, ClusterBegins_Once) {
  auto store = Create();
  const Members members = {{store->self(), true, "here:1"}};
  EXPECT_EQ(store->Begin({{1, true, ""}}).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(store->Begin(members).ok());
  EXPECT_EQ(store->Begin(members).code(), absl::StatusCode::kFailedPrecondition);
  const Remembered loaded = store->Load()->remembered;
  const Remembered first = FirstNode(store->self(), members);
  EXPECT_EQ(loaded.vote, first.vote);
  EXPECT_EQ(loaded.entries, first.entries);
}

TEST_F(LogStoreTest, FileInUse_IsRefused) {
  auto store = Create();
  const auto again = LogStore::Open(path_, kCluster);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("is open"));
  ChildProcess child([&] {
    return LogStore::Open(path_, kCluster).status().code() == absl::StatusCode::kFailedPrecondition
               ? 0
               : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  Apply(*store, Write());
  store.reset();
  EXPECT_TRUE(LogStore::Open(path_, kCluster).ok());
}

TEST_F(LogStoreTest, OtherClusterVersionOrProgram_IsRefused) {
  EXPECT_EQ(LogStore::Create(path_, "").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LogStore::Create(path_, std::string(65, 'x')).status().code(),
            absl::StatusCode::kInvalidArgument);
  Create().reset();
  EXPECT_THAT(std::string(LogStore::Open(path_, "other").status().message()),
              HasSubstr("of cluster \"workers\", not of \"other\""));
  Tamper("UPDATE node SET codec = 2");
  EXPECT_EQ(OpenAndLoad().code(), absl::StatusCode::kFailedPrecondition);
  Tamper("UPDATE node SET codec = 1; PRAGMA user_version = 3");
  EXPECT_THAT(std::string(OpenAndLoad().message()), HasSubstr("schema version 3"));
  Tamper("PRAGMA user_version = 2; PRAGMA application_id = 5");
  EXPECT_THAT(std::string(OpenAndLoad().message()), HasSubstr("not the log of a Raft node"));
  Put(path_, std::string(5000, 'x'));
  EXPECT_EQ(OpenAndLoad().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LogStoreTest, ContradictionInTheFile_IsDataLossWithItsPlace) {
  {
    auto store = Create();
    Apply(*store, Entries(1, {Command(1, "a"), Command(1, "b"), Command(1, "c"), Command(1, "d")}));
    ASSERT_TRUE(store->Compact({1, 1, {}}, "state").ok());
  }
  const std::string whole = Read(path_);
  const std::pair<const char*, const char*> cases[] = {
      {"DELETE FROM entry WHERE position = 2", "entry 2 is missing"},
      {"DELETE FROM entry WHERE position = 3", "entry 3 is missing"},
      {"DELETE FROM entry WHERE position = 4", "entry 4 is missing"},
      {"INSERT INTO entry SELECT 5, chain, bytes FROM entry LIMIT 1", "entry 5 lies outside"},
      {"INSERT INTO entry SELECT 1, chain, bytes FROM entry LIMIT 1", "entry 1 lies outside"},
      {"UPDATE entry SET bytes = x'00' WHERE position = 3", "entry 3 is not what was written"},
      {"UPDATE entry SET bytes = (SELECT bytes FROM entry WHERE position = 2) WHERE position = 3",
       "entry 3 is not what was written"},
      {"UPDATE entry SET chain = chain + 1 WHERE position = 4", "entry 4 is not what was written"},
      {"UPDATE snapshot SET state = x'55'", "the snapshot is not what was written"},
      {"DELETE FROM snapshot", "the snapshot is missing"},
      {"UPDATE node SET term = 5", "the record of the node is not what was written"},
      {"UPDATE node SET candidate = 3", "the record of the node is not what was written"},
      {"UPDATE node SET self = 3", "the record of the node is not what was written"},
      {"UPDATE node SET last = 3", "the record of the node is not what was written"},
      {"DELETE FROM node", "the record of the node is missing"},
      {"DROP TABLE entry", "no such table: entry"},
      {"DROP TABLE node", "no such table: node"},
  };
  for (const auto& [sql, said] : cases) {
    Put(path_, whole);
    ASSERT_TRUE(OpenAndLoad().ok());
    Tamper(sql);
    const absl::Status status = OpenAndLoad();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << sql << ": " << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << sql;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_)) << sql;
  }
}

// The file and its log at many points of a life, the log cut or changed at many places: what is
// loaded is what one of the transactions left, or nothing is.
TEST_F(LogStoreTest, LogOfTheFileCutOrChanged_GivesAStateAfterATransactionOrIsRefused) {
  std::set<std::string> states;
  struct Copy {
    std::string file, log;
  };
  std::vector<Copy> copies;
  std::minstd_rand random(11);
  {
    auto store = Create();
    auto note = [&] { states.insert(TextOf(store->Load().value())); };
    note();
    Index last = 0;
    for (int step = 0; step < 60; ++step) {
      Write write;
      if (step % 5 == 0) write.vote = Vote{static_cast<Term>(step + 1), random()};
      write.from = step % 7 == 3 && last > 3 ? last - 1 : last + 1;
      for (unsigned i = 0; i < 1 + random() % 3; ++i) {
        write.entries.push_back(
            Command(1, absl::StrCat(step, "/", i, std::string(random() % 3000, 'e'))));
      }
      last = write.from + write.entries.size() - 1;
      Apply(*store, write);
      note();
      if (step % 20 == 17) {
        ASSERT_TRUE(store->Compact({last - 3, 1, {}}, std::string(1 + random() % 9000, 's')).ok());
        note();
      }
      if (step == 24) {  // its log begins anew
        store.reset();
        store = Open();
      }
      if (step % 13 == 12) copies.push_back({Read(path_), Read(path_ + "-wal")});
    }
    // Just after it was tidied up, the file holds what the log holds at its end: a log that is cut
    // before would put old pages beside new ones.
    for (; last < 400; ++last) {
      Apply(*store, Entries(last + 1, {Command(1, std::string(900, 'o'))}));
    }
    store.reset();
    store = Open();
    note();
    const auto made = std::filesystem::last_write_time(path_);
    for (int step = 0; std::filesystem::last_write_time(path_) == made; ++step) {
      Write write = Entries(last + 1, {Command(1, std::string(random() % 900, 'b'))});
      write.vote = Vote{++last, 1};
      Apply(*store, write);
      note();
      if (step == 60) {
        std::vector<Entry> others(last - 320, Command(1, std::string(900, 'n')));
        Apply(*store, Entries(321, std::move(others)));
        note();
      }
      if (step == 100) {
        ASSERT_TRUE(store->Compact({200, 1, {}}, absl::StrCat(last)).ok());
        note();
      }
      ASSERT_TRUE(store->Tidy().ok());
    }
    copies.push_back({Read(path_), Read(path_ + "-wal")});
  }
  int loaded = 0, refused = 0;
  auto look = [&](const Copy& copy, const std::string& log, const std::string& what) {
    Put(path_, copy.file);
    Put(path_ + "-wal", log);
    std::filesystem::remove(path_ + "-mark");  // it would refuse most of them
    auto store = LogStore::Open(path_, kCluster);
    auto stored = store.ok() ? (*store)->Load() : store.status();
    if (!stored.ok()) {
      ++refused;
      EXPECT_THAT(stored.status().code(), ::testing::AnyOf(absl::StatusCode::kDataLoss,
                                                           absl::StatusCode::kFailedPrecondition))
          << stored.status();
      return;
    }
    ++loaded;
    EXPECT_TRUE(states.contains(TextOf(*stored))) << what << ": what no transaction left";
  };
  for (const Copy& copy : copies) {
    ASSERT_FALSE(copy.log.empty());
    look(copy, copy.log, "whole");
    const size_t step = std::max<size_t>(1, copy.log.size() / (kUnderAsan ? 20 : 120));
    for (size_t at = 0; at < copy.log.size(); at += step) {
      look(copy, copy.log.substr(0, at), absl::StrCat("cut at ", at));
      std::string changed = copy.log;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
      look(copy, changed, absl::StrCat("changed at ", at));
    }
    for (size_t at = 32; at < copy.log.size(); at += 24 + 4096) {
      if (copy.log.size() > (1 << 20) && at % 23 != 0) continue;
      look(copy, copy.log.substr(0, at), absl::StrCat("cut at the page ", at));
      look(copy, copy.log.substr(0, at) + std::string(500, '\0'), "zeros behind");
    }
  }
  std::printf("%d loaded, %d refused\n", loaded, refused);
  EXPECT_GT(loaded, 100);
}

TEST_F(LogStoreTest, KilledWhileItWrites_KeepsAllThatItAcknowledged) {
  Create().reset();
  std::minstd_rand random(5);
  Index acknowledged = 0;
  size_t longest = 0;
  for (int round = 0; round < 30; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(pipe(pipe_fds), 0);
    ChildProcess child([&] {
      auto store = LogStore::Open(path_, kCluster);
      if (!store.ok()) return 1;
      Index compacted = (*store)->Load()->remembered.snapshot.index;
      Index last = (*store)->Load()->remembered.entries.size() + compacted;
      for (std::minstd_rand sizes(static_cast<unsigned>(round));;) {
        std::vector<Write> writes;
        for (unsigned i = 0; i < 1 + sizes() % 4; ++i, ++last) {
          writes.push_back(Entries(
              last + 1, {Command(1, absl::StrCat(last + 1, std::string(last % 900, '.')))}));
          writes.back().vote = Vote{last + 1, last + 1};
        }
        if (!(*store)->Apply(writes).ok()) return 2;
        if (write(pipe_fds[1], &last, sizeof last) != sizeof last) return 3;
        if (last > compacted + 200) {
          compacted = last - 50;
          if (!(*store)->Compact({compacted, 1, {}}, "s").ok()) return 4;
        }
        if (!(*store)->Tidy().ok()) return 5;
      }
    });
    close(pipe_fds[1]);
    Index said = 0;
    for (uint64_t left = 1 + random() % 120; left > 0; --left) {
      ASSERT_EQ(read(pipe_fds[0], &said, sizeof said), static_cast<ssize_t>(sizeof said));
    }
    child.Kill(SIGKILL);
    EXPECT_EQ(child.Wait(), -SIGKILL);
    while (read(pipe_fds[0], &said, sizeof said) == static_cast<ssize_t>(sizeof said)) continue;
    close(pipe_fds[0]);
    acknowledged = said;
    const auto stored = Open()->Load();
    ASSERT_TRUE(stored.ok()) << stored.status();
    const Remembered& node = stored->remembered;
    const Index last = node.snapshot.index + node.entries.size();
    EXPECT_GE(last, acknowledged);
    EXPECT_EQ(node.vote.term, last);
    for (Index index = node.snapshot.index + 1; index <= last; ++index) {
      ASSERT_EQ(node.entries[index - node.snapshot.index - 1].data,
                absl::StrCat(index, std::string((index - 1) % 900, '.')));
    }
    longest = std::max(longest, node.entries.size());
  }
  EXPECT_GT(acknowledged, 100u);
  EXPECT_LT(longest, 500u) << "nothing was compacted";
}

TEST_F(LogStoreTest, FullDisk_FailsAndTakesNothingMore) {
  Create().reset();
  ChildProcess child([&] {
    signal(SIGXFSZ, SIG_IGN);
    auto store = LogStore::Open(path_, kCluster);
    const rlimit limit{200 << 10, 200 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    Index done = 0;
    for (Index index = 1; index < 1000; ++index) {
      const Write write = Entries(index, {Command(1, std::string(5000, 'x'))});
      const absl::Status status = (*store)->Apply({&write, 1});
      if (status.ok()) {
        done = index;
        continue;
      }
      if (status.code() != absl::StatusCode::kUnavailable) return 1;
      // A small one would have room.
      const Write small;
      const absl::Status after = (*store)->Apply({&small, 1});
      const bool stopped = after.code() == absl::StatusCode::kFailedPrecondition &&
                           (*store)->Load().ok() == false && (*store)->Tidy().ok() == false;
      return stopped ? static_cast<int>(100 + done) : 2;
    }
    return 3;
  });
  const int done = child.Wait() - 100;
  ASSERT_GT(done, 5);
  const auto stored = Open()->Load();
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_GE(static_cast<int>(stored->remembered.entries.size()), done);
  EXPECT_LE(static_cast<int>(stored->remembered.entries.size()), done + 1);
}

TEST_F(LogStoreTest, ManyWrites_AreOneTransaction) {
  auto store = Create();
  std::vector<Write> writes;
  for (Index index = 1; index <= 500; ++index) writes.push_back(Entries(index, {Command(1, "x")}));
  const auto before = std::filesystem::file_size(path_ + "-wal");
  ASSERT_TRUE(store->Apply(writes).ok());
  // Each transaction alone would take the record's page and a page of entries.
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal") - before, 40u * 4120);
}

TEST_F(LogStoreTest, LongLife_KeepsItsFilesSmall) {
  auto store = Create();
  for (Index index = 1; index <= 3000; ++index) {
    Apply(*store, Entries(index, {Command(1, std::string(1000, 'x'))}));
    if (index % 100 == 0) {
      ASSERT_TRUE(store->Compact({index, 1, {}}, "s").ok());
    }
    ASSERT_TRUE(store->Tidy().ok());
  }
  Apply(*store, Entries(3001, {Command(1, "x")}));
  EXPECT_LT(std::filesystem::file_size(path_), 2u << 20);
  // A large snapshot is in PATH-wal for a while only.
  ASSERT_TRUE(store->Compact({3001, 1, {}}, std::string(40 << 20, 's')).ok());
  ASSERT_TRUE(store->Tidy().ok());
  Apply(*store, Entries(3002, {Command(1, "small")}));
  EXPECT_LT(std::filesystem::file_size(path_ + "-wal"), 9u << 20);
}

}  // namespace
}  // namespace locus::raft
