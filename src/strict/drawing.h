// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_DRAWING_H_
#define LOCUS_SRC_STRICT_DRAWING_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/strict_store.h"
#include "src/base/run/tick_clock.h"
#include "src/strict/cells.h"
#include "src/strict/section.h"

namespace locus::strict {

// The outcome of one draw.
enum class Draw : uint8_t {
  kTaken,
  kTakenNearTheEnd,  // taken, and max_seq should be raised
  kNoSuchUid,
  kNotHeld,
  kUsedUp,    // the numbers up to max_seq are used up
  kEnded,     // the deadline has passed, or the section was closed meanwhile
  kNoMemory,  // no memory for a key that has none yet
};

// The sections of a set as the calls of an owner draw from them.
// Thread safety: of Section and Cells.
class Drawing {
 public:
  struct alignas(64) Slot {
    Section section;
    Cells cells;
  };
  static_assert(sizeof(Slot) == 64, "a section is one line of the cache");

  // `most_memory`: of all keys, in bytes.
  Drawing(const StrictSetOptions& set, Clock& clock, uint64_t most_memory)
      : first_uid_(set.first_uid),
        uids_(set.uids),
        size_(set.section_size),
        reciprocal_(UINT64_MAX / set.section_size + 1),
        ahead_(set.step / 2),
        clock_(clock),
        budget_(most_memory),
        slots_(new Slot[set.sections()]) {}

  Slot& operator[](uint32_t section) { return slots_[section]; }
  const Slot& operator[](uint32_t section) const { return slots_[section]; }
  PageBudget& budget() { return budget_; }
  // Gives the memory of a section back.
  void Drop(uint32_t section) { slots_[section].cells.Drop(budget_); }
  bool Has(uint64_t uid) const { return uid - first_uid_ < uids_; }
  // The uid is one of the set.
  uint32_t SectionOf(uint64_t uid) const { return IndexOf(uid - first_uid_); }
  int64_t NowNs() const { return absl::ToInt64Nanoseconds(clock_.SinceBoot()); }

  // `number` is set where one was taken.
  Draw One(uint64_t uid, uint64_t& number) {
    const uint64_t offset = uid - first_uid_;
    if (offset >= uids_) [[unlikely]]
      return Draw::kNoSuchUid;
    const uint32_t index = IndexOf(offset);
    Slot& slot = slots_[index];
    const Section::Reading reading = slot.section.Read();
    if (reading.grant == 0) [[unlikely]]
      return Draw::kNotHeld;
    const uint64_t in_section = offset - uint64_t{index} * size_;
    Cell& cell = slot.cells.cells()[in_section];
    if (!HasMemory(slot, cell, in_section)) [[unlikely]]
      return Draw::kNoMemory;
    const uint64_t taken = Section::Advance(cell, reading);
    if (taken == 0) [[unlikely]]
      return Draw::kUsedUp;
    // The processor's counter first: reading the clock waits until the cell has arrived from
    // memory.
    if (!slot.section.SurelyHeld(reading, internal::Ticks()) &&
        !slot.section.StillHeld(reading, NowNs())) [[unlikely]] {
      return Draw::kEnded;
    }
    number = taken;
    return slot.section.WantsMore(taken, reading, ahead_) ? Draw::kTakenNearTheEnd : Draw::kTaken;
  }

  // One number for each uid, 0 where none was taken. Calls refused(uid, draw) where none was taken,
  // and near_the_end() for each uid whose section should be raised.
  template <typename Refused, typename NearTheEnd>
  void Many(std::span<const uint64_t> uids, std::span<uint64_t> numbers, Refused refused,
            NearTheEnd near_the_end) {
    for (size_t from = 0; from < uids.size(); from += kAtOnce) {
      const size_t count = std::min(kAtOnce, uids.size() - from);
      Some(uids.subspan(from, count), numbers.subspan(from, count), refused, near_the_end);
    }
  }

 private:
  static constexpr size_t kAtOnce = 64;  // this many cells are fetched at once

  // offset / section_size. Exact, since offset < 2^40 and section_size <= 2^24; UINT64_MAX / 1 + 1
  // does not occur.
  uint32_t IndexOf(uint64_t offset) const {
    return static_cast<uint32_t>((static_cast<unsigned __int128>(offset) * reciprocal_) >> 64);
  }
  // Or gets some.
  bool HasMemory(Slot& slot, const Cell& cell, uint64_t in_section) {
    return cell.load(std::memory_order_relaxed) != 0 || slot.cells.Enter(in_section, budget_);
  }

  template <typename Refused, typename NearTheEnd>
  void Some(std::span<const uint64_t> uids, std::span<uint64_t> numbers, Refused refused,
            NearTheEnd near_the_end) {
    struct Item {
      Slot* slot = nullptr;
      Cell* cell = nullptr;  // nullptr: refused
      Section::Reading reading;
    };
    std::array<Item, kAtOnce> items;
    for (size_t i = 0; i < uids.size(); ++i) {
      numbers[i] = 0;
      const uint64_t offset = uids[i] - first_uid_;
      if (offset >= uids_) [[unlikely]] {
        refused(uids[i], Draw::kNoSuchUid);
        continue;
      }
      const uint32_t index = IndexOf(offset);
      Item& item = items[i];
      item.slot = &slots_[index];
      item.reading = item.slot->section.Read();
      if (item.reading.grant == 0) [[unlikely]] {
        refused(uids[i], Draw::kNotHeld);
        continue;
      }
      item.cell = &item.slot->cells.cells()[offset - uint64_t{index} * size_];
      __builtin_prefetch(item.cell, 1);
    }
    for (size_t i = 0; i < uids.size(); ++i) {
      Item& item = items[i];
      if (item.cell == nullptr) continue;
      const auto in_section = static_cast<uint64_t>(item.cell - item.slot->cells.cells());
      if (!HasMemory(*item.slot, *item.cell, in_section)) [[unlikely]] {
        item.cell = nullptr;
        refused(uids[i], Draw::kNoMemory);
        continue;
      }
      numbers[i] = Section::Advance(*item.cell, item.reading);
    }
    const int64_t now_ns = NowNs();  // after the last number was taken
    for (size_t i = 0; i < uids.size(); ++i) {
      if (items[i].cell == nullptr) continue;
      Section& section = items[i].slot->section;
      if (numbers[i] == 0) [[unlikely]] {
        refused(uids[i], Draw::kUsedUp);
      } else if (!section.StillHeld(items[i].reading, now_ns)) [[unlikely]] {
        numbers[i] = 0;
        refused(uids[i], Draw::kEnded);
      } else if (section.WantsMore(numbers[i], items[i].reading, ahead_)) [[unlikely]] {
        near_the_end();
      }
    }
  }

  const uint64_t first_uid_;
  const uint64_t uids_;
  const uint64_t size_;
  const uint64_t reciprocal_;
  const uint64_t ahead_;
  Clock& clock_;
  PageBudget budget_;
  const std::unique_ptr<Slot[]> slots_;  // by section
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_DRAWING_H_
