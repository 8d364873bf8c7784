// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_SNOWFLAKE_WORD_H_
#define LOCUS_SRC_WORKER_SNOWFLAKE_WORD_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "src/base/os/wipe_on_fork.h"

namespace locus::internal {

// The clock policy of Snowflake generators, and the word that it moves. Times are milliseconds
// since the generator's epoch; a slot is time << sequence_bits | sequence. The word holds the last
// slot taken. A forked child finds 0, which no generator ever stores; a closed word has its top bit
// set, which time and sequence leave free because a layout has at least one bit of worker.

inline constexpr int64_t kSnowflakeGoOnMillis = 5;
inline constexpr int64_t kSnowflakeWaitMillis = 1000;

struct SnowflakeShape {
  int sequence_bits = 0;
  int64_t max_time = 0;

  uint64_t max_sequence() const { return (uint64_t{1} << sequence_bits) - 1; }
};

enum class SnowflakeAnswer {
  kTake,
  kWait,
  kClockBack,
  kTimeUsedUp,
  kAboveCeiling,
  kClosed,
  kForked
};

struct SnowflakeStep {
  static constexpr uint64_t kClosed = uint64_t{1} << 63;

  SnowflakeAnswer answer = SnowflakeAnswer::kForked;
  // kTake, kTimeUsedUp, kAboveCeiling: the time of the slot; kWait: when to try again; kClockBack:
  // the last time used.
  int64_t time = 0;
  uint64_t first = 0;  // kTake: the first slot
  uint64_t count = 0;  // kTake: how many, at most `wanted`, all of one millisecond
  // kTake, kWait, kClockBack: how far the clock was behind the last time used.
  int64_t behind = 0;
};

// The next step after `word` at the time `now`, which was read after the word.
inline SnowflakeStep DecideSnowflake(const SnowflakeShape& shape, uint64_t word, int64_t now,
                                     int64_t ceiling, uint64_t wanted) {
  using enum SnowflakeAnswer;
  if (word == 0) return {kForked};
  if ((word & SnowflakeStep::kClosed) != 0) return {kClosed};
  auto last = static_cast<int64_t>(word >> shape.sequence_bits);
  int64_t time = now;
  uint64_t sequence = 0;
  int64_t behind = 0;
  if (now <= last) {
    behind = last - now;
    if (behind > kSnowflakeWaitMillis) return {kClockBack, last, 0, 0, behind};
    if (behind > kSnowflakeGoOnMillis) return {kWait, last, 0, 0, behind};
    bool used_up = (word & shape.max_sequence()) == shape.max_sequence();
    time = used_up ? last + 1 : last;
    sequence = used_up ? 0 : (word & shape.max_sequence()) + 1;
  }
  if (time > shape.max_time) return {kTimeUsedUp, time};
  if (time > ceiling) return {kAboveCeiling, time};
  if (time > std::max(now, last)) return {kWait, time, 0, 0, behind};
  return {kTake, time, static_cast<uint64_t>(time) << shape.sequence_bits | sequence,
          std::min(wanted, shape.max_sequence() + 1 - sequence), behind};
}

// Faults that the simulation injects to show that it detects them.
struct SnowflakeWordTraits {
  static constexpr bool kClockBeforeWord = false;
  static constexpr bool kPlainStore = false;
  static constexpr auto Decide = DecideSnowflake;
};

// Slots only rise, each is taken once, and none after Close.
// Thread safety: all methods may be called from any thread.
template <typename Traits = SnowflakeWordTraits>
class SnowflakeWordOf {
 public:
  // The slots of `floor` (0 .. max_time) and before are taken.
  SnowflakeWordOf(const SnowflakeShape& shape, int64_t floor, int64_t ceiling)
      : shape_(shape), words_(1), ceiling_(ceiling), finished_(~shape.max_sequence()) {
    words_[0].store(static_cast<uint64_t>(floor) << shape.sequence_bits | shape.max_sequence(),
                    std::memory_order_release);
  }

  // Takes up to `wanted` slots, or returns the reason. `now` reads the clock.
  template <typename ReadClock>
  SnowflakeStep Take(uint64_t wanted, ReadClock now) {
    while (true) {
      int64_t early = Traits::kClockBeforeWord ? now() : 0;
      // Acquire: read the word before the clock. In the other order, a thread suspended between the
      // two would find others far ahead of its reading, and mistake that for a clock set back.
      uint64_t word = words_[0].load(std::memory_order_acquire);
      int64_t time = Traits::kClockBeforeWord ? early : now();
      SnowflakeStep step = Traits::Decide(shape_, word, time, ceiling(), wanted);
      if (step.answer != SnowflakeAnswer::kTake) [[unlikely]] {
        return step;
      }
      uint64_t last = step.first + step.count - 1;
      if constexpr (Traits::kPlainStore) {
        words_[0].store(last, std::memory_order_release);
        return step;
      }
      // Release pairs with the load above: a thread that finds this slot reads the clock after us.
      if (words_[0].compare_exchange_strong(word, last, std::memory_order_release,
                                            std::memory_order_relaxed)) {
        // Once a millisecond: the millisecond of `word` gets no more slots.
        if (word >> shape_.sequence_bits != last >> shape_.sequence_bits) {
          finished_.fetch_add((word & shape_.max_sequence()) + 1, std::memory_order_relaxed);
        }
        return step;
      }
    }
  }

  void RaiseCeiling(int64_t ceiling) {
    int64_t before = ceiling_.load(std::memory_order_relaxed);
    // Release pairs with ceiling(): the ceiling was stored before a thread uses it.
    while (before < ceiling &&
           !ceiling_.compare_exchange_weak(before, ceiling, std::memory_order_release)) {
    }
  }
  int64_t ceiling() const { return ceiling_.load(std::memory_order_acquire); }

  // Returns the last time used; 0 in a forked child.
  int64_t Close() {
    if (forked()) return 0;
    words_[0].fetch_or(SnowflakeStep::kClosed, std::memory_order_acq_rel);
    return last_time();
  }
  // 0 in a forked child.
  int64_t last_time() const {
    uint64_t word = words_[0].load(std::memory_order_acquire) & ~SnowflakeStep::kClosed;
    return static_cast<int64_t>(word >> shape_.sequence_bits);
  }
  bool closed() const {
    return (words_[0].load(std::memory_order_acquire) & SnowflakeStep::kClosed) != 0;
  }
  bool forked() const { return words_.wiped(); }
  // How many slots were taken. Briefly too few while a millisecond ends.
  uint64_t taken() const {
    uint64_t word = words_[0].load(std::memory_order_relaxed);
    return finished_.load(std::memory_order_relaxed) + (word & shape_.max_sequence()) + 1;
  }

 private:
  const SnowflakeShape shape_;
  WipeOnForkWords words_;
  std::atomic<int64_t> ceiling_;
  // Slots of past milliseconds. Starts below 0 by the slots of the floor, which were never taken.
  std::atomic<uint64_t> finished_;
};

using SnowflakeWord = SnowflakeWordOf<>;

}  // namespace locus::internal

#endif  // LOCUS_SRC_WORKER_SNOWFLAKE_WORD_H_
