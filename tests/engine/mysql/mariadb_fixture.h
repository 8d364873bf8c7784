// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_MARIADB_FIXTURE_H_
#define LOCUS_TESTS_ENGINE_MYSQL_MARIADB_FIXTURE_H_

#include <memory>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/mysql.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/segment/segment_words.h"

namespace locus {

// Fails the test when refused.
inline std::unique_ptr<MysqlSegmentStore> MustOpen(const MysqlOptions& options) {
  auto store = MysqlSegmentStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A database with locus tables on the shared server.
class MysqlTest : public ::testing::Test {
 protected:
  MariadbServer& server_ = SharedMariadb();
  const MysqlOptions options_ = FreshMariadbDatabase();
  const std::string db_ = options_.database;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_MARIADB_FIXTURE_H_
