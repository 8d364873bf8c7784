// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/mariadb/mariadb_fixture.h"
#include "tests/sequence_type/sequence_type_store_contract.h"

namespace locus {
namespace {

MariadbOptions WithTypes() {
  MariadbOptions options = FreshMariadbDatabase();
  absl::Status created = MariadbSequenceTypeStore::CreateSchema(options);
  EXPECT_TRUE(created.ok()) << created;
  return options;
}

class MariadbTypesUnderTest : public SequenceTypeStoreUnderTest {
 public:
  std::shared_ptr<SequenceTypeStore> Connect() override {
    return MariadbSequenceTypeStore::Open(options_).value();
  }
  std::unique_ptr<Sequencer> Counters(const SequencerOptions& options) override {
    return MariadbSequencer::Open(options_, options).value();
  }

 private:
  const MariadbOptions options_ = WithTypes();
};

INSTANTIATE_TEST_SUITE_P(Mariadb, SequenceTypeStoreContract,
                         ::testing::Values(SequenceTypeEngine{
                             "mariadb", [] { return std::make_unique<MariadbTypesUnderTest>(); }}));

TEST(MariadbSequenceTypeTest, MissingTable_IsNotFoundAndMadeOnce) {
  MariadbOptions options = FreshMariadbDatabase();
  absl::Status status = MariadbSequenceTypeStore::Open(options).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_NE(status.message().find("seq type create"), absl::string_view::npos) << status;
  ASSERT_TRUE(MariadbSequenceTypeStore::CreateSchema(options).ok());
  SequenceType type;
  type.name = "a";
  ASSERT_TRUE(MariadbSequenceTypeStore::Open(options).value()->Create(type).ok());
  ASSERT_TRUE(MariadbSequenceTypeStore::CreateSchema(options).ok());
  EXPECT_TRUE(MariadbSequenceTypeStore::Open(options).value()->Find("a").ok());
}

}  // namespace
}  // namespace locus
