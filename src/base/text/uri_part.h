// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_URI_PART_H_
#define LOCUS_SRC_BASE_TEXT_URI_PART_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::internal {

// Cuts `text` at the first `mark`, and returns the part after it; empty if there is no mark.
std::string_view TakeAfter(std::string_view& text, char mark);

// The byte that "%XX" at the front of `text` writes; nullopt: it does not begin so.
std::optional<char> PercentByte(std::string_view text);
// %XX is a byte. nullopt: a '%' without two hex digits.
std::optional<std::string> Unescaped(std::string_view text);
// The same without zero bytes. INVALID_ARGUMENT: the message names the fault, as in "has a zero
// byte".
absl::StatusOr<std::string> DecodePercents(std::string_view part);

// Whether hosts have the character: in names and IPv4 addresses, or, `bracketed`, in IPv6 addresses
// with their zones.
bool IsOfHost(char c, bool bracketed);

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_URI_PART_H_
