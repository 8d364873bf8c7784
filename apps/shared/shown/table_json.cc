// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/shown/table_json.h"

#include <map>
#include <vector>

#include "absl/time/time.h"
#include "locus/shard_gene.h"
#include "nlohmann/json.hpp"

namespace locus::apps {
namespace {

using Json = nlohmann::ordered_json;

std::string Line(const Json& json) { return json.dump() + "\n"; }

Json OfTable(const RoutingTable& table) {
  Json json;
  json["epoch"] = table.epoch();
  if (!table.table_id().empty()) json["table_id"] = table.table_id();
  return json;
}

Json OfShard(const Shard& shard) {
  Json json;
  json["id"] = shard.id;
  json["name"] = shard.name;
  json["endpoint"] = shard.endpoint;
  json["weight"] = shard.weight;
  if (!shard.labels.empty()) json["labels"] = shard.labels;
  return json;
}

Json MovesOf(const RoutingTable& table) {
  Json moves = Json::array();
  for (const VnodeMove& move : table.moves()) {
    Json json;
    json["first"] = move.first;
    json["last"] = move.last;
    json["to"] = move.to;
    json["permyriad"] = move.permyriad;
    json["step"] = move.step;
    moves.push_back(std::move(json));
  }
  return moves;
}

std::vector<uint32_t> OwnersOf(const RoutingTable& table) {
  std::vector<uint32_t> owners(ShardGene::kCount);
  for (size_t vnode = 0; vnode < owners.size(); ++vnode) {
    owners[vnode] = table.OwnerOf(ShardGene::FromUint16(static_cast<uint16_t>(vnode))).id;
  }
  return owners;
}

// Runs of vnodes that another shard owns now.
Json OwnersChanged(const RoutingTable& before, const RoutingTable& after) {
  std::vector<uint32_t> old = OwnersOf(before), now = OwnersOf(after);
  Json runs = Json::array();
  for (size_t first = 0, end; first < old.size(); first = end) {
    end = first + 1;
    while (end < old.size() && old[end] == old[first] && now[end] == now[first]) ++end;
    if (old[first] == now[first]) continue;
    Json run;
    run["first"] = first;
    run["last"] = end - 1;
    run["from"] = old[first];
    run["to"] = now[first];
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

std::string CheckAsJson(const RoutingTable& table) {
  Json json = OfTable(table);
  json["shards"] = table.shards().size();
  json["moves"] = table.moves().size();
  return Line(json);
}

std::string RingAsJson(const RoutingTable& table) {
  std::map<uint32_t, size_t> vnodes;
  for (uint32_t owner : OwnersOf(table)) ++vnodes[owner];
  Json json = OfTable(table);
  json["shards"] = Json::array();
  for (const Shard& shard : table.shards()) {
    Json of_shard = OfShard(shard);
    of_shard["vnodes"] = vnodes[shard.id];
    json["shards"].push_back(std::move(of_shard));
  }
  json["moves"] = MovesOf(table);
  return Line(json);
}

std::string HistoryAsJson(const std::string& place, std::span<const PublishedEpoch> epochs) {
  Json json;
  json["place"] = place;
  json["tables"] = Json::array();
  for (const PublishedEpoch& each : epochs) {
    Json table;
    table["epoch"] = each.epoch;
    table["published_at"] =
        absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", each.published_at, absl::UTCTimeZone());
    if (!each.note.author.empty()) table["author"] = each.note.author;
    if (!each.note.reason.empty()) table["reason"] = each.note.reason;
    json["tables"].push_back(std::move(table));
  }
  return Line(json);
}

std::string DifferenceAsJson(const RoutingTable& before, const RoutingTable& after) {
  Json added = Json::array(), removed = Json::array(), changed = Json::array();
  for (const Shard& shard : before.shards()) {
    const Shard* now = after.FindShard(shard.id);
    if (now == nullptr) {
      removed.push_back(OfShard(shard));
    } else if (*now != shard) {
      Json pair;
      pair["before"] = OfShard(shard);
      pair["after"] = OfShard(*now);
      changed.push_back(std::move(pair));
    }
  }
  for (const Shard& shard : after.shards()) {
    if (before.FindShard(shard.id) == nullptr) added.push_back(OfShard(shard));
  }
  Json json;
  json["before"] = OfTable(before);
  json["after"] = OfTable(after);
  json["before"]["moves"] = MovesOf(before);
  json["after"]["moves"] = MovesOf(after);
  json["shards_added"] = std::move(added);
  json["shards_removed"] = std::move(removed);
  json["shards_changed"] = std::move(changed);
  json["owners_changed"] = OwnersChanged(before, after);
  return Line(json);
}

}  // namespace locus::apps
