// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <filesystem>

#include "locus/engine/sqlite.h"
#include "tests/strict/strict_store_contract.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

namespace fs = std::filesystem;
using Verdict = StrictGrant::Verdict;

std::unique_ptr<SqliteStrictStore> MustOpen(const std::string& path, Clock& clock) {
  SqliteSegmentStore::Options options;
  options.create = true;
  options.busy_timeout = absl::Seconds(30);
  auto store = SqliteStrictStore::Open(path, options, clock);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

class SqliteUnderTest : public StrictStoreUnderTest {
 public:
  std::unique_ptr<StrictStore> Connect() override {
    return MustOpen(directory_ / "store.db", clock_);
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  TemporaryDirectory directory_;
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, StrictStoreContract,
                         ::testing::Values(StrictEngine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

class SqliteStrictStoreTest : public ::testing::Test {
 protected:
  SqliteStrictStoreTest() : path_(directory_ / "store.db"), store_(MustOpen(path_, clock_)) {
    options_.uids = 1'000'000;
    EXPECT_TRUE(store_->Create(set_, options_, {.first_ever = true}).ok());
  }
  StrictOwner Owner(const std::string& name) const { return {name, "", 1000}; }
  StrictGrant Take(const std::string& name, uint32_t section = 3) {
    auto reply = store_->Take(set_, options_, {Owner(name), {{section, 0}}});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->items[0] : StrictGrant();
  }
  StrictExtended Extend(const std::string& name, const StrictGrant& grant, uint64_t raise_to = 0) {
    auto reply = store_->Extend(
        set_, options_, {Owner(name), {{grant.section, grant.token, grant.max_seq, raise_to}}});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->items[0] : StrictExtended();
  }
  void Reopen() {
    store_.reset();
    store_ = MustOpen(path_, clock_);
  }

  TemporaryDirectory directory_;
  fakes::ManualClock clock_;
  const std::string path_;
  const SpaceName set_;
  StrictSetOptions options_;
  std::unique_ptr<SqliteStrictStore> store_;
};

TEST_F(SqliteStrictStoreTest, Reopened_ContinuesWithoutALoss) {
  const StrictGrant a = Take("a");
  Reopen();
  EXPECT_TRUE(Extend("a", a).held);
  EXPECT_EQ(store_->Show(set_)->losses, 0u);
}

TEST_F(SqliteStrictStoreTest, OldCopyPutBack_RestsAndStartsAbove) {
  const StrictGrant a = Take("a");
  store_.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  store_ = MustOpen(path_, clock_);
  const StrictGrant b = Take("b", 5);
  EXPECT_EQ(Extend("b", b, 500'000).max_seq, 500'000u);
  store_.reset();
  fs::copy_file(directory_ / "copy.db", path_, fs::copy_options::overwrite_existing);
  store_ = MustOpen(path_, clock_);
  EXPECT_EQ(Take("c", 5).verdict, Verdict::kResting);
  EXPECT_TRUE(Extend("a", a).held) << "the copy knows its owner";
  EXPECT_EQ(store_->Show(set_)->losses, 1u) << "noticed once";
  clock_.Advance(options_.ttl + absl::Milliseconds(1));
  const StrictGrant c = Take("c", 5);
  EXPECT_EQ(c.verdict, Verdict::kGranted);
  EXPECT_GT(c.start, 500'000u);
}

// The same copy twice: what was granted after the first time must not come again.
TEST_F(SqliteStrictStoreTest, CopyPutBackTwice_StartsAboveTheFirstTime) {
  store_.reset();
  fs::copy_file(path_, directory_ / "copy.db");
  uint64_t highest = 0;
  for (int i = 0; i < 2; ++i) {
    fs::copy_file(directory_ / "copy.db", path_, fs::copy_options::overwrite_existing);
    store_ = MustOpen(path_, clock_);
    EXPECT_EQ(Take("a").verdict, i == 0 ? Verdict::kGranted : Verdict::kResting);
    clock_.Advance(options_.ttl + absl::Milliseconds(1));
    const StrictGrant a = Take("a");
    EXPECT_GE(a.start, highest);
    highest = Extend("a", a, a.max_seq + 1'000'000).max_seq;
    store_.reset();
  }
}

TEST_F(SqliteStrictStoreTest, FileDeletedBesideItsSidecar_CreatedAgain_RestsAndStartsAbove) {
  Take("a");
  store_.reset();
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix);
  store_ = MustOpen(path_, clock_);
  ASSERT_TRUE(store_->Create(set_, options_, {.first_ever = true}).ok());
  EXPECT_EQ(Take("b").verdict, Verdict::kResting);
  clock_.Advance(options_.ttl + absl::Milliseconds(1));
  EXPECT_GE(Take("b").start, kStrictLossMargin);
}

TEST_F(SqliteStrictStoreTest, RowThatCannotBe_IsDataLoss) {
  Take("a");
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "UPDATE locus_strict_section SET start = max_seq + 1", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  const absl::Status status = store_->Show(set_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

}  // namespace
}  // namespace locus
