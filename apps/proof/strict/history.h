// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_STRICT_HISTORY_H_
#define LOCUS_APPS_PROOF_STRICT_HISTORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace locus::strict {

// A number that a caller got, or `count` of one answer that come one after another, from `number`
// on. Times are of one clock, in any unit: before the call was made, and after its answer was
// there.
struct Drawn {
  uint64_t uid = 0;
  uint64_t number = 0;
  int64_t called = 0;
  int64_t answered = 0;
  uint64_t count = 1;

  uint64_t last() const { return number + count - 1; }
};

// The flaws of a history; empty: none.
struct Flaws {
  std::string repeated;  // a number that one uid got twice
  std::string order;     // a call that began after another one had ended got no greater number
};

// Checks each uid by itself. O(n log n), and sorts `history`. Calls without a known answer may be
// missing: numbers may have gaps.
Flaws CheckHistory(std::vector<Drawn>& history);

}  // namespace locus::strict

#endif  // LOCUS_APPS_PROOF_STRICT_HISTORY_H_
