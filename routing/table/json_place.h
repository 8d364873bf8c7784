// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_JSON_PLACE_H_
#define LOCUS_ROUTING_TABLE_JSON_PLACE_H_

#include <concepts>
#include <initializer_list>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "routing/table/refusal.h"
#include "src/base/check.h"

// Reading the values of documents that know their members. Refusals are as routing/table/refusal.h
// says; whether the values make sense together is checked elsewhere.

namespace locus {

// A value of the document and where it stands.
struct Place {
  const nlohmann::json& value;
  std::string pointer;

  Place operator[](const char* member) const {
    return {value.at(member), PointerTo(pointer, member)};
  }
  Place operator[](size_t index) const { return {value[index], PointerTo(pointer, index)}; }
};

using MemberNames = std::initializer_list<std::string_view>;

absl::Status CheckIsA(nlohmann::json::value_t type, const Place& place);
// An object with all of `required` and, of others, only `optional` ones.
absl::Status CheckMembers(const Place& object, MemberNames required, MemberNames optional);

absl::Status Read(const Place& place, std::string& out);
absl::Status Read(const Place& place, std::map<std::string, std::string>& out);
absl::Status Read(const Place& place, Shard& out);
absl::Status Read(const Place& place, VnodeRange& out);
absl::Status Read(const Place& place, VnodeMove& out);

// Exactly a JSON integer: 1.0 and 1e3 are none.
template <std::unsigned_integral Integer>
absl::Status Read(const Place& place, Integer& out) {
  constexpr Integer kMax = std::numeric_limits<Integer>::max();
  if (place.value.is_number_unsigned() && place.value.get<uint64_t>() <= kMax) {
    out = place.value.get<Integer>();
    return absl::OkStatus();
  }
  std::string shown = place.value.is_number() ? place.value.dump() : "it";
  return RefusedAt(place.pointer, absl::StrCat(shown, " is not an integer from 0 to ", kMax));
}

template <typename Element>
absl::Status Read(const Place& place, std::vector<Element>& out) {
  LOCUS_RETURN_IF_ERROR(CheckIsA(nlohmann::json::value_t::array, place));
  for (size_t i = 0; i < place.value.size(); ++i) {
    LOCUS_RETURN_IF_ERROR(Read(place[i], out.emplace_back()));
  }
  return absl::OkStatus();
}

// `text`, which is UTF-8, and a shard as they stand in a document.
std::string JsonOf(const std::string& text);
std::string JsonOf(const Shard& shard);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_JSON_PLACE_H_
