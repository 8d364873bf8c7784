// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/wal_check.h"

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/raft/core/codec.h"
#include "src/raft/log/log_store.h"
#include "tests/raft/log/file_bytes.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

using ::testing::HasSubstr;

constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameBytes = 24 + 4096;

std::string TextOf(const LogStore::Stored& stored) {
  const Remembered& node = stored.remembered;
  std::string text = absl::StrCat(node.self, " ", node.vote.term, " ", stored.state, " ");
  for (const Entry& entry : node.entries) absl::StrAppend(&text, Encode(entry));
  return text;
}

// The files that kill -9 leaves of a node after some transactions.
class WalCheckTest : public ::testing::Test {
 protected:
  // With old frames behind the end of PATH-wal if `anew`.
  void Live(bool anew) {
    std::minstd_rand random(7);
    auto store = LogStore::Create(path_, kCluster).value();
    Index last = 0;
    auto apply = [&](size_t bytes) {
      Write write;
      write.vote = Vote{last + 1, 1};
      write.from = ++last;
      write.entries.push_back({last, Entry::Kind::kCommand, std::string(bytes, 'e'), {}});
      ASSERT_TRUE(store->Apply({&write, 1}).ok());
    };
    if (anew) {
      apply(10);
      ASSERT_TRUE(store->Compact({1, 1, {}}, std::string(3 << 20, 's')).ok());
      apply(10);
      ASSERT_TRUE(store->Compact({2, 1, {}}, "s").ok());
      ASSERT_GT(Read(path_ + "-wal").size(), 1000 * kFrameBytes);
      ASSERT_TRUE(store->Tidy().ok());
    }
    for (int step = 0; step < 60; ++step) apply(random() % 9000);
    before_last_ = TextOf(store->Load().value());
    wal_before_last_ = Read(path_ + "-wal");
    apply(20000);  // many frames
    end_ = TextOf(store->Load().value());
    file_ = Read(path_);
    wal_ = Read(path_ + "-wal");
    store.reset();
    ASSERT_EQ(wal_.size() % kFrameBytes, kHeaderBytes);
    // Its first and the end of its last frame.
    size_t from = kHeaderBytes;
    const std::string salts = wal_.substr(16, 8);
    while (from < wal_before_last_.size() &&
           wal_.compare(from, kFrameBytes, wal_before_last_, from, kFrameBytes) == 0) {
      from += kFrameBytes;
    }
    last_from_ = last_end_ = from;
    while (last_end_ < wal_.size() && wal_.substr(last_end_ + 8, 8) == salts) {
      last_end_ += kFrameBytes;
    }
    ASSERT_GE(last_end_ - last_from_, 4 * kFrameBytes);
    ASSERT_EQ(anew, last_end_ < wal_.size());
  }

  absl::StatusOr<std::string> Start(const std::string& wal) {
    Put(path_, file_);
    Put(path_ + "-wal", wal);
    std::filesystem::remove(path_ + "-mark");  // as after a power cut
    auto store = LogStore::Open(path_, kCluster);
    if (!store.ok()) return store.status();
    auto stored = (*store)->Load();
    if (!stored.ok()) return stored.status();
    return TextOf(*stored);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_ / "log";
  std::string file_, wal_, wal_before_last_, before_last_, end_;
  size_t last_from_ = 0, last_end_ = 0;
};

TEST_F(WalCheckTest, FlippedBit_LosesNothingBeforeTheLastTransactionUnsaid) {
  for (const bool anew : {false, true}) {
    std::filesystem::remove(path_);
    Live(anew);
    EXPECT_TRUE(Start(wal_).value() == end_);
    std::minstd_rand random(3);
    std::vector<std::pair<size_t, int>> flips;
    for (int i = 0; i < (kUnderAsan ? 40 : 250); ++i) {
      flips.emplace_back(kHeaderBytes + random() % (last_end_ - kHeaderBytes), random() % 8);
    }
    // The headers of the last two frames before the last transaction, and its own first one.
    for (size_t frame = last_from_ - 2 * kFrameBytes; frame <= last_from_; frame += kFrameBytes) {
      for (size_t at = 0; at < 24; ++at) flips.emplace_back(frame + at, random() % 8);
    }
    int lost = 0, last = 0, same = 0;
    for (const auto& [at, bit] : flips) {
      std::string wal = wal_;
      wal[at] = static_cast<char>(wal[at] ^ (1 << bit));
      const auto text = Start(wal);
      if (!text.ok()) {
        ++lost;
        EXPECT_EQ(text.status().code(), absl::StatusCode::kDataLoss) << text.status();
        const size_t frame = (at - kHeaderBytes) / kFrameBytes;
        EXPECT_THAT(std::string(text.status().message()),
                    HasSubstr(absl::StrCat(path_, "-wal: frame ", frame + 1, " (at byte ",
                                           kHeaderBytes + frame * kFrameBytes, ")")));
      } else if (*text == end_) {
        ++same;
      } else {
        ++last;
        EXPECT_GE(at, last_from_) << "bit " << bit << ": an older state";
        EXPECT_TRUE(*text == before_last_) << at;
      }
    }
    std::printf("%d refused, %d without the last transaction, %d whole\n", lost, last, same);
    EXPECT_GT(lost, 20);
    EXPECT_GT(last, 0);
  }
}

// Any part of what was not synced yet may be on the disk, in any order.
TEST_F(WalCheckTest, LastTransactionTornByAPowerCut_IsDropped) {
  for (const bool anew : {false, true}) {
    std::filesystem::remove(path_);
    Live(anew);
    std::minstd_rand random(5);
    int dropped = 0;
    for (int round = 0; round < (kUnderAsan ? 20 : 150); ++round) {
      std::string wal = wal_;
      wal_before_last_.resize(wal_.size());  // zeros where the file grew
      for (size_t sector = last_from_ / 512 * 512; sector < last_end_; sector += 512) {
        if (random() % 16 > static_cast<unsigned>(round % 16)) continue;
        const size_t bytes = std::min<size_t>(512, wal.size() - sector);
        wal.replace(sector, bytes, wal_before_last_, sector, bytes);
      }
      if (!anew && round % 5 == 4) wal.resize(last_from_ + random() % (last_end_ - last_from_));
      const auto text = Start(wal);
      ASSERT_TRUE(text.ok()) << text.status();
      if (*text == end_) continue;
      ++dropped;
      EXPECT_TRUE(*text == before_last_) << round;
    }
    EXPECT_GT(dropped, 10);
  }
}

TEST_F(WalCheckTest, NoLogOrAnotherFile_IsLeftToSqlite) {
  EXPECT_TRUE(CheckWal(path_).ok());
  for (const std::string& bytes : {std::string(), std::string(31, 'x'), std::string(9000, 'x')}) {
    Put(path_ + "-wal", bytes);
    EXPECT_TRUE(CheckWal(path_).ok()) << bytes.size();
  }
  std::filesystem::remove(path_ + "-wal");
  std::filesystem::create_directory(path_ + "-wal");
  EXPECT_FALSE(CheckWal(path_).ok());
}

}  // namespace
}  // namespace locus::raft
