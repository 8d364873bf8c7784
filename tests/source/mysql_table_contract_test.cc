// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/routing/engine/mysql.h"
#include "src/base/text/text.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/source/table_publisher_contract.h"
#include "tests/source/table_source_contract.h"

namespace locus {

using internal::HexOf;

namespace {

class MysqlUnderTest : public TablePlaceUnderTest {
 public:
  MysqlUnderTest() {
    static int made = 0;
    options_.mariadb = SharedMariadb().OptionsFor(absl::StrCat("locus_table_", ++made));
    options_.mariadb.timeout = absl::Seconds(30);
    options_.poll_every = absl::Milliseconds(20);
    absl::Status created = MysqlTablePublisher::CreateSchema(options_);
    EXPECT_TRUE(created.ok()) << created;
  }
  std::unique_ptr<TableSource> Follow() override {
    return MysqlTableSource::Open(options_).value();
  }
  std::unique_ptr<TablePublisher> MakePublisher() override {
    return MysqlTablePublisher::Open(options_).value();
  }
  // In place of all that is there; what is no table goes under the newest epoch.
  bool PutRaw(const std::string& document) override {
    auto table = RoutingTable::Parse(document);
    std::string epoch = table.ok() ? absl::StrCat(table->epoch())
                                   : "(SELECT GREATEST(1, epoch) FROM routing_table_head)";
    SharedMariadb().Sql(absl::StrCat(
        "USE ", options_.mariadb.database,
        ";START TRANSACTION;DELETE FROM routing_table;INSERT INTO routing_table (epoch, document)"
        " VALUES (",
        epoch, ", X'", HexOf(document), "');COMMIT"));
    return true;
  }

 private:
  MysqlTableOptions options_;
};

const TablePlaceKind& Mariadb() {
  static const TablePlaceKind kind{
      .name = "mariadb",
      .make = [] { return std::make_unique<MysqlUnderTest>(); },
      .takes_any_text = true,
  };
  return kind;
}
INSTANTIATE_TEST_SUITE_P(Mariadb, TableSourceContract, ::testing::Values(Mariadb()));
INSTANTIATE_TEST_SUITE_P(Mariadb, TablePublisherContract, ::testing::Values(Mariadb()));

// As `locus table init` of earlier versions made them.
TEST(MysqlTableNoteTest, TablesWithoutColumnsOfNotes_TakeTablesUntilTheyAreAdded) {
  const PublicationNote note = {"olga", "add shard 4"};
  MysqlTableOptions options;
  options.mariadb = SharedMariadb().OptionsFor("locus_table_old");
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  SharedMariadb().Sql(
      "USE locus_table_old;ALTER TABLE routing_table DROP COLUMN author, DROP COLUMN reason");
  auto publisher = MysqlTablePublisher::Open(options).value();
  absl::Status published = publisher->Publish(TableOfEpoch(1), 0, {}, note);
  ASSERT_TRUE(published.ok()) << published;
  EXPECT_EQ(publisher->History(1).value()[0].note, PublicationNote());
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  ASSERT_TRUE(publisher->Publish(TableOfEpoch(2), 1, {}, note).ok());
  auto history = publisher->History(10);
  ASSERT_TRUE(history.ok()) << history.status();
  ASSERT_EQ(history->size(), 2u);
  EXPECT_EQ((*history)[0].note, note);
  EXPECT_EQ((*history)[1].note, PublicationNote());
  SharedMariadb().Sql(
      "USE locus_table_old;UPDATE routing_table SET author = CHAR(27, 91) "
      "WHERE epoch = 1");
  EXPECT_EQ(publisher->History(10).value()[1].note.author, "\\x1b[");
}

TEST(MysqlTableNoteTest, AccountThatMayNotAlter_PublishesWithoutNotesAndReportsIt) {
  MysqlTableOptions options;
  options.mariadb = SharedMariadb().OptionsFor("locus_table_no_alter");
  ASSERT_TRUE(MysqlTablePublisher::CreateSchema(options).ok());
  SharedMariadb().Sql(
      "USE locus_table_no_alter;ALTER TABLE routing_table DROP COLUMN author, DROP COLUMN reason;"
      "CREATE OR REPLACE USER no_alter@'%' IDENTIFIED BY 'secret';"
      "GRANT CREATE, SELECT, INSERT ON locus_table_no_alter.* TO no_alter@'%'");
  options.mariadb.user = "no_alter";
  options.mariadb.password = "secret";
  const absl::Status status = MysqlTablePublisher::CreateSchema(options);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              ::testing::AllOf(::testing::HasSubstr("publications go on without"),
                               ::testing::HasSubstr("needs ALTER")));
}

}  // namespace
}  // namespace locus
