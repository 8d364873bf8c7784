// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_CLOCK_NOTE_H_
#define LOCUS_SRC_CLUSTER_MACHINE_CLOCK_NOTE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// The notes of Raft by which nodes ask each other about their clocks.

namespace locus::cluster_machine {

struct ClockAsk {
  absl::Duration asked;  // the asker's CLOCK_BOOTTIME
  friend bool operator==(const ClockAsk&, const ClockAsk&) = default;
};

// The answer. Its times are of a moment between the question and the arrival of the answer.
struct ClockTold {
  absl::Duration asked;  // as in the question
  uint64_t term = 0;
  bool leads = false;              // in that term
  absl::Time wall;                 // of the node that was asked
  std::optional<absl::Time> time;  // the cluster's, if the node knows it exactly
  friend bool operator==(const ClockTold&, const ClockTold&) = default;
};

using ClockNote = std::variant<ClockAsk, ClockTold>;

std::string Encode(const ClockNote& note);
// INVALID_ARGUMENT: another form.
absl::StatusOr<ClockNote> DecodeClockNote(std::string_view bytes);

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_CLOCK_NOTE_H_
