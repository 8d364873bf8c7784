// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_
#define LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace locus {

// Reads one JSON text (RFC 8259) more strictly than nlohmann::json::parse does. INVALID_ARGUMENT,
// beginning with a JSON Pointer: a member that is there twice, a member name above 255 bytes,
// values nested more than 8 deep. A syntax error, invalid UTF-8, a NUL or trailing bytes are
// reported without a pointer, by line, column and byte, all counted from 1. No message quotes a
// string of the document: it may be a secret that stands where it should not.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_
