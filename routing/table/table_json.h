// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_TABLE_JSON_H_
#define LOCUS_ROUTING_TABLE_TABLE_JSON_H_

#include <concepts>
#include <string>

#include "locus/routing/routing_table.h"
#include "routing/table/json_document.h"

// The parts of a routing table as they are in a document. Reading needs a value of the shape given
// here; whether the values make sense together is checked elsewhere.

namespace locus::internal {

inline constexpr JsonShape kUint16Json{.kind = JsonShape::Kind::kInteger, .most = UINT16_MAX};
inline constexpr JsonShape kUint32Json{.kind = JsonShape::Kind::kInteger, .most = UINT32_MAX};
inline constexpr JsonShape kUint64Json{.kind = JsonShape::Kind::kInteger, .most = UINT64_MAX};
inline constexpr JsonShape kNameJson{.kind = JsonShape::Kind::kString,
                                     .most = RoutingTable::kMaxNameBytes};
// Longer than a table_id, so that the reader of it can describe a right one.
inline constexpr JsonShape kTableIdJson{.kind = JsonShape::Kind::kString, .most = 64};
extern const JsonShape kShardsJson;

template <std::unsigned_integral Integer>
void Read(const JsonValue& value, Integer& out) {
  out = value.value.get<Integer>();
}
void Read(const JsonValue& value, std::string& out);
void Read(const JsonValue& value, Shard& out);

// `text`, which is UTF-8, and a shard as they are in a document.
std::string JsonOf(const std::string& text);
std::string JsonOf(const Shard& shard);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_TABLE_TABLE_JSON_H_
