// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_VERIFY_VERIFY_FIXTURE_H_
#define LOCUS_TESTS_VERIFY_VERIFY_FIXTURE_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "migration/verify/row_verifier.h"
#include "tests/apply/two_servers.h"

namespace locus {

// Two shards with a table `items`, and what else a test makes.
class VerifyTest : public TwoServersTest {
 protected:
  // As the tools of a move write: no trigger changes the version.
  static void Write(size_t server, const std::string& statements) {
    auto session = SqlSession::Open(As(server, "mover"));
    ASSERT_TRUE(session.ok()) << session.status();
    auto done = (*session)->Run(statements);
    ASSERT_TRUE(done.ok()) << statements << ": " << done.status();
  }
  static void WriteBoth(const std::string& statements) {
    for (size_t server : {0, 1}) Write(server, statements);
  }

  // In slices of `rows`, or as many as the verifier likes.
  mysql::VerifierOptions Comparing(const MovedTable& table, uint64_t rows = 0) const {
    mysql::VerifierOptions options;
    options.source = As(0, "mover");
    options.target = As(1, "mover");
    options.tables = {table};
    options.ranges = {{0, 99}};
    if (rows > 0) options.least_rows = options.most_rows = rows;
    return options;
  }

  static std::unique_ptr<mysql::RowVerifier> MustOpen(const mysql::VerifierOptions& options) {
    auto verifier = mysql::RowVerifier::Open(options);
    EXPECT_TRUE(verifier.ok()) << verifier.status();
    return *std::move(verifier);
  }
  static std::unique_ptr<mysql::RowVerifier> Verified(const mysql::VerifierOptions& options) {
    auto verifier = MustOpen(options);
    for (bool more = true; more;) {
      auto slice = verifier->VerifySlice();
      EXPECT_TRUE(slice.ok()) << slice.status();
      more = slice.ok() && *slice;
    }
    return verifier;
  }
  // A line for each difference.
  static std::vector<std::string> Lines(const mysql::RowVerifier& verifier) {
    std::vector<std::string> lines;
    for (const auto& difference : verifier.differences()) {
      lines.push_back(internal::TextOf(difference));
    }
    return lines;
  }
  static std::set<std::string> Keys(const mysql::RowVerifier& verifier) {
    std::set<std::string> keys;
    for (const auto& difference : verifier.differences()) {
      EXPECT_TRUE(keys.insert(difference.key).second) << difference.key << " twice";
    }
    return keys;
  }
};

}  // namespace locus

#endif  // LOCUS_TESTS_VERIFY_VERIFY_FIXTURE_H_
