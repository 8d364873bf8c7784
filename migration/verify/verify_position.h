// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_VERIFY_VERIFY_POSITION_H_
#define LOCUS_MIGRATION_VERIFY_VERIFY_POSITION_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/migration/fence.h"
#include "migration/verify/checked_table.h"
#include "migration/verify/verify_sql.h"

namespace locus::internal {

// How far a comparison has come: everything before it was compared.
struct VerifyPosition {
  size_t table = 0;  // index into the tables; their number: the end
  size_t zone = 0;
  std::optional<CopyKey> behind;  // nullopt: nothing of the zone yet

  friend bool operator==(const VerifyPosition&, const VerifyPosition&) = default;
};

// "7,x6100 5 orders": the key or "-", the first vnode of the zone, the table. "end": all of it.
std::string VerifyPositionText(const VerifyPosition& position, std::span<const CheckedTable> tables,
                               std::span<const FencedRange> ranges);
// The empty text is the beginning. DATA_LOSS: it is no position in these tables and ranges.
absl::StatusOr<VerifyPosition> VerifyPositionIn(std::string_view text,
                                                std::span<const CheckedTable> tables,
                                                std::span<const FencedRange> ranges);

// How many rows the next slice has, after one of `rows` that took `took`: about as many as take
// `slice_time`. It halves at once, and grows by a quarter.
inline uint64_t NextSliceRows(uint64_t rows, absl::Duration took, absl::Duration slice_time,
                              uint64_t least, uint64_t most) {
  if (took > slice_time * 3 / 2) rows /= 2;
  if (took < slice_time) rows += rows / 4 + 1;
  return rows < least ? least : rows > most ? most : rows;
}

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_VERIFY_VERIFY_POSITION_H_
