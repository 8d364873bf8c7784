// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/engine/mysql.h"
#include "locus/strict_sequencer.h"
#include "src/engine/mysql/store_time.h"
#include "src/engine/mysql/strict_rows.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/strict/strict_store_contract.h"

namespace locus {

using internal::MysqlStoreTime;

namespace {

using Verdict = StrictGrant::Verdict;

std::unique_ptr<MysqlStrictStore> MustOpen(const MysqlOptions& options) {
  auto store = MysqlStrictStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

MysqlOptions FreshStrictDatabase() {
  MysqlOptions options = FreshMariadbDatabase();
  const absl::Status status = MysqlStrictStore::CreateSchema(options);
  EXPECT_TRUE(status.ok()) << status;
  return options;
}

class MysqlUnderTest : public StrictStoreUnderTest {
 public:
  std::unique_ptr<StrictStore> Connect() override {
    auto store = MustOpen(options_);
    MysqlStoreTime::Tell(*store, clock_);
    return store;
  }
  fakes::ManualClock& clock() override { return clock_; }

 private:
  const MysqlOptions options_ = FreshStrictDatabase();
  fakes::ManualClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Mariadb, StrictStoreContract,
                         ::testing::Values(StrictEngine{
                             "mariadb", [] { return std::make_unique<MysqlUnderTest>(); }}));

class MysqlStrictStoreTest : public ::testing::Test {
 protected:
  MysqlStrictStoreTest() {
    set_options_.uids = 1'000'000;
    EXPECT_TRUE(store_->Create(set_, set_options_, {.first_ever = true}).ok());
  }
  StrictOwner Owner(const std::string& name) const { return {name, "", UINT64_MAX}; }
  StrictGrant Take(const std::string& name, uint32_t section = 3) {
    auto reply = store_->Take(set_, set_options_, {Owner(name), {{section, 0}}});
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? reply->items[0] : StrictGrant();
  }
  void Sql(const std::string& statements) {
    SharedMariadb().Sql(absl::StrCat("USE ", options_.database, "; ", statements));
  }

  const MysqlOptions options_ = FreshStrictDatabase();
  const SpaceName set_;
  StrictSetOptions set_options_;
  std::unique_ptr<MysqlStrictStore> store_ = MustOpen(options_);
};

TEST_F(MysqlStrictStoreTest, StoreTime_IsTheServersClock) {
  const absl::Time before = absl::Now();
  Take("a");
  const StrictSetView view = *store_->Show(set_);
  EXPECT_GE(view.sections[0].ends_at, before + set_options_.ttl - absl::Milliseconds(1));
  EXPECT_LE(view.sections[0].ends_at, absl::Now() + set_options_.ttl);
}

TEST_F(MysqlStrictStoreTest, NoTables_SaysHowToMakeThem) {
  const absl::Status status = MysqlStrictStore::Open(FreshMariadbDatabase()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_NE(status.message().find("CreateSchema"), absl::string_view::npos) << status;
}

TEST_F(MysqlStrictStoreTest, AnotherVersion_IsRefused) {
  Sql("UPDATE locus_strict_birth SET version = 2");
  EXPECT_EQ(MysqlStrictStore::Open(options_).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// A replica that is promoted has another server ID.
TEST_F(MysqlStrictStoreTest, AnotherServer_IsALossWhateverTheCallAnswers) {
  const StrictGrant a = Take("a");
  Sql("UPDATE locus_strict_sets SET identity = 'server/another'");
  EXPECT_EQ(Take("b", 5).verdict, Verdict::kResting);
  EXPECT_EQ(store_->Show(set_)->losses, 1u);
  auto extended = store_->Extend(set_, set_options_, {Owner("a"), {{3, a.token, a.max_seq, 0}}});
  ASSERT_TRUE(extended.ok()) << extended.status();
  EXPECT_TRUE(extended->items[0].held);
  EXPECT_GE(extended->items[0].max_seq, kStrictLossMargin);
  EXPECT_EQ(store_->Show(set_)->losses, 1u) << "noticed once";
}

// A dump that is put back makes the tables anew.
TEST_F(MysqlStrictStoreTest, DumpPutBack_IsALoss) {
  Take("a");
  Sql("CREATE TABLE kept AS SELECT * FROM locus_strict_birth;"
      "DROP TABLE locus_strict_birth;"
      "CREATE TABLE locus_strict_birth (one TINYINT NOT NULL CHECK (one = 1),"
      " version INT NOT NULL, PRIMARY KEY (one)) WITH SYSTEM VERSIONING;"
      "INSERT INTO locus_strict_birth SELECT * FROM kept; DROP TABLE kept");
  EXPECT_EQ(Take("b", 5).verdict, Verdict::kResting);
  EXPECT_EQ(store_->Show(set_)->losses, 1u);
}

TEST_F(MysqlStrictStoreTest, RowThatCannotBe_IsDataLoss) {
  Take("a");
  Sql("UPDATE locus_strict_sections SET start = max_seq + 1");
  EXPECT_EQ(store_->Show(set_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(MysqlStrictStoreTest, AllSectionsAtOnce_AreReadInPages) {
  const SpaceName name = *SpaceName::Parse("large");
  StrictSetOptions large;
  large.section_size = 64;
  large.uids = 64 * 5000;
  ASSERT_TRUE(store_->Create(name, large, {.first_ever = true}).ok());
  for (uint32_t first : {0u, 4096u}) {
    StrictTake request{Owner("a"), {}};
    for (uint32_t i = first; i < std::min(first + 4096, 5000u); ++i) {
      request.wishes.push_back({i, 0});
    }
    auto reply = store_->Take(name, large, request);
    ASSERT_TRUE(reply.ok()) << reply.status();
  }
  auto view = store_->Show(name);
  ASSERT_TRUE(view.ok()) << view.status();
  ASSERT_EQ(view->sections.size(), 5000u);
  EXPECT_EQ(view->sections.back().section, 4999u);
  EXPECT_EQ(view->sections.back().owner, Owner("a"));
}

TEST_F(MysqlStrictStoreTest, StalledServer_OwnersKeepAnsweringAndTheStoreIsUnavailable) {
  MariadbServer server;
  ASSERT_TRUE(server.Start()) << server.LogTail();
  MysqlOptions options = server.OptionsFor("locus_strict");
  ASSERT_TRUE(MysqlStrictStore::CreateSchema(options).ok());
  ASSERT_TRUE(MustOpen(options)->Create(set_, set_options_, {.first_ever = true}).ok());
  options.timeout = absl::Seconds(1);
  std::shared_ptr<StrictStore> store = MustOpen(options);
  StrictSequencerOptions of_owner;
  of_owner.options = set_options_;
  of_owner.name = "a";
  auto owner = StrictSequencer::Open(store, of_owner);
  ASSERT_TRUE(owner.ok()) << owner.status();
  ASSERT_TRUE((*owner)->Take(std::vector<uint32_t>{3}).ok());
  server.Stall();
  EXPECT_EQ(*(*owner)->TryNext(300'000), 1u);
  EXPECT_EQ((*owner)->Take(std::vector<uint32_t>{4}).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(*(*owner)->TryNext(300'000), 2u);
  server.Resume();
  EXPECT_TRUE(WaitUntil([&] {
    const auto later = (*owner)->Take(std::vector<uint32_t>{4});
    return later.ok() && later->items[0].verdict == Verdict::kGranted;
  }));
}

}  // namespace
}  // namespace locus
