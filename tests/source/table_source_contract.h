// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_TABLE_SOURCE_CONTRACT_H_
#define LOCUS_TESTS_SOURCE_TABLE_SOURCE_CONTRACT_H_

#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "tests/source/table_place.h"

namespace locus {

// The rules that every TableSource keeps. An engine's test instantiates it and links
// locus_table_source_suite.
class TableSourceContract : public ::testing::TestWithParam<TablePlaceKind> {
 protected:
  TableSourceContract();

  // Makes the table the newest, by the place's publisher where it has one.
  void Put(const RoutingTable& table);
  // The next answer of source_; within a deadline that is long beside all that a test may take.
  // Fails the test where the answer is an error or no news.
  SourcedTable NextNews(const std::string& known);
  absl::StatusOr<std::optional<SourcedTable>> NextWithin(const std::string& known,
                                                         absl::Duration within);

  std::unique_ptr<TablePlaceUnderTest> place_;
  std::unique_ptr<TableSource> source_;
  std::unique_ptr<TablePublisher> publisher_;  // may be nullptr
  uint64_t published_ = 0;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_TABLE_SOURCE_CONTRACT_H_
