// SPDX-License-Identifier: Apache-2.0
#include "routing/table/json_place.h"

#include <algorithm>

#include "src/base/text.h"

namespace locus {
namespace {

using nlohmann::json;

bool Contains(MemberNames names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::Status CheckIsA(json::value_t type, const Place& place) {
  if (place.value.type() == type) return absl::OkStatus();
  return RefusedAt(place.pointer, absl::StrCat("it is of type ", place.value.type_name(), ", not ",
                                               json(type).type_name()));
}

absl::Status CheckMembers(const Place& object, MemberNames required, MemberNames optional) {
  LOCUS_RETURN_IF_ERROR(CheckIsA(json::value_t::object, object));
  for (const auto& [name, value] : object.value.items()) {
    if (Contains(required, name) || Contains(optional, name)) continue;
    return RefusedAt(PointerTo(object.pointer, std::string_view(name)), "unknown member");
  }
  for (std::string_view name : required) {
    if (object.value.contains(name)) continue;
    return RefusedAt(object.pointer, absl::StrCat("member ", Quoted(name), " is missing"));
  }
  return absl::OkStatus();
}

absl::Status Read(const Place& place, std::string& out) {
  LOCUS_RETURN_IF_ERROR(CheckIsA(json::value_t::string, place));
  out = place.value.get<std::string>();
  return absl::OkStatus();
}

absl::Status Read(const Place& place, std::map<std::string, std::string>& out) {
  LOCUS_RETURN_IF_ERROR(CheckIsA(json::value_t::object, place));
  for (const auto& [name, value] : place.value.items()) {
    Place label{value, PointerTo(place.pointer, std::string_view(name))};
    LOCUS_RETURN_IF_ERROR(Read(label, out[name]));
  }
  return absl::OkStatus();
}

absl::Status Read(const Place& place, Shard& out) {
  LOCUS_RETURN_IF_ERROR(CheckMembers(place, {"id", "name", "endpoint"}, {"weight", "labels"}));
  LOCUS_RETURN_IF_ERROR(Read(place["id"], out.id));
  LOCUS_RETURN_IF_ERROR(Read(place["name"], out.name));
  LOCUS_RETURN_IF_ERROR(Read(place["endpoint"], out.endpoint));
  if (place.value.contains("weight")) LOCUS_RETURN_IF_ERROR(Read(place["weight"], out.weight));
  if (place.value.contains("labels")) LOCUS_RETURN_IF_ERROR(Read(place["labels"], out.labels));
  return absl::OkStatus();
}

absl::Status Read(const Place& place, VnodeRange& out) {
  LOCUS_RETURN_IF_ERROR(CheckMembers(place, {"last", "shard"}, {}));
  LOCUS_RETURN_IF_ERROR(Read(place["last"], out.last));
  return Read(place["shard"], out.shard);
}

absl::Status Read(const Place& place, VnodeMove& out) {
  LOCUS_RETURN_IF_ERROR(CheckMembers(place, {"first", "last", "to", "permyriad"}, {"step"}));
  LOCUS_RETURN_IF_ERROR(Read(place["first"], out.first));
  LOCUS_RETURN_IF_ERROR(Read(place["last"], out.last));
  LOCUS_RETURN_IF_ERROR(Read(place["to"], out.to));
  LOCUS_RETURN_IF_ERROR(Read(place["permyriad"], out.permyriad));
  return place.value.contains("step") ? Read(place["step"], out.step) : absl::OkStatus();
}

// json::dump cannot fail here: the text of a table is UTF-8.
std::string JsonOf(const std::string& text) { return json(text).dump(); }

std::string JsonOf(const Shard& shard) {
  std::string out =
      absl::StrCat("{\"id\": ", shard.id, ", \"name\": ", JsonOf(shard.name),
                   ", \"endpoint\": ", JsonOf(shard.endpoint), ", \"weight\": ", shard.weight);
  if (!shard.labels.empty()) {
    std::string_view separator = ", \"labels\": {";
    for (const auto& [name, value] : shard.labels) {
      absl::StrAppend(&out, ToAbsl(separator), JsonOf(name), ": ", JsonOf(value));
      separator = ", ";
    }
    out += '}';
  }
  return out + '}';
}

}  // namespace locus
