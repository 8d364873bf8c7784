// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_RECORD_TEXT_H_
#define LOCUS_SRC_WORKER_RECORD_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "src/worker/worker_rules.h"

// The records of the rules, for engines that store texts. Times are milliseconds since 1970, or
// "-": before that. Pure; texts that are read may have been written by other programs.

namespace locus::worker {

// The end of the year 9999: no arithmetic of the rules overflows, and doubles hold it exactly.
inline constexpr uint64_t kMostMillis = 253402300799999;

std::string TextOf(absl::Time time);
// nullopt: not the text of a time, or a time after the year 9999.
std::optional<absl::Time> TimeOf(std::string_view text);

// "token floor ceiling granted_at renewed_at nonce holder", without the worker. The nonce is empty
// where the ID was released.
std::string TextOf(const WorkerRecord& record);
std::optional<WorkerRecord> RecordOf(uint64_t worker, std::string_view text);

// "rest_until longest losses".
std::string TextOf(const Space& space);
std::optional<Space> SpaceOf(std::string_view text);

}  // namespace locus::worker

#endif  // LOCUS_SRC_WORKER_RECORD_TEXT_H_
