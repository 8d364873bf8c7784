// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_RANDOM_WORD_H_
#define LOCUS_SRC_BASE_OS_RANDOM_WORD_H_

#include <cstdint>
#include <optional>

namespace locus::internal {

// 64 bits of OpenSSL's generator (never all zero), from a buffer of this thread that a forked child
// finds wiped. nullopt: OpenSSL has no randomness. Not async-signal-safe.
std::optional<uint64_t> RandomWord();

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_RANDOM_WORD_H_
