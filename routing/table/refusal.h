// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_REFUSAL_H_
#define LOCUS_ROUTING_TABLE_REFUSAL_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// How a document is refused: INVALID_ARGUMENT, the JSON Pointer (RFC 6901) of the offending value,
// ": ", the reason; the reason alone where it is the whole document.

namespace locus::internal {

absl::Status RefusedAt(std::string_view pointer, std::string_view reason);

// The pointer of a member or an element of what `parent` points to. ~ and / are escaped as RFC 6901
// says; control characters are written as \xHH, so that a message stays one line.
std::string PointerTo(std::string_view parent, std::string_view member);
std::string PointerTo(std::string_view parent, size_t index);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_REFUSAL_H_
