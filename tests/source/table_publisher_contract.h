// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_TABLE_PUBLISHER_CONTRACT_H_
#define LOCUS_TESTS_SOURCE_TABLE_PUBLISHER_CONTRACT_H_

#include <memory>

#include "gtest/gtest.h"
#include "tests/source/table_place.h"

namespace locus {

// The rules that every TablePublisher keeps. An engine's test instantiates it and links
// locus_table_publisher_suite.
class TablePublisherContract : public ::testing::TestWithParam<TablePlaceKind> {
 protected:
  TablePublisherContract() : place_(GetParam().make()), publisher_(place_->MakePublisher()) {}

  std::unique_ptr<TablePlaceUnderTest> place_;
  std::unique_ptr<TablePublisher> publisher_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_TABLE_PUBLISHER_CONTRACT_H_
