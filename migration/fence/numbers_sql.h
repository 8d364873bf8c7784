// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_FENCE_NUMBERS_SQL_H_
#define LOCUS_MIGRATION_FENCE_NUMBERS_SQL_H_

// The beginning of a query, which makes a table numbers with a column i: 0 to 65,535. A recursion
// would end at max_recursive_iterations without an error, and the engine SEQUENCE is not on every
// server.
#define LOCUS_WITH_NUMBERS                                                                      \
  "WITH digits (i) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION" \
  " ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8"   \
  " UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL SELECT 12 UNION ALL"   \
  " SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15), numbers (i) AS (SELECT a.i << 12 |"     \
  " b.i << 8 | c.i << 4 | d.i FROM digits a JOIN digits b JOIN digits c JOIN digits d)"

#endif  // LOCUS_MIGRATION_FENCE_NUMBERS_SQL_H_
