// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"
#include "routing/table/json_document.h"
#include "routing/table/refusal.h"
#include "routing/table/table_check.h"
#include "routing/table/table_json.h"
#include "src/base/os/check.h"

namespace locus {

using internal::JsonMember;
using internal::JsonOf;
using internal::JsonShape;
using internal::JsonValue;
using internal::kUint16Json;
using internal::kUint32Json;
using internal::kUint64Json;
using internal::RefusedAt;
using internal::TextTotal;

namespace {

using Kind = JsonShape::Kind;

constexpr JsonMember kRangeMembers[] = {{.name = "last", .shape = &kUint16Json},
                                        {.name = "shard", .shape = &kUint32Json}};
constexpr JsonShape kRangeJson{.kind = Kind::kObject, .members = kRangeMembers};
constexpr JsonMember kMoveMembers[] = {{.name = "first", .shape = &kUint16Json},
                                       {.name = "last", .shape = &kUint16Json},
                                       {.name = "to", .shape = &kUint32Json},
                                       {.name = "permyriad", .shape = &kUint32Json},
                                       {.name = "step", .shape = &kUint64Json, .required = false}};
constexpr JsonShape kMoveJson{.kind = Kind::kObject, .members = kMoveMembers};
// As many as there are vnodes: ranges rise, and moves do not overlap.
constexpr JsonShape kRangesJson{
    .kind = Kind::kArray, .most = ShardGene::kCount, .element = &kRangeJson};
constexpr JsonShape kMovesJson{
    .kind = Kind::kArray, .most = ShardGene::kCount, .element = &kMoveJson};
constinit const JsonMember kTableMembers[] = {
    {.name = "epoch", .shape = &kUint64Json},
    {.name = "table_id", .shape = &internal::kTableIdJson, .required = false},
    {.name = "shards", .shape = &internal::kShardsJson},
    {.name = "ranges", .shape = &kRangesJson},
    {.name = "moves", .shape = &kMovesJson, .required = false}};
constinit const JsonShape kTableJson{.kind = Kind::kObject, .members = kTableMembers};

// Takes the elements of a document as they are read, so that it is never in memory as JSON values.
struct Parts {
  absl::Status Take(std::string_view array, const JsonValue& element) {
    if (array == "shards") {
      Read(element, shards.emplace_back());
      return total.Add(shards.back());
    }
    if (array == "ranges") {
      VnodeRange& range = ranges.emplace_back();
      internal::Read(element["last"], range.last);
      internal::Read(element["shard"], range.shard);
      return absl::OkStatus();
    }
    VnodeMove& move = moves.emplace_back();
    internal::Read(element["first"], move.first);
    internal::Read(element["last"], move.last);
    internal::Read(element["to"], move.to);
    internal::Read(element["permyriad"], move.permyriad);
    if (element.Has("step")) internal::Read(element["step"], move.step);
    return absl::OkStatus();
  }

  TextTotal total;
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  std::vector<VnodeMove> moves;
};

std::string JsonOf(const VnodeRange& range) {
  return absl::StrCat("{\"last\": ", range.last, ", \"shard\": ", range.shard, "}");
}

std::string JsonOf(const VnodeMove& move) {
  // Written only where there is one: readers that know no steps read the rest.
  std::string step = move.step == 0 ? "" : absl::StrCat(", \"step\": ", move.step);
  return absl::StrCat("{\"first\": ", move.first, ", \"last\": ", move.last, ", \"to\": ", move.to,
                      ", \"permyriad\": ", move.permyriad, step, "}");
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
  Parts parts;
  auto take = [&parts](std::string_view array, const JsonValue& element) {
    return parts.Take(array, element);
  };
  LOCUS_ASSIGN_OR_RETURN(nlohmann::json document, internal::ParseJson(text, kTableJson, take));
  std::string table_id;
  if (document.contains("table_id")) {
    table_id = document["table_id"].get<std::string>();
    if (table_id.empty()) return RefusedAt("/table_id", "it is empty");
  }
  return Make(document["epoch"].get<uint64_t>(), std::move(parts.shards), std::move(parts.ranges),
              std::move(parts.moves), std::move(table_id));
}

std::string RoutingTable::ToJson() const {
  std::string out = absl::StrCat("{\n  \"epoch\": ", epoch_);
  if (!table_id_.empty()) absl::StrAppend(&out, ",\n  \"table_id\": \"", table_id_, "\"");
  AppendArray("shards", shards_, out);
  AppendArray("ranges", ranges_, out);
  if (!moves_.empty()) AppendArray("moves", moves_, out);
  return out + "\n}\n";
}

}  // namespace locus
