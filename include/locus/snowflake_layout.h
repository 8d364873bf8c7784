// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SNOWFLAKE_LAYOUT_H_
#define LOCUS_SNOWFLAKE_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/internal/cxx20.h"

namespace locus {

// 2023-01-01T00:00:00Z.
inline constexpr absl::Time kSnowflakeEpoch = absl::FromUnixSeconds(1672531200);

// How many bits each field of an ID has, from the highest down.
struct SnowflakeWidths {
  int time = 0;
  int datacenter = 0;  // 0: the layout has none
  int worker = 0;
  int sequence = 0;

  constexpr int total() const { return time + datacenter + worker + sequence; }
  constexpr uint64_t max_id() const { return (uint64_t{1} << total()) - 1; }
  constexpr uint64_t max_time() const { return (uint64_t{1} << time) - 1; }
  constexpr uint64_t max_datacenter() const { return (uint64_t{1} << datacenter) - 1; }
  // The highest worker in this datacenter. In datacenter 0 a worker has the bits of both fields.
  constexpr uint64_t max_worker(uint64_t beside_datacenter) const {
    return (uint64_t{1} << (beside_datacenter == 0 ? datacenter + worker : worker)) - 1;
  }
  constexpr uint64_t max_sequence() const { return (uint64_t{1} << sequence) - 1; }
};

// The fields of an ID. A worker of datacenter 0 may use the bits of both fields; an ID does not
// show that. Such a worker's number is datacenter * 2^(bits of worker) + worker.
struct SnowflakeParts {
  absl::Time time;  // in whole milliseconds
  uint64_t datacenter = 0;
  uint64_t worker = 0;
  uint64_t sequence = 0;

  friend bool operator==(const SnowflakeParts&, const SnowflakeParts&) = default;
};

// Splits an ID into its fields. INVALID_ARGUMENT: the ID is negative or has more bits than the
// layout. `epoch` is in whole milliseconds, and near enough that the time is finite.
absl::StatusOr<SnowflakeParts> DecomposeSnowflake(const SnowflakeWidths& widths, int64_t id,
                                                  absl::Time epoch);

// The fields of an ID, by their widths: milliseconds since the epoch, worker, sequence; or time,
// datacenter, worker, sequence. They fill 63 bits, and the ID is a positive BIGINT; or 53 bits, and
// it is also exact as a JavaScript number.
template <int... kFields>
class SnowflakeLayout {
  static_assert(sizeof...(kFields) == 3 || sizeof...(kFields) == 4,
                "a layout is time, worker, sequence, or time, datacenter, worker, sequence");
  static_assert(((kFields >= 1 && kFields <= 61) && ...), "a field has 1 to 61 bits");
  static_assert((kFields + ...) == 63 || (kFields + ...) == 53,
                "the fields fill 63 bits, or 53 for IDs that are exact in JavaScript");

  static constexpr SnowflakeWidths Widths() {
    constexpr int kList[] = {kFields...};
    constexpr bool kHasDatacenter = sizeof...(kFields) == 4;
    return {kList[0], kHasDatacenter ? kList[1] : 0, kList[sizeof...(kFields) - 2],
            kList[sizeof...(kFields) - 1]};
  }

 public:
  static constexpr SnowflakeWidths kWidths = Widths();

  // Splits an ID into its fields. `epoch` is the one that the ID was made with. INVALID_ARGUMENT:
  // the ID is negative or has more bits than the layout.
  static absl::StatusOr<SnowflakeParts> Decompose(int64_t id, absl::Time epoch = kSnowflakeEpoch) {
    return DecomposeSnowflake(kWidths, id, epoch);
  }
};

// 69 years, 32 datacenters of 32 workers (or 1,024 workers), 4.096 million IDs a second of each.
using SnowflakeDefaultLayout = SnowflakeLayout<41, 5, 5, 12>;
// The same bits, the two middle fields read as one.
using SnowflakeOneWorkerLayout = SnowflakeLayout<41, 10, 12>;
// For JavaScript: 69 years, 32 workers, 128,000 IDs a second of each.
using SnowflakeJs53Layout = SnowflakeLayout<41, 5, 7>;

}  // namespace locus

#endif  // LOCUS_SNOWFLAKE_LAYOUT_H_
