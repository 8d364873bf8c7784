// SPDX-License-Identifier: Apache-2.0
// As plain_counters_test, for accounts with few rights and stores without the table of types.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "tests/engine/mysql/mariadb_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

class MysqlPlainCountersTest : public ::testing::Test {
 protected:
  static absl::StatusOr<std::string_view> Password() { return "s3cret"; }
  std::string UriOf(const std::string& user) const {
    return absl::StrCat("mysql://", user, "@127.0.0.1:", server_.port(), "/", options_.database);
  }
  std::unique_ptr<Sequencer> PlainOf(const std::string& user) {
    return OpenSequencer(UriOf(user), {.password = Password}).value();
  }
  void Grant(const std::string& rights) {
    server_.Sql(
        absl::StrCat("CREATE OR REPLACE USER numbers@'127.0.0.1' IDENTIFIED BY 's3cret';", rights));
  }

  MariadbServer& server_ = SharedMariadb();
  const MysqlOptions options_ = FreshMariadbDatabase();
};

TEST_F(MysqlPlainCountersTest, StoreWithoutTableOfTypes_CountsAnyNameUntilThereIsOne) {
  Grant(absl::StrCat("GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON ", options_.database,
                     ".* TO numbers@'127.0.0.1'"));
  auto plain = PlainOf("numbers");
  EXPECT_EQ(plain->Next("invoices").value(), 1);
  auto types =
      OpenSequenceTypeStore(UriOf("numbers"), {.password = Password, .create = true}).value();
  SequenceType type;
  type.name = "invoices";
  EXPECT_TRUE(absl::IsFailedPrecondition(types->Create(type).status()));
  type.name = "tickets";
  ASSERT_TRUE(types->Create(type).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->Next("tickets").status()));
  EXPECT_EQ(plain->Next("invoices").value(), 2);
}

TEST_F(MysqlPlainCountersTest, AccountThatMayNotReadTypes_IsToldSo) {
  const std::string& db = options_.database;
  ASSERT_TRUE(MysqlSequenceTypeStore::CreateSchema(options_).ok());
  std::string rights;
  for (const char* table : {"`sequence`", "sequence_type", "locus_birth", "locus_schema"}) {
    absl::StrAppend(&rights, "GRANT SELECT, INSERT, UPDATE, DELETE ON ", db, ".", table,
                    " TO numbers@'127.0.0.1';");
  }
  Grant(rights);
  auto plain = PlainOf("numbers");
  EXPECT_EQ(plain->Next("Invoices").value(), 1) << "no name of a type";
  const absl::Status status = plain->Next("invoices").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("whether counter \"invoices\" is of a sequence type"));
  EXPECT_THAT(status.message(), HasSubstr("locus_sequence_type")) << status;
  server_.Sql(absl::StrCat("GRANT SELECT ON ", db, ".locus_sequence_type TO numbers@'127.0.0.1'"));
  EXPECT_EQ(PlainOf("numbers")->Next("invoices").value(), 1);
}

TEST_F(MysqlPlainCountersTest, DatabaseThatIsMadeAnewUnderAService_BeginsNoCounter) {
  const std::string uri = UriOf("locus");
  const SequencerUriOptions marked{.password = Password, .marked = true};
  ASSERT_TRUE(OpenSegmentStore(uri, {.password = Password, .create = true}).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(OpenSequencer(uri, marked).status()));
  ASSERT_TRUE(MarkFirstStart(uri, {.password = Password}, absl::Now()).ok());
  const auto counters = OpenSequencer(uri, marked).value();
  EXPECT_EQ(counters->Next("Invoices").value(), 1);
  server_.Sql(absl::StrCat("TRUNCATE ", options_.database, ".`sequence`"));
  const absl::Status status = counters->Next("Returns").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("has no mark of a first start"));
}

}  // namespace
}  // namespace locus
