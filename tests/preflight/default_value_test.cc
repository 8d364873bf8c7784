// SPDX-License-Identifier: Apache-2.0
#include "migration/preflight/default_value.h"

#include "gtest/gtest.h"

namespace locus::preflight {
namespace {

TEST(PartOfOneServerTest, ValueThatEachServerGivesAlike_HasNone) {
  for (const char* harmless : {"",
                               "NULL",
                               "1",
                               "-1.5e3",
                               "'x'",
                               "'it\\'s nextval(1)'",
                               "'it''s @@server_id (x)'",
                               "current_timestamp(6)",
                               "curdate()",
                               "uuid()",
                               "(1 + 2) * 3",
                               "b'101'",
                               "x'ff'",
                               "_utf8mb4'nextval('",
                               "concat('ORD-',replace(uuid(),'-',''))",
                               "`nextval` + 1",
                               "case when `a` > 0 then (`b`) else (2) end",
                               "cast(`note` as char(20) charset utf8mb4)",
                               "current_timestamp() + interval (1) day",
                               "UNHEX(REPLACE(UUID(), '-', ''))",
                               "json_object('a',1)"}) {
    EXPECT_EQ(PartOfOneServer(harmless), "") << harmless;
  }
}

TEST(PartOfOneServerTest, ValueThatAnotherServerMayGiveAgain_IsNamed) {
  const std::pair<const char*, const char*> parts[] = {
      {"nextval(`shop`.`s`)", "nextval()"},
      {"concat('ORD-',nextval(`shop`.`s`))", "nextval()"},
      {"1 + lastval (`s`)", "lastval()"},
      {"uuid_short()", "uuid_short()"},
      {"rand()", "rand()"},
      {"@@server_id", "@@server_id"},
      {"coalesce(@x, 1)", "@x, 1)"},
      {"connection_id()", "connection_id()"},
      {"database()", "database()"},
      {"last_insert_id()", "last_insert_id()"},
      {"`shop`.`number_of`(1)", "`number_of`()"},
      {"my_udf(1)", "my_udf()"},
      {"'not closed", "'not closed"},
  };
  for (const auto& [expression, part] : parts) EXPECT_EQ(PartOfOneServer(expression), part);
}

}  // namespace
}  // namespace locus::preflight
