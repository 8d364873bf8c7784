// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_COUNTER_SEQUENCER_RULES_H_
#define LOCUS_SRC_COUNTER_SEQUENCER_RULES_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/sequencer.h"

// The arithmetic of Sequencer, the same for all engines. An engine that computes by a statement or
// script of its own has tests that compare it with these functions.
namespace locus::sequencer_rules {

inline constexpr size_t kLongestKey = 512;
inline constexpr size_t kLongestPrefix = 256;

// The highest number there can be: max_value, or 2^63 - 1.
int64_t Limit(const SequencerOptions& options);

// The first number of an unknown counter: start, or step.
int64_t FirstNumber(const SequencerOptions& options);

// The most numbers of one batch: as many as there are from the first number to the limit, and no
// more than keep count * step within it.
int64_t LongestBatch(const SequencerOptions& options);

// The last of the first `span` / step numbers of a counter: FirstNumber + span - step.
int64_t LastOfFirst(int64_t span, const SequencerOptions& options);

// The last of the next numbers after `current` (nullopt: an unknown key), `span` = count * step in
// all: current + span; for an unknown key LastOfFirst. Past the limit also LastOfFirst, or
// OUT_OF_RANGE, which names the key. 1 <= count <= LongestBatch.
absl::StatusOr<int64_t> Advance(std::optional<int64_t> current, int64_t span,
                                const SequencerOptions& options, std::string_view key);

// OUT_OF_RANGE, for an engine that found the limit passed by itself.
absl::Status AtLimit(std::string_view key, int64_t current, int64_t span,
                     const SequencerOptions& options);

// DATA_LOSS: the stored value is not a number from 0 to 2^63 - 1.
absl::Status NoNumber(std::string_view engine, std::string_view key, std::string_view stored);

}  // namespace locus::sequencer_rules

#endif  // LOCUS_SRC_COUNTER_SEQUENCER_RULES_H_
