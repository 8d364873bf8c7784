// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

SqliteSegmentStore::Options Creating() {
  SqliteSegmentStore::Options options;
  options.create = true;
  options.busy_timeout = absl::Seconds(30);
  return options;
}

class SqliteUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return SqliteSequenceTypeStore::Open(directory_ / "store.db", Creating()).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return SqliteSequencer::Open(directory_ / "store.db", Creating(), options).value();
  }

 private:
  TemporaryDirectory directory_;
};

INSTANTIATE_TEST_SUITE_P(Sqlite, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "sqlite", [] { return std::make_unique<SqliteUnderTest>(); }}));

class SqliteSequenceTypeTest : public SqliteTest {};

TEST_F(SqliteSequenceTypeTest, MissingFile_IsCreatedOnlyWhenAsked) {
  absl::Status status = SqliteSequenceTypeStore::Open(path_, {}).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(SqliteSequenceTypeTest, RowThatIsNoType_IsDataLossOfThatTypeAlone) {
  auto store = SqliteSequenceTypeStore::Open(path_, Creating()).value();
  SequenceType type;
  type.name = "a";
  ASSERT_TRUE(store->Create(type).ok());
  type.name = "b";
  ASSERT_TRUE(store->Create(type).ok());
  sqlite3* db;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "UPDATE locus_sequence_type SET rule = CAST('step=0' AS BLOB)"
                         " WHERE name = CAST('a' AS BLOB)",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  absl::Status status = store->Find("a").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("\"a\""), absl::string_view::npos) << status;
  EXPECT_TRUE(store->Find("b").ok());
  EXPECT_NE(status.message().find("seq type drop a --version"), absl::string_view::npos) << status;
  EXPECT_TRUE(absl::IsDataLoss(store->List().status()));
  const auto all = store->ListAny().value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_FALSE(all[0].is_readable() || all[0].is_dropped);
  EXPECT_TRUE(all[1].is_readable());

  // Dropped, it is compared with nothing.
  ASSERT_TRUE(store->Drop("a", all[0].type.version).ok());
  EXPECT_FALSE(store->FindAny("a")->is_readable());
  type.name = "a";
  status = store->Create(type).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("cannot be compared"), absl::string_view::npos) << status;
  std::optional<SequenceType> before = type;
  store->set_on_event([&](const SequenceTypeEvent& event) { before = event.before; });
  EXPECT_TRUE(store->Create(type, SequenceTypeStore::Repeats::kAllowed).ok());
  EXPECT_FALSE(before) << "it could not be read";
}

TEST_F(SqliteSequenceTypeTest, OlderTypeWithAShortExpiry_IsAlteredButForThat) {
  auto store = SqliteSequenceTypeStore::Open(path_, Creating()).value();
  SequenceType type;
  type.name = "a";
  type.expiry = absl::Seconds(10);
  ASSERT_TRUE(store->Create(type).ok());
  sqlite3* db;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "UPDATE locus_sequence_type SET rule ="
                         " CAST(replace(CAST(rule AS TEXT), 'expiry_ms=10000', 'expiry_ms=5000')"
                         " AS BLOB)",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  type = store->Find("a").value();
  ASSERT_EQ(type.expiry, absl::Seconds(5));
  type.step = 7;
  type = store->Alter(type).value();
  type.expiry = absl::Seconds(6);
  EXPECT_TRUE(
      absl::IsInvalidArgument(store->Alter(type, SequenceTypeStore::Repeats::kAllowed).status()));
}

}  // namespace
}  // namespace locus
