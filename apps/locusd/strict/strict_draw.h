// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_DRAW_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_DRAW_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "locus/strict_sequencer.h"

namespace locus::locusd {

// The numbers of one request: all of its keys, or none.
// Thread safety: none.
class StrictDraw {
 public:
  explicit StrictDraw(std::vector<uint64_t> uids)
      : uids_(std::move(uids)), numbers_(uids_.size()) {}

  // Draws what is missing, without waiting. OK: all are there. ABORTED: some sections are not this
  // process's. UNAVAILABLE: another time.
  absl::Status Try(StrictSequencer& sequencer);
  // Likewise, but waits for what is UNAVAILABLE until the deadline.
  absl::Status Wait(StrictSequencer& sequencer, std::chrono::steady_clock::time_point deadline);

  // After UNAVAILABLE: whether something is missing that only comes once the store answers again.
  bool WaitsForTheStore(const StrictSequencer& sequencer) const;

  const std::vector<uint64_t>& uids() const { return uids_; }
  // After OK: numbers()[i] is of uids()[i]; those of one uid rise.
  const std::vector<uint64_t>& numbers() const { return numbers_; }
  // After ABORTED: the sections that are not this process's, ascending.
  std::vector<uint32_t> Elsewhere(StrictSequencer& sequencer) const;

 private:
  void Order();

  const std::vector<uint64_t> uids_;
  std::vector<uint64_t> numbers_;  // 0: missing
  bool partly_ = false;            // they were drawn in several steps
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_DRAW_H_
