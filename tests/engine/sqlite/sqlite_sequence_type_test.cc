// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include "tests/engine/sqlite/sqlite_fixture.h"
#include "tests/sequence_type/sequence_type_store_contract.h"

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

TEST_F(SqliteSequenceTypeTest, RowThatIsNoRule_IsDataLossOfThatTypeAlone) {
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
}

}  // namespace
}  // namespace locus
