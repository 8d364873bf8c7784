// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_APPLY_ROW_COPIER_FIXTURE_H_
#define LOCUS_TESTS_APPLY_ROW_COPIER_FIXTURE_H_

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "migration/apply/row_copier.h"
#include "tests/apply/two_servers.h"

namespace locus {

class RowCopierTest : public TwoServersTest {
 protected:
  mysql::CopierOptions Copying() const {
    mysql::CopierOptions options;
    options.source = As(0, "mover");
    options.table = table_;
    options.ranges = {{0, 99}};
    return options;
  }
  std::unique_ptr<mysql::RowCopier> MustOpen(const mysql::CopierOptions& options,
                                             mysql::ChangeApplier& target) {
    auto copier = mysql::RowCopier::Open(options, target);
    EXPECT_TRUE(copier.ok()) << copier.status();
    return *std::move(copier);
  }
};

}  // namespace locus

#endif  // LOCUS_TESTS_APPLY_ROW_COPIER_FIXTURE_H_
