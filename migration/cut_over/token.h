// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_TOKEN_H_
#define LOCUS_MIGRATION_CUT_OVER_TOKEN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace locus::internal {

// The column `token` of a fence row: {"share": 2500, "nonce": 7}.
std::string TokenText(uint32_t share, uint64_t nonce);
// Share and nonce; 0 and 0: the text is no token.
std::pair<uint32_t, uint64_t> TokenIn(std::string_view text);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_TOKEN_H_
