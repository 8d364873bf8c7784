// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <initializer_list>
#include <limits>

#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"
#include "routing/json_document.h"
#include "routing/refusal.h"
#include "src/check.h"
#include "src/text.h"

namespace locus {
namespace {

using nlohmann::json;

// A value of the document and where it stands.
struct Place {
  const json& value;
  std::string pointer;

  Place operator[](const char* member) const {
    return {value.at(member), PointerTo(pointer, member)};
  }
  Place operator[](size_t index) const { return {value[index], PointerTo(pointer, index)}; }
};

using Names = std::initializer_list<std::string_view>;

bool Contains(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

absl::Status CheckIsA(json::value_t type, const Place& place) {
  if (place.value.type() == type) return absl::OkStatus();
  return RefusedAt(place.pointer, absl::StrCat("it is of type ", place.value.type_name(), ", not ",
                                               json(type).type_name()));
}

absl::Status CheckMembers(const Place& object, Names required, Names optional) {
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

// Exactly a JSON integer: 1.0 and 1e3 are none.
template <typename Integer>
absl::Status Read(const Place& place, Integer& out) {
  constexpr Integer kMax = std::numeric_limits<Integer>::max();
  if (place.value.is_number_unsigned() && place.value.get<uint64_t>() <= kMax) {
    out = place.value.get<Integer>();
    return absl::OkStatus();
  }
  std::string shown = place.value.is_number() ? place.value.dump() : "it";
  return RefusedAt(place.pointer, absl::StrCat(shown, " is not an integer from 0 to ", kMax));
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
  LOCUS_RETURN_IF_ERROR(CheckMembers(place, {"first", "last", "to", "permyriad"}, {}));
  LOCUS_RETURN_IF_ERROR(Read(place["first"], out.first));
  LOCUS_RETURN_IF_ERROR(Read(place["last"], out.last));
  LOCUS_RETURN_IF_ERROR(Read(place["to"], out.to));
  return Read(place["permyriad"], out.permyriad);
}

template <typename Element>
absl::Status Read(const Place& place, std::vector<Element>& out) {
  LOCUS_RETURN_IF_ERROR(CheckIsA(json::value_t::array, place));
  for (size_t i = 0; i < place.value.size(); ++i) {
    LOCUS_RETURN_IF_ERROR(Read(place[i], out.emplace_back()));
  }
  return absl::OkStatus();
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

std::string JsonOf(const VnodeRange& range) {
  return absl::StrCat("{\"last\": ", range.last, ", \"shard\": ", range.shard, "}");
}

std::string JsonOf(const VnodeMove& move) {
  return absl::StrCat("{\"first\": ", move.first, ", \"last\": ", move.last, ", \"to\": ", move.to,
                      ", \"permyriad\": ", move.permyriad, "}");
}

template <typename Element>
void AppendArray(const char* name, const std::vector<Element>& elements, std::string& out) {
  absl::StrAppend(&out, ",\n  \"", name, "\": [");
  const char* separator = "\n    ";
  for (const Element& element : elements) {
    absl::StrAppend(&out, separator, JsonOf(element));
    separator = ",\n    ";
  }
  out += "\n  ]";
}

}  // namespace

absl::StatusOr<RoutingTable> RoutingTable::Parse(std::string_view text) {
  LOCUS_ASSIGN_OR_RETURN(json document, ParseJson(text));
  Place root{document, ""};
  LOCUS_RETURN_IF_ERROR(CheckMembers(root, {"epoch", "shards", "ranges"}, {"moves"}));
  uint64_t epoch = 0;
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  std::vector<VnodeMove> moves;
  LOCUS_RETURN_IF_ERROR(Read(root["epoch"], epoch));
  LOCUS_RETURN_IF_ERROR(Read(root["shards"], shards));
  LOCUS_RETURN_IF_ERROR(Read(root["ranges"], ranges));
  if (document.contains("moves")) LOCUS_RETURN_IF_ERROR(Read(root["moves"], moves));
  return Make(epoch, std::move(shards), std::move(ranges), std::move(moves));
}

std::string RoutingTable::ToJson() const {
  std::string out = absl::StrCat("{\n  \"epoch\": ", epoch_);
  AppendArray("shards", shards_, out);
  AppendArray("ranges", ranges_, out);
  if (!moves_.empty()) AppendArray("moves", moves_, out);
  return out + "\n}\n";
}

}  // namespace locus
