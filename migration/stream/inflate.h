// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_INFLATE_H_
#define LOCUS_MIGRATION_STREAM_INFLATE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::stream {

// The value of a COMPRESSED column as stored: a byte that says how, then the value as it is, or its
// length and its bytes packed by zlib. DATA_LOSS: not that, or longer than `most` bytes. Memory
// follows what unpacks, not the length that the value claims.
absl::StatusOr<std::string> UnpackColumn(std::string_view stored, size_t most);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_INFLATE_H_
