// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MARIADB_MARIADB_FIXTURE_H_
#define LOCUS_TESTS_ENGINE_MARIADB_MARIADB_FIXTURE_H_

#include <memory>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/mariadb.h"
#include "tests/engine/mariadb/mariadb_server.h"
#include "tests/lease/lease_words.h"

namespace locus {

// Fails the test when refused.
inline std::unique_ptr<MariadbSegmentStore> MustOpen(const MariadbOptions& options) {
  auto store = MariadbSegmentStore::Open(options);
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// A database with locus tables on the shared server.
class MariadbTest : public ::testing::Test {
 protected:
  MariadbServer& server_ = SharedMariadb();
  const MariadbOptions options_ = FreshMariadbDatabase();
  const std::string db_ = options_.database;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MARIADB_MARIADB_FIXTURE_H_
