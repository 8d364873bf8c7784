// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_STRICT_VERDICT_H_
#define LOCUS_APPS_PROOF_STRICT_VERDICT_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/proof/strict/history.h"

namespace locus::strict_proof {

// The numbers that all callers drew, and whether they are right.
struct Verdict {
  uint64_t callers = 0;
  uint64_t uids = 0;
  uint64_t numbers = 0;
  // Of the strict order, pairs of answers after one another: each begins after the one before of
  // its uid had ended.
  uint64_t ordered = 0;
  strict::Flaws flaws;

  bool ok() const { return flaws.order.empty() && flaws.repeated.empty(); }
};

// Of a history of all callers, which it sorts.
Verdict Judge(std::vector<strict::Drawn>& history);
// Of the files that the callers left (call_log.h). UNAVAILABLE: one cannot be read.
absl::StatusOr<Verdict> JudgeFiles(std::span<const std::string> files);

// A few lines for people.
std::string Told(const Verdict& verdict);

// Puts one number of an answer below what was answered before the call began: what a successor does
// that begins too low. Which one: by `choice`. False: no call began after another one of its uid.
bool Spoil(std::vector<strict::Drawn>& history, uint64_t choice);

}  // namespace locus::strict_proof

#endif  // LOCUS_APPS_PROOF_STRICT_VERDICT_H_
