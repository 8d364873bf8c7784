// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SNOWFLAKE_H_
#define LOCUS_SNOWFLAKE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/snowflake_layout.h"
#include "locus/str.h"

namespace locus {

// A call found the clock behind the last time used, or behind the floor.
struct SnowflakeRollback {
  enum class Action {
    kWentOn,   // used the last time
    kWaited,   // waits for the clock
    kRefused,  // FAILED_PRECONDITION
  };
  absl::Duration behind;
  Action action = Action::kWentOn;
};
// "went_on", "waited", "refused".
std::string_view ToString(SnowflakeRollback::Action action);
template <typename Sink>
void AbslStringify(Sink& sink, SnowflakeRollback::Action action) {
  sink.Append(std::string(ToString(action)));
}

struct SnowflakeOptions {
  // The numbers of this generator. No other generator may use them with this epoch at the same
  // time: hold a lease on them, or assign them so that they are unique. With datacenter 0, `worker`
  // may use the bits of both fields (SnowflakeLayout).
  uint64_t datacenter = 0;
  uint64_t worker = 0;
  // The time of an ID counts from here, in whole milliseconds. Never change it once IDs exist.
  // Later: the time field lasts longer.
  absl::Time epoch = kSnowflakeEpoch;
  // Every ID's time is after the floor and at most the ceiling. A lease of the worker supplies
  // both: the floor of a new holder is the ceiling of the holder before.
  absl::Time floor = absl::InfinitePast();
  absl::Time ceiling = absl::InfiniteFuture();
  // Called by every call that notices a rollback, on its thread, before it waits: as often as IDs
  // are made until the clock is right again. It must not block or throw.
  std::function<void(const SnowflakeRollback&)> on_rollback = nullptr;
  // Outlives the generator.
  Clock* clock = &Clock::System();
};

// Counts are since the generator was made.
struct SnowflakeStats {
  // IDs handed out. Read from the generator's word, so that handing one out counts nothing.
  uint64_t ids = 0;
  uint64_t waits = 0;      // calls that waited for the clock: a used-up millisecond, a rollback
  uint64_t rollbacks = 0;  // calls that found the clock behind the last time used
  // The same, by what was done. They sum up to `rollbacks`.
  uint64_t rollbacks_went_on = 0;
  uint64_t rollbacks_waited = 0;
  uint64_t rollbacks_refused = 0;
  absl::Duration furthest_rollback;  // of those
  uint64_t refusals = 0;             // calls that returned an error
  double years_left = 0;             // YearsLeft()
};

// Hands out 64-bit IDs of time, worker and sequence. IDs are unique among workers and rise within
// one. The time is in milliseconds after the epoch, so no ID is 0. A worker makes at most
// 2^(bits of sequence) IDs a millisecond. Snowflake<Layout>::Create makes a generator; code that
// renews its lease works with this class and need not know the layout.
//
// Clock. Each reading is compared with the last time used (at the start, the floor):
//   equal or later                     uses the reading, while the millisecond has sequences
//   up to kGoOnBehind earlier          uses the last time, while its millisecond has sequences
//   up to kWaitBehind earlier          waits for the clock
//   still earlier                      FAILED_PRECONDITION
// When a millisecond is used up, the call sleeps until the next one. An ID is never ahead of the
// highest reading. If the clock jumps forward and is set back later, the generator fails until the
// clock is there again; a ceiling limits how far such a jump can take it.
//
// Restarts. A new process does not know the IDs that another one made with the same worker before
// the clock was set back, or makes now. A lease prevents that, because its ceilings are stored.
// Without leases, start a worker again only after the clock has passed the time of its last ID.
// Within one process a worker has one generator at a time, until that is closed or destroyed, and
// the next one continues after it.
//
// Errors of Next, NextBatch and NextString: UNAVAILABLE: the next ID would be above the ceiling;
// OUT_OF_RANGE: the time field is used up; FAILED_PRECONDITION: the clock is further back than
// kWaitBehind, the generator was closed, or this is a forked child. The message says which.
// Thread safety: all methods may be called from any thread.
// Cost: one clock reading and one CAS per call, for any number of IDs. Lock-free; allocates only on
// failure.
class AnySnowflake {
 public:
  static constexpr absl::Duration kGoOnBehind = absl::Milliseconds(5);
  static constexpr absl::Duration kWaitBehind = absl::Seconds(1);

  virtual ~AnySnowflake();
  AnySnowflake(const AnySnowflake&) = delete;
  AnySnowflake& operator=(const AnySnowflake&) = delete;

  // The next ID, positive. Blocks for the rest of a used-up millisecond, or while the clock is at
  // most kWaitBehind behind.
  absl::StatusOr<int64_t> Next();
  // Next() in decimal.
  absl::StatusOr<std::string> NextString();
  // Fills `ids` with rising IDs and returns their number. Waits as Next does; one CAS takes all
  // that the millisecond has left. Returns less than ids.size() only if the next ID failed, and the
  // error only if the first one failed. An empty span gives 0.
  absl::StatusOr<size_t> NextBatch(std::span<int64_t> ids);
  // The parts of an ID made with this layout and epoch. INVALID_ARGUMENT as the layout's.
  absl::StatusOr<SnowflakeParts> Decompose(int64_t id) const;

  // How many years the time field lasts, from now or from the last time used if that is later. At 0
  // every call fails with OUT_OF_RANGE.
  double YearsLeft() const;

  SnowflakeStats Stats() const;

  // Lets IDs have times up to `ceiling`. Call it after the ceiling was stored. Never lowers it.
  void RaiseCeiling(absl::Time ceiling);
  // Ends the generator: no call gets an ID afterwards, except a call under way that has taken its
  // ID already. Returns the last time used; if no ID was made, the floor, or the epoch without a
  // floor. No ID has or will get a later time; this process may make another generator for the
  // worker. A second call returns the same. In a forked child it closes nothing and returns the
  // epoch.
  absl::Time Close();
  // Whether Close was called. False in a forked child.
  bool closed() const;

 protected:
  // `widths` are of a checked layout.
  AnySnowflake(const SnowflakeWidths& widths, const SnowflakeOptions& options);
  // INVALID_ARGUMENT: no clock, an epoch that is not in whole milliseconds or not between the years
  // 1 and 9999, a datacenter or worker that does not fit.
  static absl::Status Check(const SnowflakeWidths& widths, const SnowflakeOptions& options);
  // Check, and ALREADY_EXISTS: this process has a generator that makes the same IDs. OK: the worker
  // is this generator's until Close or the destructor.
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
