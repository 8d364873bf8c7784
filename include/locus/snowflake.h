// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SNOWFLAKE_H_
#define LOCUS_SNOWFLAKE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/snowflake_layout.h"

namespace locus {

struct SnowflakeOptions {
  // Who makes the IDs. Nobody else may use the same numbers with this epoch at the same time: hold
  // a lease on them, or see to it yourself. Where the layout has a datacenter and it is 0, `worker`
  // may fill the bits of both fields (SnowflakeLayout).
  uint64_t datacenter = 0;
  uint64_t worker = 0;
  // Where time begins, in whole milliseconds; never changed once IDs exist. Later: the time field
  // lasts longer.
  absl::Time epoch = kSnowflakeEpoch;
  // Every ID's time is after the floor and not after the ceiling: what a lease of the worker
  // supplies. A new holder's floor is the ceiling of the one before.
  absl::Time floor = absl::InfinitePast();
  absl::Time ceiling = absl::InfiniteFuture();
  // Outlives the generator.
  Clock* clock = &Clock::System();
};

// Counts are since the generator was made.
struct SnowflakeStats {
  // IDs handed out. Read from the generator's word, so that handing one out counts nothing.
  uint64_t ids = 0;
  uint64_t waits = 0;      // calls that waited for the clock: a used-up millisecond, a rollback
  uint64_t rollbacks = 0;  // calls that found the clock behind the last time used
  uint64_t refusals = 0;   // calls that returned an error
  double years_left = 0;   // YearsLeft()
};

// Hands out 64-bit IDs of time, worker and sequence: unique among workers, rising within one. Time
// is in milliseconds and after the epoch, so no ID is 0. Of one worker at most
// 2^(bits of sequence) IDs a millisecond. Snowflake<Layout> makes one; whoever renews its lease
// need not know the layout.
//
// The clock. Each reading is compared with the last time used (at the start: the floor):
//   after it, or equal                 that time, while the millisecond has sequences
//   up to kGoOnBehind before it        the last time used, while its sequences last
//   up to kWaitBehind before it        waits for the clock
//   further back                       FAILED_PRECONDITION
// A used-up millisecond waits for the next one, asleep. IDs are never ahead of the highest reading.
// Without a ceiling a clock that leaps ahead takes the generator along; set back, it is refused
// until it is there again. A ceiling bounds that to the lease.
//
// What one process cannot see. A process that starts knows nothing of IDs that an earlier one made
// with the same worker before the clock was set back, or that another makes now: a lease does (its
// ceilings are stored). Without leases, see to it that a worker starts anew only after the clock
// has passed the time of its last ID. Within one process a worker has one generator at a time, and
// the next goes on after it.
//
// Errors of Next, NextBatch and NextString: UNAVAILABLE: the next ID would be above the ceiling;
// OUT_OF_RANGE: the time field is used up; FAILED_PRECONDITION: the clock is further back than
// kWaitBehind, the generator was closed, or this is a forked child. The message says which.
// Thread safety: all methods may be called from any thread.
// Cost: one clock reading and one CAS a call, whatever its number of IDs; no lock (some caller
// always gets on), no allocation unless it fails.
class AnySnowflake {
 public:
  static constexpr absl::Duration kGoOnBehind = absl::Milliseconds(5);
  static constexpr absl::Duration kWaitBehind = absl::Seconds(1);

  virtual ~AnySnowflake();
  AnySnowflake(const AnySnowflake&) = delete;
  AnySnowflake& operator=(const AnySnowflake&) = delete;

  // The next ID, positive. Blocks for the rest of a used-up millisecond, or for a clock that was
  // set back by kWaitBehind at most.
  absl::StatusOr<int64_t> Next();
  // As decimal.
  absl::StatusOr<std::string> NextString();
  // Fills `ids` with rising IDs, as many by one CAS as the millisecond has left; waits as Next
  // does. Returns how many: fewer only where the next one failed; where none was filled, the
  // failure (OK and 0 for an empty span).
  absl::StatusOr<size_t> NextBatch(std::span<int64_t> ids);
  // The parts of an ID made with this layout and epoch. INVALID_ARGUMENT as the layout's.
  absl::StatusOr<SnowflakeParts> Decompose(int64_t id) const;

  // How many years the time field lasts from now on, or from the last time used if that is later.
  // Watch it: 0 means OUT_OF_RANGE from then on.
  double YearsLeft() const;

  SnowflakeStats Stats() const;

  // From now on IDs may have times up to `ceiling`. Call it once that is stored. Never lowers it.
  void RaiseCeiling(absl::Time ceiling);
  // No ID is made from now on: not by a call under way either, unless it has its ID already.
  // Returns the last time used, or the floor where none was (the epoch, without a floor): nobody
  // was or will be given an ID of a later time. May be called again; answers the same. A forked
  // child closes nothing and learns the epoch.
  absl::Time Close();

 protected:
  // `widths` are of a checked layout.
  AnySnowflake(const SnowflakeWidths& widths, const SnowflakeOptions& options);
  // INVALID_ARGUMENT: no clock, an epoch that is not in whole milliseconds or not between the years
  // 1 and 9999, a datacenter or worker that does not fit. ALREADY_EXISTS: this process has a
  // generator that makes the same IDs. OK: the worker is this process's until the destructor runs.
  static absl::Status Claim(const SnowflakeWidths& widths, const SnowflakeOptions& options);

 private:
  class Rep;
  std::unique_ptr<Rep> rep_;
};

template <typename Layout = SnowflakeDefaultLayout>
class Snowflake : public AnySnowflake {
 public:
  // INVALID_ARGUMENT: no clock, an epoch that is not in whole milliseconds or not between the years
  // 1 and 9999, a datacenter or worker that does not fit the layout. ALREADY_EXISTS: this process
  // has a generator with the same epoch, widths and worker. Reads no clock.
  static absl::StatusOr<std::unique_ptr<Snowflake>> Create(const SnowflakeOptions& options = {}) {
    absl::Status claimed = Claim(Layout::kWidths, options);
    if (!claimed.ok()) return claimed;
    return std::unique_ptr<Snowflake>(new Snowflake(options));
  }

 private:
  explicit Snowflake(const SnowflakeOptions& options) : AnySnowflake(Layout::kWidths, options) {}
};

}  // namespace locus

#endif  // LOCUS_SNOWFLAKE_H_
