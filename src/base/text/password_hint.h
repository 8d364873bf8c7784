// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_PASSWORD_HINT_H_
#define LOCUS_SRC_BASE_TEXT_PASSWORD_HINT_H_

#include <string_view>

namespace locus::internal {

// The end of a message about a server that requires a password and got none.
inline constexpr std::string_view kNoPasswordHint =
    "; no password was given: commands take that of a store from LOCUS_PASSWORD, of a table from "
    "LOCUS_TABLE_PASSWORD, of shards from LOCUS_SHARD_PASSWORD";

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_PASSWORD_HINT_H_
