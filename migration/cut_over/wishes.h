// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_WISHES_H_
#define LOCUS_MIGRATION_CUT_OVER_WISHES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "migration/cut_over/coordinator.h"

// How each command of an operator changes the wish of a move. Each may be repeated: where the wish
// is as asked already, it stays the same. A command that the move cannot follow in its present
// state is refused (FAILED_PRECONDITION, with the reason and what to do instead).

namespace locus::internal {

// The state of a move, as a command finds it.
struct Standing {
  Phase phase = Phase::kPlanned;
  Wish wish;
  uint32_t share = 0;      // of the fences; before a step that is on its way
  bool in_a_step = false;  // a step is on its way, or being taken back
};

absl::StatusOr<Wish> AskStart(const Standing& now);
// One step to `to`, or of the size `by`. INVALID_ARGUMENT: `to` is above 10000.
absl::StatusOr<Wish> AskStep(const Standing& now, std::optional<uint32_t> to, uint32_t by);
// Steps of `by` to share 10000.
absl::StatusOr<Wish> AskAuto(const Standing& now, uint32_t by, absl::Duration dwell);
absl::StatusOr<Wish> AskHold(const Standing& now, const std::string& why);
absl::StatusOr<Wish> AskResume(const Standing& now);
absl::StatusOr<Wish> AskRollback(const Standing& now, uint32_t to);
absl::StatusOr<Wish> AskFinalize(const Standing& now);
// Of a move that is DONE and kept its rows: without `keep` they are deleted after all.
absl::StatusOr<Wish> AskCleanup(const Standing& now, bool keep);
absl::StatusOr<Wish> AskAbort(const Standing& now);
// Ends a hold, and makes no step afterwards until one is asked for.
absl::StatusOr<Wish> AskRepair(const Standing& now, const Repair& repair);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_WISHES_H_
