// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_CODEC_H_
#define LOCUS_SRC_CLUSTER_MACHINE_CODEC_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cluster/machine/command.h"

// Bytes of commands and answers, for the log and for the network; those of snapshots are written by
// the same rules (src/base/text/byte_codec.h). The first byte is the version. One value has one
// form: what Decode accepts, Encode gives again.
//
// A time is a number of milliseconds since 1970, up to the end of 9999, or one of two numbers for
// the infinite past and future. Encode rounds times and durations down to milliseconds, but
// WorkerRelease::last_used up: no time that was used lies above it.
//
// Errors of both: INVALID_ARGUMENT: beyond the limits of command.h and worker_lease_store.h, or, of
// Decode, another form, with the place. The limits of reading are those of writing.

namespace locus::cluster_machine {

// Counters, spaces of order IDs, sequence types and sessions came with kStoreCodecVersion, sets of
// strict sequences with kStrictCodecVersion, Mend and sets that are not the first ever with
// kMendCodecVersion, Command::leaps and keeps_ends with kLeapCodecVersion. Each value is written
// with the least version that has all of its parts. So a cluster that uses none of the later parts
// still works with nodes that know only kCodecVersion, and such a node refuses the later parts
// instead of misreading them.
inline constexpr uint8_t kCodecVersion = 2;
inline constexpr uint8_t kStoreCodecVersion = 3;
inline constexpr uint8_t kStrictCodecVersion = 4;
inline constexpr uint8_t kMendCodecVersion = 5;  // of commands only
inline constexpr uint8_t kLeapCodecVersion = 6;  // of commands only

absl::StatusOr<std::string> Encode(const Command& command);
absl::StatusOr<std::string> Encode(const std::vector<Answer>& answers);

// Equal for two requests that ask for the same: a hash (XXH64) of the encoded space and action. It
// leaves out the caller's clock, which moves between repetitions. Part of snapshots: it changes
// only with kCodecVersion.
uint64_t FingerprintOf(const Request& request);

absl::StatusOr<Command> DecodeCommand(std::string_view bytes);
absl::StatusOr<std::vector<Answer>> DecodeAnswers(std::string_view bytes);

// 1970 to the end of 9998: the ceilings of its leases are still times.
bool MayBeTimeOfCommand(absl::Time time);

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_CODEC_H_
