// SPDX-License-Identifier: Apache-2.0
#include "routing/table/table_json.h"

#include <string_view>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {

namespace {

using nlohmann::json;
using Kind = JsonShape::Kind;

constexpr JsonShape kTextJson{.kind = Kind::kString, .most = RoutingTable::kMaxTextBytes};
constexpr JsonShape kLabelsJson{.kind = Kind::kMap,
                                .most = RoutingTable::kMaxLabels,
                                .element = &kTextJson,
                                .name_bytes = RoutingTable::kMaxNameBytes};
constexpr JsonMember kShardMembers[] = {
    {.name = "id", .shape = &kUint32Json},
    {.name = "name", .shape = &kNameJson},
    {.name = "endpoint", .shape = &kTextJson},
    {.name = "weight", .shape = &kUint32Json, .required = false},
    {.name = "labels", .shape = &kLabelsJson, .required = false}};
constexpr JsonShape kShardJson{.kind = Kind::kObject, .members = kShardMembers};

}  // namespace

constinit const JsonShape kShardsJson{
    .kind = Kind::kArray, .most = RoutingTable::kMaxShards, .element = &kShardJson};

void Read(const JsonValue& value, std::string& out) { out = value.value.get<std::string>(); }

void Read(const JsonValue& value, Shard& out) {
  Read(value["id"], out.id);
  Read(value["name"], out.name);
  Read(value["endpoint"], out.endpoint);
  if (value.Has("weight")) Read(value["weight"], out.weight);
  if (!value.Has("labels")) return;
  for (const auto& [name, text] : value.value.at("labels").items()) out.labels[name] = text;
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

}  // namespace locus::internal
