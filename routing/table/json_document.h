// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_
#define LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "routing/table/refusal.h"

namespace locus::internal {

// A value of a document and where it is in it.
struct JsonValue {
  const nlohmann::json& value;
  std::string pointer;

  bool Has(const char* member) const { return value.contains(member); }
  JsonValue operator[](const char* member) const {
    return {value.at(member), PointerTo(pointer, std::string_view(member))};
  }
  JsonValue operator[](size_t index) const { return {value[index], PointerTo(pointer, index)}; }
};

struct JsonMember;

// The values that a document may have in one place. A shape refers to others, which outlive it.
struct JsonShape {
  enum class Kind {
    kObject,   // of `members`, and no others
    kMap,      // an object of at most `most` members of any name, each an `element`
    kArray,    // at most `most` times `element`
    kString,   // at most `most` bytes
    kInteger,  // 0 to `most`
    kNumber,
  };

  Kind kind;
  uint64_t most = 0;
  const JsonShape* element = nullptr;
  std::span<const JsonMember> members = {};
  size_t name_bytes = 0;  // of the names of a map
};

struct JsonMember {
  std::string_view name;
  const JsonShape* shape;
  bool required = true;
};

// Takes an element of an array that is a member of the document itself, called `array`.
using JsonElementReader = std::function<absl::Status(std::string_view array, const JsonValue&)>;

// Reads one JSON text (RFC 8259) of this shape, and refuses it at the first byte of another shape.
// So a hostile document costs no more than the largest document of the shape. With `reader`, an
// element of the document's own arrays is handed to it and then forgotten, and such an array is
// empty in the value that is returned.
//
// INVALID_ARGUMENT, beginning with a JSON Pointer: another type, an unknown or repeated member, a
// member that is missing, too many of anything; and errors of `reader`. A syntax error, invalid
// UTF-8, a NUL, a string or number of more than kMaxJsonToken bytes, or trailing bytes are reported
// without a pointer, by line, column and byte, all counted from 1. No message quotes a string of
// the document: it may be a secret that was put in the wrong place.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text, const JsonShape& shape,
                                         const JsonElementReader& reader = nullptr);

// A text of 2,048 bytes, each written as \uXXXX.
inline constexpr size_t kMaxJsonToken = 2048 * 6;

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_JSON_DOCUMENT_H_
