// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/routing/rebalance.h"
#include "routing/planner/planned_ring.h"
#include "routing/table/json_document.h"
#include "routing/table/refusal.h"
#include "routing/table/table_check.h"
#include "routing/table/table_json.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::CheckPlannedTable;
using internal::JsonMember;
using internal::JsonOf;
using internal::JsonShape;
using internal::JsonValue;
using internal::kNameJson;
using internal::kTableIdJson;
using internal::kUint16Json;
using internal::kUint32Json;
using internal::kUint64Json;
using internal::PlannedRing;
using internal::PlannedRingOf;
using internal::PointerTo;
using internal::Quoted;
using internal::Read;
using internal::RefusedAt;
using internal::TextTotal;

namespace {

using nlohmann::json;
using Kind = JsonShape::Kind;

constexpr JsonShape kNumberJson{.kind = Kind::kNumber};
constexpr JsonMember kMoveMembers[] = {{.name = "first", .shape = &kUint16Json},
                                       {.name = "last", .shape = &kUint16Json},
                                       {.name = "from", .shape = &kNameJson},
                                       {.name = "to", .shape = &kNameJson}};
constexpr JsonShape kMoveJson{.kind = Kind::kObject, .members = kMoveMembers};
constexpr JsonShape kMovesJson{
    .kind = Kind::kArray, .most = ShardGene::kCount, .element = &kMoveJson};
constexpr JsonShape kNamesJson{
    .kind = Kind::kArray, .most = RoutingTable::kMaxShards, .element = &kNameJson};
constexpr JsonShape kVnodesJson{.kind = Kind::kMap,
                                .most = RoutingTable::kMaxShards,
                                .element = &kUint32Json,
                                .name_bytes = RoutingTable::kMaxNameBytes};
constinit const JsonMember kPlanMembers[] = {
    {.name = "epoch", .shape = &kUint64Json},
    {.name = "table_id", .shape = &kTableIdJson, .required = false},
    {.name = "shards", .shape = &internal::kShardsJson},
    {.name = "moves", .shape = &kMovesJson},
    {.name = "moved_vnodes", .shape = &kUint64Json},
    {.name = "before", .shape = &kVnodesJson},
    {.name = "after", .shape = &kVnodesJson},
    {.name = "moved_load", .shape = &kNumberJson},
    {.name = "peak_before", .shape = &kNumberJson, .required = false},
    {.name = "peak_after", .shape = &kNumberJson, .required = false},
    {.name = "reweighted", .shape = &kNamesJson, .required = false}};
constinit const JsonShape kPlanJson{.kind = Kind::kObject, .members = kPlanMembers};

using VnodesByName = std::map<std::string, size_t>;

const std::string& NameOf(const RebalancePlan& plan, uint32_t id) {
  return plan.table.FindShard(id)->name;
}

std::string JsonOfVnodes(const RebalancePlan& plan, const std::map<uint32_t, size_t>& vnodes) {
  std::string out = "{";
  const char* separator = "";
  for (auto [id, count] : vnodes) {
    absl::StrAppend(&out, separator, JsonOf(NameOf(plan, id)), ": ", count);
    separator = ", ";
  }
  return out + "}";
}

std::vector<std::string> ReweightedNames(const RebalancePlan& plan) {
  std::vector<std::string> names;
  for (uint32_t id : plan.reweighted) names.push_back(JsonOf(NameOf(plan, id)));
  return names;
}

absl::Status ReadNumber(const JsonValue& place, double most, double& out) {
  out = place.value.get<double>();
  if (out >= 0 && out <= most) return absl::OkStatus();
  return RefusedAt(place.pointer,
                   absl::StrCat(place.value.dump(), " is not a number from 0 to ", most));
}

// Builds the plan that a document describes, against a table.
class Reader {
 public:
  Reader(const RoutingTable& table, const json& document)
      : table_(table),
        root_{document, ""},
        plan_{.table = table,
              .moves = {},
              .moved_vnodes = 0,
              .vnodes_before = {},
              .vnodes_after = {},
              .peak_before = {},
              .peak_after = {}} {}

  absl::StatusOr<RebalancePlan> Go() && {
    LOCUS_RETURN_IF_ERROR(ReadTableId());
    LOCUS_RETURN_IF_ERROR(ReadEpoch());
    LOCUS_RETURN_IF_ERROR(ReadShards());
    for (size_t i = 0; i < root_["moves"].value.size(); ++i) LOCUS_RETURN_IF_ERROR(ReadMove(i));
    LOCUS_RETURN_IF_ERROR(ReadReweighted());
    LOCUS_RETURN_IF_ERROR(ReadMovedVnodes());
    LOCUS_RETURN_IF_ERROR(ReadVnodes(root_["before"], plan_.vnodes_before));
    LOCUS_RETURN_IF_ERROR(ReadVnodes(root_["after"], plan_.vnodes_after));
    LOCUS_RETURN_IF_ERROR(CheckVnodes());
    LOCUS_RETURN_IF_ERROR(ReadLoads());
    return std::move(plan_);
  }

 private:
  // Whether the table is the one planned from. Then nothing has moved yet, and the whole document
  // can be checked against it.
  bool planned_from_this() const { return epoch_ == table_.epoch(); }

  // Checked first: a plan for another table may fit this one by chance.
  absl::Status ReadTableId() const {
    std::string planned_id;
    if (root_.Has("table_id")) Read(root_["table_id"], planned_id);
    absl::AsciiStrToLower(&planned_id);
    return CheckPlannedTable(planned_id, table_);
  }

  absl::Status ReadEpoch() {
    Read(root_["epoch"], epoch_);
    if (epoch_ >= 1 && epoch_ <= table_.epoch()) return absl::OkStatus();
    return RefusedAt("/epoch", absl::StrCat(epoch_, " is not from 1 to ", table_.epoch(),
                                            ", the epoch of the table"));
  }

  absl::Status ReadShards() {
    std::vector<Shard> shards;
    JsonValue array = root_["shards"];
    TextTotal total;
    for (size_t i = 0; i < array.value.size(); ++i) {
      Read(array[i], shards.emplace_back());
      LOCUS_RETURN_IF_ERROR(total.Add(shards.back()));
    }
    size_t known = 0;
    for (size_t i = 0; i < shards.size(); ++i) {
      const Shard* shard = table_.FindShard(shards[i].id);
      if (shard == nullptr) continue;
      ++known;
      if (shard->name != shards[i].name) {
        return RefusedAt(
            PointerTo(PointerTo("/shards", i), "name"),
            absl::StrCat("shard ", shard->id, " of the table is called ", Quoted(shard->name)));
      }
    }
    if (known < table_.shards().size()) return RefusedAt("/shards", MissingShard(shards));
    LOCUS_ASSIGN_OR_RETURN(plan_.table,
                           RoutingTable::Make(table_.epoch(), std::move(shards), table_.ranges(),
                                              table_.moves(), table_.table_id()));
    ring_ = PlannedRingOf(plan_.table);
    for (const Shard& shard : plan_.table.shards()) ids_[shard.name] = shard.id;
    return absl::OkStatus();
  }

  // Names a shard of the table that the plan lacks. If ids are repeated there may be none.
  std::string MissingShard(const std::vector<Shard>& shards) const {
    std::unordered_map<uint32_t, bool> there;
    for (const Shard& shard : shards) there[shard.id] = true;
    for (const Shard& shard : table_.shards()) {
      if (there.contains(shard.id)) continue;
      return absl::StrCat("shard ", Quoted(shard.name), " of the table is missing; plan again");
    }
    return "a shard occurs twice";
  }

  absl::Status ReadShard(const JsonValue& place, uint32_t& id) {
    std::string name;
    Read(place, name);
    auto found = ids_.find(name);
    if (found == ids_.end()) return RefusedAt(place.pointer, "it is not a shard of /shards");
    id = found->second;
    return absl::OkStatus();
  }

  absl::Status ReadMove(size_t index) {
    JsonValue place = root_["moves"][index];
    PlannedMove move;
    Read(place["first"], move.first);
    Read(place["last"], move.last);
    LOCUS_RETURN_IF_ERROR(ReadShard(place["from"], move.from));
    LOCUS_RETURN_IF_ERROR(ReadShard(place["to"], move.to));
    if (move.first > move.last) {
      return RefusedAt(place["first"].pointer,
                       absl::StrCat(move.first, " is above last, ", move.last));
    }
    if (move.from == move.to) return RefusedAt(place["to"].pointer, "it is the same as from");
    if (index > 0) {
      const PlannedMove& before = plan_.moves.back();
      if (move.first <= before.last) {
        return RefusedAt(place["first"].pointer,
                         absl::StrCat(move.first, " is not above ", before.last,
                                      ", the last of the move before it"));
      }
      if (move.first == before.last + 1 && move.from == before.from && move.to == before.to) {
        return RefusedAt(place.pointer, "it continues the move before it: merge the two");
      }
    }
    if (planned_from_this()) LOCUS_RETURN_IF_ERROR(CheckGiver(place, move));
    plan_.moves.push_back(move);
    return absl::OkStatus();
  }

  absl::Status CheckGiver(const JsonValue& place, const PlannedMove& move) const {
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      if (ring_.fixed[vnode]) {
        return RefusedAt(place.pointer, absl::StrCat("vnode ", vnode, " moves already"));
      }
      const Shard& owner = plan_.table.shards()[ring_.owners[vnode]];
      if (owner.id == move.from) continue;
      return RefusedAt(place["from"].pointer,
                       absl::StrCat("vnode ", vnode, " belongs to ", Quoted(owner.name)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadReweighted() {
    if (!root_.value.contains("reweighted")) {
      for (const Shard& shard : plan_.table.shards()) plan_.reweighted.push_back(shard.id);
      return absl::OkStatus();
    }
    JsonValue names = root_["reweighted"];
    for (size_t i = 0; i < names.value.size(); ++i) {
      LOCUS_RETURN_IF_ERROR(ReadShard(names[i], plan_.reweighted.emplace_back()));
    }
    std::ranges::sort(plan_.reweighted);
    if (std::ranges::adjacent_find(plan_.reweighted) == plan_.reweighted.end()) {
      return absl::OkStatus();
    }
    return RefusedAt(names.pointer, "a shard occurs twice");
  }

  absl::Status ReadMovedVnodes() {
    uint64_t moved = 0;
    Read(root_["moved_vnodes"], moved);
    for (const PlannedMove& move : plan_.moves) {
      plan_.moved_vnodes += size_t{move.last} - move.first + 1;
    }
    if (moved == plan_.moved_vnodes) return absl::OkStatus();
    return RefusedAt("/moved_vnodes",
                     absl::StrCat(moved, "; /moves have ", plan_.moved_vnodes, " vnodes"));
  }

  absl::Status ReadVnodes(const JsonValue& place, std::map<uint32_t, size_t>& out) {
    size_t sum = 0;
    for (const auto& [name, value] : place.value.items()) {
      JsonValue vnodes{value, PointerTo(place.pointer, std::string_view(name))};
      auto found = ids_.find(name);
      if (found == ids_.end()) return RefusedAt(vnodes.pointer, "it is not a shard of /shards");
      uint32_t count = 0;
      Read(vnodes, count);
      out[found->second] = count;
      sum += count;
    }
    for (const Shard& shard : plan_.table.shards()) {
      if (out.contains(shard.id)) continue;
      return RefusedAt(place.pointer, absl::StrCat("member ", Quoted(shard.name), " is missing"));
    }
    if (sum == ShardGene::kCount) return absl::OkStatus();
    return RefusedAt(place.pointer, absl::StrCat(sum, " vnodes; the ring has ", ShardGene::kCount));
  }

  absl::Status CheckVnodes() const {
    std::map<uint32_t, size_t> expected = plan_.vnodes_before;
    if (planned_from_this()) {
      for (auto& [id, count] : expected) count = 0;
      for (uint32_t owner : ring_.owners) ++expected[plan_.table.shards()[owner].id];
      LOCUS_RETURN_IF_ERROR(CheckEqual("/before", plan_.vnodes_before, expected));
    }
    for (const PlannedMove& move : plan_.moves) {
      size_t count = size_t{move.last} - move.first + 1;
      expected[move.to] += count;
      expected[move.from] -= count;  // below 0 it wraps, and differs from the document
    }
    return CheckEqual("/after", plan_.vnodes_after, expected);
  }

  absl::Status CheckEqual(std::string_view pointer, const std::map<uint32_t, size_t>& vnodes,
                          const std::map<uint32_t, size_t>& expected) const {
    for (auto [id, count] : vnodes) {
      if (count == expected.at(id)) continue;
      return RefusedAt(PointerTo(pointer, std::string_view(NameOf(plan_, id))),
                       absl::StrCat(count, " vnodes do not agree with ",
                                    pointer == "/before" ? "the table" : "/before and /moves"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadLoads() {
    LOCUS_RETURN_IF_ERROR(ReadNumber(root_["moved_load"], 1, plan_.moved_load));
    if (root_.value.contains("peak_before") != root_.value.contains("peak_after")) {
      return RefusedAt("", "peak_before and peak_after need each other");
    }
    if (!root_.value.contains("peak_before")) return absl::OkStatus();
    constexpr double kMost = double{RoutingTable::kMaxShards} * RoutingTable::kMaxWeight;
    LOCUS_RETURN_IF_ERROR(ReadNumber(root_["peak_before"], kMost, plan_.peak_before.emplace()));
    return ReadNumber(root_["peak_after"], kMost, plan_.peak_after.emplace());
  }

  const RoutingTable& table_;
  const JsonValue root_;
  uint64_t epoch_ = 0;
  RebalancePlan plan_;
  PlannedRing ring_;
  std::unordered_map<std::string, uint32_t> ids_;
};

}  // namespace

std::string PlanAsJson(const RebalancePlan& plan) {
  std::string out = absl::StrCat("{\n  \"epoch\": ", plan.table.epoch());
  if (!plan.table.table_id().empty()) {
    absl::StrAppend(&out, ",\n  \"table_id\": ", JsonOf(plan.table.table_id()));
  }
  out += ",\n  \"shards\": [";
  const char* separator = "\n    ";
  for (const Shard& shard : plan.table.shards()) {
    absl::StrAppend(&out, separator, JsonOf(shard));
    separator = ",\n    ";
  }
  out += "\n  ],\n  \"moves\": [";
  separator = "\n    ";
  for (const PlannedMove& move : plan.moves) {
    absl::StrAppend(&out, separator, "{\"first\": ", move.first, ", \"last\": ", move.last,
                    ", \"from\": ", JsonOf(NameOf(plan, move.from)),
                    ", \"to\": ", JsonOf(NameOf(plan, move.to)), "}");
    separator = ",\n    ";
  }
  absl::StrAppend(&out, plan.moves.empty() ? "]" : "\n  ]", ",\n  \"reweighted\": [",
                  absl::StrJoin(ReweightedNames(plan), ", "),
                  "],\n  \"moved_vnodes\": ", plan.moved_vnodes,
                  ",\n  \"before\": ", JsonOfVnodes(plan, plan.vnodes_before),
                  ",\n  \"after\": ", JsonOfVnodes(plan, plan.vnodes_after),
                  ",\n  \"moved_load\": ", json(plan.moved_load).dump());
  if (plan.peak_before && plan.peak_after) {
    absl::StrAppend(&out, ",\n  \"peak_before\": ", json(*plan.peak_before).dump(),
                    ",\n  \"peak_after\": ", json(*plan.peak_after).dump());
  }
  return out + "\n}\n";
}

absl::StatusOr<RebalancePlan> ParsePlan(const RoutingTable& table, std::string_view text) {
  LOCUS_ASSIGN_OR_RETURN(json document, internal::ParseJson(text, kPlanJson));
  return Reader(table, document).Go();
}

}  // namespace locus
