// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/routing/routing_table.h"
#include "routing/table/json_document.h"
#include "routing/table/json_place.h"
#include "src/base/check.h"

namespace locus {
namespace {

using nlohmann::json;

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
  LOCUS_ASSIGN_OR_RETURN(json document, ParseJson(text));
  Place root{document, ""};
  LOCUS_RETURN_IF_ERROR(CheckMembers(root, {"epoch", "shards", "ranges"}, {"table_id", "moves"}));
  uint64_t epoch = 0;
  std::string table_id;
  std::vector<Shard> shards;
  std::vector<VnodeRange> ranges;
  std::vector<VnodeMove> moves;
  LOCUS_RETURN_IF_ERROR(Read(root["epoch"], epoch));
  if (document.contains("table_id")) {
    LOCUS_RETURN_IF_ERROR(Read(root["table_id"], table_id));
    if (table_id.empty()) return RefusedAt("/table_id", "it is empty");
  }
  LOCUS_RETURN_IF_ERROR(Read(root["shards"], shards));
  LOCUS_RETURN_IF_ERROR(Read(root["ranges"], ranges));
  if (document.contains("moves")) LOCUS_RETURN_IF_ERROR(Read(root["moves"], moves));
  return Make(epoch, std::move(shards), std::move(ranges), std::move(moves), std::move(table_id));
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
