// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_SECTION_H_
#define LOCUS_SRC_STRICT_SECTION_H_

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "locus/strict_store.h"
#include "src/base/run/tick_clock.h"
#include "src/strict/flaw.h"

namespace locus::strict {

// How far the clocks of an owner and of a store may run from true time: 10^-3 each.
inline constexpr int64_t kDriftPerThousand = 1;
// The largest forward step of the store's clock within one ttl.
inline constexpr absl::Duration kLargestStep = absl::Seconds(1);

// How long after a take or a renewal was sent the section may be used, by the owner's clock:
// (1 - 10^-3)(ttl - e) / (1 + 10^-3). No margin is needed for a pause of the thread between number
// and clock, because the number is taken before the clock is read.
template <typename Faults>
constexpr absl::Duration UsableFor(absl::Duration ttl) {
  if (Faults::Has(Flaw::kNoDriftAllowance)) return ttl - kLargestStep;
  return (ttl - kLargestStep) / (1000 + kDriftPerThousand) * (1000 - kDriftPerThousand);
}

// How often a section may free its memory. Each time costs a step of its numbers, so the limit
// keeps their rise within half of what a loss of the store allows for.
inline absl::Duration LetGoEvery(uint64_t step) {
  const uint64_t ms = step * 1000 / (kStrictFloorRate / 2);
  return absl::Milliseconds(std::max<int64_t>(50, static_cast<int64_t>(ms)));
}

// The last number of one key; 0: none under this grant or an earlier one.
using Cell = std::atomic<uint64_t>;

// A section as its owner uses it. A number is drawn in three steps, each of which the simulation
// may hold up for any time:
//
//   Reading reading = section.Read();                  1. under which grant, from where, up to
//   where uint64_t number = Advance(cell, reading);          2. the number is taken
//   section.StillHeld(reading, clock)                  3. and answered if it was ours to take
//
// Step 3 proves that step 2 happened under the grant, before its deadline. So step 2 is the
// linearization point of the draw. A thread that is held up between 2 and 3 has taken a number that
// it answers late or not at all.
//
// Thread safety: Read, Advance, SurelyHeld and StillHeld from any thread; Open, Extend, SetTick,
// Close and Reopen from one at a time.
template <typename Faults = NoFlaw>
class SectionOf {
 public:
  struct Reading {
    uint64_t grant = 0;  // 0: the section is closed
    uint64_t start = 0;
    uint64_t max_seq = 0;
  };

  Reading Read() const {
    Reading reading;
    reading.grant = grant_.load(std::memory_order_acquire);  // pairs with Open's store
    reading.start = start_.load(std::memory_order_relaxed);
    reading.max_seq = max_seq_.load(std::memory_order_relaxed);
    return reading;
  }

  // 0: the numbers up to max_seq are used up.
  static uint64_t Advance(Cell& cell, const Reading& reading) {
    uint64_t last = cell.load(std::memory_order_relaxed);
    while (true) {
      const uint64_t number = std::max(last, reading.start) + 1;
      if (number > reading.max_seq) [[unlikely]]
        return 0;
      // Sequentially consistent, like Close: a thread that finds the section still open afterwards
      // took its number before the section was closed.
      if (cell.compare_exchange_weak(last, number, std::memory_order_seq_cst,
                                     std::memory_order_relaxed)) {
        return number;
      }
    }
  }

  // As StillHeld, by the processor's counter, read after the number was taken. False decides
  // nothing: call StillHeld then.
  bool SurelyHeld(const Reading& reading, uint64_t ticks) const {
    const uint64_t tick = deadline_tick_.load(std::memory_order_acquire);  // as in StillHeld
    return grant_.load(std::memory_order_seq_cst) == reading.grant &&
           internal::TickClock::Before(ticks, tick);
  }
  // `now`: read after the number was taken.
  bool StillHeld(const Reading& reading, int64_t now_ns) const {
    // Reads the deadline before the grant: a thread that sees the deadline of a later grant also
    // sees the section closed, or that grant. Pairs with the store of Open.
    const int64_t deadline_ns = deadline_ns_.load(std::memory_order_acquire);
    if (!Faults::Has(Flaw::kGrantNotCompared) &&
        grant_.load(std::memory_order_seq_cst) != reading.grant) {
      return false;
    }
    return Faults::Has(Flaw::kNoDeadlineCheck) || now_ns < deadline_ns;
  }

  // `grant`: never used before for this section. SurelyHeld returns false until SetTick.
  void Open(uint64_t grant, uint64_t start, uint64_t max_seq, int64_t deadline_ns) {
    start_.store(start, std::memory_order_relaxed);
    max_seq_.store(max_seq, std::memory_order_relaxed);
    // Both after the store of Close.
    deadline_ns_.store(deadline_ns, std::memory_order_release);
    deadline_tick_.store(0, std::memory_order_release);
    wanted_.store(false, std::memory_order_relaxed);
    grant_.store(grant, std::memory_order_release);
  }
  // Neither falls.
  void Extend(uint64_t max_seq, int64_t deadline_ns) {
    if (max_seq > max_seq_.load(std::memory_order_relaxed)) {
      max_seq_.store(max_seq, std::memory_order_relaxed);
    }
    if (deadline_ns > deadline_ns_.load(std::memory_order_relaxed)) {
      deadline_ns_.store(deadline_ns, std::memory_order_relaxed);
    }
  }
  // A tick that is surely before the deadline in force, by the processor's counter; 0: none.
  void SetTick(uint64_t tick) { deadline_tick_.store(tick, std::memory_order_release); }
  // No number that is taken from now on is answered.
  void Close() { grant_.store(0, std::memory_order_seq_cst); }

  // Frees the numbers of all keys by `forget`, which makes their cells zero. The keys continue
  // above the max_seq in force, which is not below any answered number. So this is like a hand-over
  // of the section to its own process. `grant`, `max_seq`, `deadline_ns`: as for Open, from a
  // renewal that raised max_seq and was not given to Extend. SurelyHeld returns false until
  // SetTick.
  template <typename Forget>
  void Reopen(uint64_t grant, uint64_t max_seq, int64_t deadline_ns, Forget forget) {
    uint64_t start = max_seq_.load(std::memory_order_relaxed);
    deadline_ns = std::max(deadline_ns, deadline_ns_.load(std::memory_order_relaxed));
    if (Faults::Has(Flaw::kLetGoStartsLow)) start = start_.load(std::memory_order_relaxed);
    if (Faults::Has(Flaw::kLetGoWhileOpen)) {
      grant = grant_.load(std::memory_order_relaxed);
    } else {
      Close();
    }
    // A number that is written from now on is either not answered or above `start`.
    forget();
    Open(grant, start, std::max(max_seq, start), deadline_ns);
  }

  bool open() const { return grant_.load(std::memory_order_acquire) != 0; }
  uint64_t grant() const { return grant_.load(std::memory_order_relaxed); }
  uint64_t max_seq() const { return max_seq_.load(std::memory_order_relaxed); }
  int64_t deadline_ns() const { return deadline_ns_.load(std::memory_order_relaxed); }

  // Whether to store more numbers ahead of use, now that `number` was answered. True for one caller
  // until Raised.
  bool WantsMore(uint64_t number, const Reading& reading, uint64_t ahead) {
    if (reading.max_seq - number >= ahead) [[likely]]
      return false;
    return Want();
  }
  bool Want() {
    return !wanted_.load(std::memory_order_relaxed) &&
           !wanted_.exchange(true, std::memory_order_relaxed);
  }
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  void Raised() { wanted_.store(false, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> grant_{0};
  std::atomic<uint64_t> start_{0};
  std::atomic<uint64_t> max_seq_{0};
  std::atomic<int64_t> deadline_ns_{0};
  std::atomic<uint64_t> deadline_tick_{0};
  std::atomic<bool> wanted_{false};
};

using Section = SectionOf<>;

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_SECTION_H_
