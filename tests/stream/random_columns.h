// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_RANDOM_COLUMNS_H_
#define LOCUS_TESTS_STREAM_RANDOM_COLUMNS_H_

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace locus {

using Random = std::mt19937_64;

// A column of a test's table: its definition, and random values for it as SQL.
struct RandomColumn {
  std::string type;
  std::function<std::string(Random&)> literal;
  bool generated = false;  // by the server
};

std::vector<RandomColumn> NumberColumns();
std::vector<RandomColumn> DecimalColumns();  // every scale, every number of odd digits
std::vector<RandomColumn> BitColumns();      // 1 to 64 bits
std::vector<RandomColumn> TimeColumns();     // every number of digits of a second, zero dates
std::vector<RandomColumn> TextColumns();     // of many character sets
std::vector<RandomColumn> BlobColumns();
std::vector<RandomColumn> OtherColumns();  // ENUM, SET, UUID, INET, GEOMETRY, INVISIBLE, generated
std::vector<RandomColumn> CompressedColumns();

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_RANDOM_COLUMNS_H_
