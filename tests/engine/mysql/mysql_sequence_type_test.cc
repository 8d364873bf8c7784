// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/number/sequence_type_store_contract.h"

namespace locus {
namespace {

MysqlOptions WithTypes() {
  MysqlOptions options = FreshMariadbDatabase();
  absl::Status created = MysqlSequenceTypeStore::CreateSchema(options);
  EXPECT_TRUE(created.ok()) << created;
  return options;
}

class MysqlTypesUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return MysqlSequenceTypeStore::Open(options_).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return MysqlSequencer::Open(options_, options).value();
  }

 private:
  const MysqlOptions options_ = WithTypes();
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "mariadb", [] { return std::make_unique<MysqlTypesUnderTest>(); }}));

TEST(MysqlSequenceTypeTest, MissingTable_IsNotFoundAndMadeOnce) {
  MysqlOptions options = FreshMariadbDatabase();
  absl::Status status = MysqlSequenceTypeStore::Open(options).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("seq type create"), absl::string_view::npos) << status;
  ASSERT_TRUE(MysqlSequenceTypeStore::CreateSchema(options).ok());
  SequenceType type;
  type.name = "a";
  ASSERT_TRUE(MysqlSequenceTypeStore::Open(options).value()->Create(type).ok());
  ASSERT_TRUE(MysqlSequenceTypeStore::CreateSchema(options).ok());
  EXPECT_TRUE(MysqlSequenceTypeStore::Open(options).value()->Find("a").ok());
}

// More than one answer may have, by their number and by their size.
TEST(MysqlSequenceTypeTest, AnyNumberOfTypes_AreListed) {
  const MysqlOptions options = WithTypes();
  auto store = MysqlSequenceTypeStore::Open(options).value();
  auto session = SqlSession::Open(options).value();
  for (const char* rows : {"SELECT CONCAT('a', seq), 1, 'x', NOW() FROM seq_1_to_100001",
                           "SELECT CONCAT('b', seq), 1, REPEAT('x', 4096), NOW() FROM"
                           " seq_1_to_5000"}) {
    ASSERT_TRUE(session->Run(absl::StrCat("INSERT INTO locus_sequence_type ", rows)).ok());
  }
  const auto all = store->ListAny();
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->size(), 105'001u);
}

}  // namespace
}  // namespace locus
