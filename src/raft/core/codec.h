// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_CORE_CODEC_H_
#define LOCUS_SRC_RAFT_CORE_CODEC_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/raft/core/types.h"

// Bytes of entries, marks and messages, for the disk and for the network. Numbers are
// little-endian, of 8 bytes or, where they are sizes, of 4; texts follow their size. One value has
// one form: Encode returns exactly the bytes that Decode accepted. A change of the form of entries
// or marks changes kCodecVersion, which nodes compare when they connect and when they open their
// file; one of messages changes kProtocolVersion (tcp/frame.h), which they compare when they
// connect.
//
// Errors of Decode: INVALID_ARGUMENT: another form, or beyond the limits, with the place.

namespace locus::raft {

inline constexpr int kCodecVersion = 1;

// Beyond those of types.h.
inline constexpr size_t kMostEntries = 1 << 16;       // of one Append
inline constexpr size_t kMostStateBytes = 256 << 20;  // of one InstallSnapshot
inline constexpr size_t kMostNoteBytes = 256;

std::string Encode(const Entry& entry);
std::string Encode(const SnapshotMark& mark);
std::string Encode(const Message& message);

absl::StatusOr<Entry> DecodeEntry(std::string_view bytes);
absl::StatusOr<SnapshotMark> DecodeMark(std::string_view bytes);
absl::StatusOr<Message> DecodeMessage(std::string_view bytes);

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_CORE_CODEC_H_
