// SPDX-License-Identifier: Apache-2.0
#include "routing/table/table_check.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "routing/table/refusal.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

using ShardIds = std::unordered_set<uint32_t>;

std::string OutOf(uint64_t value, uint64_t least, uint64_t most) {
  return absl::StrCat(value, " is not from ", least, " to ", most);
}

// Does not show the text: it may be an endpoint.
absl::Status CheckText(std::string_view text, size_t max_bytes, std::string_view pointer) {
  if (text.size() > max_bytes) {
    return RefusedAt(pointer, absl::StrCat(text.size(), " bytes; at most ", max_bytes));
  }
  const std::string why = WhyUnreadable(text);
  return why.empty() ? absl::OkStatus() : RefusedAt(pointer, why);
}

absl::Status CheckNonEmptyText(std::string_view text, size_t max_bytes, std::string_view pointer) {
  if (text.empty()) return RefusedAt(pointer, "it is empty");
  return CheckText(text, max_bytes, pointer);
}

// A password may contain any character, also '/', so an '@' anywhere may be the end of one.
bool MayHoldCredentials(std::string_view endpoint) {
  return endpoint.find('@') != std::string_view::npos || HasPasswordOption(endpoint);
}

absl::Status CheckTableId(std::string_view table_id) {
  if (table_id.empty()) return absl::OkStatus();
  if (table_id.size() == RoutingTable::kTableIdDigits && ParseHex(table_id)) {
    return absl::OkStatus();
  }
  return RefusedAt("/table_id", absl::StrCat("it is not ", RoutingTable::kTableIdDigits,
                                             " hex digits, as `locus table new` makes them"));
}

absl::Status CheckEndpoint(std::string_view endpoint, std::string_view pointer) {
  if (MayHoldCredentials(endpoint)) {
    return RefusedAt(pointer,
                     "it contains a user or a password; an endpoint carries no credentials");
  }
  LOCUS_RETURN_IF_ERROR(CheckNonEmptyText(endpoint, RoutingTable::kMaxTextBytes, pointer));
  if (endpoint.find(' ') != std::string_view::npos)
    return RefusedAt(pointer, "it contains a space");
  return absl::OkStatus();
}

absl::Status CheckLabels(const Shard& shard, std::string_view pointer) {
  for (const auto& [name, value] : shard.labels) {
    std::string label = PointerTo(pointer, std::string_view(name));
    LOCUS_RETURN_IF_ERROR(CheckNonEmptyText(name, RoutingTable::kMaxNameBytes, label));
    LOCUS_RETURN_IF_ERROR(CheckText(value, RoutingTable::kMaxTextBytes, label));
  }
  return absl::OkStatus();
}

absl::Status CheckShard(const Shard& shard, std::string_view pointer) {
  if (shard.id == 0) return RefusedAt(PointerTo(pointer, "id"), "0 is not an id; the first is 1");
  LOCUS_RETURN_IF_ERROR(
      CheckNonEmptyText(shard.name, RoutingTable::kMaxNameBytes, PointerTo(pointer, "name")));
  LOCUS_RETURN_IF_ERROR(CheckEndpoint(shard.endpoint, PointerTo(pointer, "endpoint")));
  if (shard.weight > RoutingTable::kMaxWeight) {
    return RefusedAt(PointerTo(pointer, "weight"),
                     OutOf(shard.weight, 0, RoutingTable::kMaxWeight));
  }
  return CheckLabels(shard, PointerTo(pointer, "labels"));
}

// Checks what must be different in every shard. A message names an endpoint by its pointer only: it
// may be what an operator keeps secret.
class Uniqueness {
 public:
  absl::Status Check(const Shard& shard, size_t index) {
    std::string pointer = PointerTo("/shards", index);
    auto [id, id_is_new] = by_id_.try_emplace(shard.id, index);
    if (!id_is_new) {
      return RefusedAt(PointerTo(pointer, "id"),
                       absl::StrCat(shard.id, " is also the id of /shards/", id->second));
    }
    auto [name, name_is_new] = by_name_.try_emplace(shard.name, index);
    if (!name_is_new) {
      return RefusedAt(
          PointerTo(pointer, "name"),
          absl::StrCat(Quoted(shard.name), " is also the name of /shards/", name->second));
    }
    auto [endpoint, endpoint_is_new] = by_endpoint_.try_emplace(shard.endpoint, index);
    if (!endpoint_is_new) {
      return RefusedAt(PointerTo(pointer, "endpoint"),
                       absl::StrCat("/shards/", endpoint->second,
                                    " has the same endpoint; two shards are two databases"));
    }
    return absl::OkStatus();
  }

 private:
  // The texts are the shards' own.
  std::unordered_map<uint32_t, size_t> by_id_;
  std::unordered_map<std::string_view, size_t> by_name_, by_endpoint_;
};

absl::Status CheckShards(const std::vector<Shard>& shards) {
  if (shards.empty()) return RefusedAt("/shards", "there is no shard");
  TextTotal total;
  for (const Shard& shard : shards) LOCUS_RETURN_IF_ERROR(total.Add(shard));
  Uniqueness unique;
  for (size_t i = 0; i < shards.size(); ++i) {
    LOCUS_RETURN_IF_ERROR(CheckShard(shards[i], PointerTo("/shards", i)));
    LOCUS_RETURN_IF_ERROR(unique.Check(shards[i], i));
  }
  return absl::OkStatus();
}

absl::Status CheckRanges(const std::vector<VnodeRange>& ranges, const ShardIds& known) {
  if (ranges.empty()) return RefusedAt("/ranges", "there is no range");
  for (size_t i = 0; i < ranges.size(); ++i) {
    std::string pointer = PointerTo("/ranges", i);
    if (i > 0 && ranges[i].last <= ranges[i - 1].last) {
      return RefusedAt(PointerTo(pointer, "last"),
                       absl::StrCat(ranges[i].last, " is not above ", ranges[i - 1].last,
                                    ", the one before it"));
    }
    if (!known.contains(ranges[i].shard)) {
      return RefusedAt(PointerTo(pointer, "shard"),
                       absl::StrCat("no shard has id ", ranges[i].shard));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMove(const VnodeMove& move, const ShardIds& known, std::string_view pointer) {
  if (move.first > move.last) {
    return RefusedAt(PointerTo(pointer, "first"),
                     absl::StrCat(move.first, " is above last, ", move.last));
  }
  if (!known.contains(move.to)) {
    return RefusedAt(PointerTo(pointer, "to"), absl::StrCat("no shard has id ", move.to));
  }
  if (move.permyriad > RoutingTable::kMaxPermyriad) {
    return RefusedAt(PointerTo(pointer, "permyriad"),
                     OutOf(move.permyriad, 0, RoutingTable::kMaxPermyriad));
  }
  if (move.step > RoutingTable::kMaxStep) {
    return RefusedAt(PointerTo(pointer, "step"), OutOf(move.step, 0, RoutingTable::kMaxStep));
  }
  return absl::OkStatus();
}

// Stops at the first vnode that moves twice, so the work is bounded by vnodes and moves.
absl::Status CheckMoves(const std::vector<VnodeMove>& moves, const ShardIds& known,
                        const std::vector<VnodeRange>& ranges) {
  std::vector<bool> moving(ShardGene::kCount);
  for (size_t i = 0; i < moves.size(); ++i) {
    std::string pointer = PointerTo("/moves", i);
    LOCUS_RETURN_IF_ERROR(CheckMove(moves[i], known, pointer));
    auto range = std::ranges::lower_bound(ranges, moves[i].first, {}, &VnodeRange::last);
    for (size_t vnode = moves[i].first; vnode <= moves[i].last; ++vnode) {
      if (moving[vnode]) {
        auto covers = [&](const VnodeMove& move) {
          return move.first <= vnode && vnode <= move.last;
        };
        auto other = std::ranges::find_if(moves, covers) - moves.begin();
        return RefusedAt(pointer, absl::StrCat("vnode ", vnode, " is also in /moves/", other));
      }
      if (range != ranges.end() && range->last < vnode) ++range;
      if ((range == ranges.end() ? ranges.front() : *range).shard == moves[i].to) {
        return RefusedAt(PointerTo(pointer, "to"),
                         absl::StrCat("shard ", moves[i].to, " already owns vnode ", vnode));
      }
      moving[vnode] = true;
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool HasPasswordOption(std::string_view text) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(text));
  for (std::string_view option : {"password=", "passwd=", "pwd="}) {
    if (lower.find(option) != std::string::npos) return true;
  }
  return false;
}

absl::Status CheckTable(uint64_t epoch, std::string_view table_id, const std::vector<Shard>& shards,
                        const std::vector<VnodeRange>& ranges,
                        const std::vector<VnodeMove>& moves) {
  if (epoch < 1 || epoch > RoutingTable::kMaxEpoch) {
    return RefusedAt("/epoch", OutOf(epoch, 1, RoutingTable::kMaxEpoch));
  }
  LOCUS_RETURN_IF_ERROR(CheckTableId(table_id));
  LOCUS_RETURN_IF_ERROR(CheckShards(shards));
  ShardIds known;
  for (const Shard& shard : shards) known.insert(shard.id);
  LOCUS_RETURN_IF_ERROR(CheckRanges(ranges, known));
  return CheckMoves(moves, known, ranges);
}

absl::Status TextTotal::Add(const Shard& shard) {
  if (++shards_ > RoutingTable::kMaxShards) {
    return RefusedAt("/shards", absl::StrCat("more than ", RoutingTable::kMaxShards, " shards"));
  }
  labels_ += shard.labels.size();
  if (labels_ > RoutingTable::kMaxLabels) {
    return RefusedAt("/shards", absl::StrCat("more than ", RoutingTable::kMaxLabels,
                                             " labels of all shards together"));
  }
  bytes_ += shard.name.size() + shard.endpoint.size();
  for (const auto& [name, value] : shard.labels) bytes_ += name.size() + value.size();
  if (bytes_ <= RoutingTable::kMaxAllTextBytes) return absl::OkStatus();
  return RefusedAt("/shards",
                   absl::StrCat("names, endpoints and labels of all shards have more than ",
                                RoutingTable::kMaxAllTextBytes, " bytes together"));
}

std::vector<uint32_t> OwnerOfEachVnode(const std::vector<VnodeRange>& ranges) {
  std::vector<uint32_t> owners(ShardGene::kCount, ranges.front().shard);
  size_t vnode = 0;
  for (const VnodeRange& range : ranges) {
    for (; vnode <= range.last; ++vnode) owners[vnode] = range.shard;
  }
  return owners;
}

}  // namespace locus::internal
