// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/table_change.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "routing/table/ring_runs.h"
#include "routing/table/table_check.h"
#include "routing/table/vnode_changes.h"

namespace locus {

using internal::AsPercent;
using internal::ChangeOfEachVnode;
using internal::ForEachRun;
using internal::MoveState;
using internal::OwnerOfEachVnode;
using internal::PortionPercent;
using internal::VnodeChange;
using internal::VnodesText;
using internal::WithThousands;

namespace internal {
namespace {

std::vector<std::optional<MoveState>> MoveOfEachVnode(const RoutingTable& table) {
  std::vector<std::optional<MoveState>> moves(ShardGene::kCount);
  for (const VnodeMove& move : table.moves()) {
    for (size_t vnode = move.first; vnode <= move.last; ++vnode) {
      moves[vnode] = MoveState{move.to, move.permyriad, move.step};
    }
  }
  return moves;
}

}  // namespace

std::vector<VnodeChange> ChangeOfEachVnode(const RoutingTable& before, const RoutingTable& after) {
  std::vector<uint32_t> owners_before = OwnerOfEachVnode(before.ranges());
  std::vector<uint32_t> owners_after = OwnerOfEachVnode(after.ranges());
  std::vector<std::optional<MoveState>> moves_before = MoveOfEachVnode(before);
  std::vector<std::optional<MoveState>> moves_after = MoveOfEachVnode(after);
  std::vector<VnodeChange> changes;
  changes.reserve(ShardGene::kCount);
  for (size_t i = 0; i < ShardGene::kCount; ++i) {
    changes.push_back({owners_before[i], owners_after[i], moves_before[i], moves_after[i]});
  }
  return changes;
}

std::string VnodesText(size_t first, size_t last) {
  if (first == last) return absl::StrCat("vnode ", first);
  return absl::StrCat("vnodes ", first, "..", last);
}

}  // namespace internal

namespace {

std::string LabelsOf(const Shard& shard) {
  std::string out;
  const char* separator = "";
  for (const auto& [name, value] : shard.labels) {
    absl::StrAppend(&out, separator, name, "=", value);
    separator = ",";
  }
  return out.empty() ? "none" : out;
}

std::string Described(const Shard& shard) {
  std::string labels = shard.labels.empty() ? "" : absl::StrCat(", labels ", LabelsOf(shard));
  return absl::StrCat("shard ", shard.id, " ", shard.name, ", ", shard.endpoint, ", weight ",
                      shard.weight, labels);
}

// "": they are equal.
std::string ShardDifference(const Shard& before, const Shard& after) {
  std::string out;
  auto say = [&](const char* what, const std::string& old, const std::string& now) {
    if (old != now) absl::StrAppend(&out, "; ", what, " ", old, " -> ", now);
  };
  say("name", before.name, after.name);
  say("endpoint", before.endpoint, after.endpoint);
  say("weight", absl::StrCat(before.weight), absl::StrCat(after.weight));
  if (before.labels != after.labels) say("labels", LabelsOf(before), LabelsOf(after));
  if (out.empty()) return out;
  return absl::StrCat("~ shard ", after.id, " ", after.name, ":", out.substr(1), "\n");
}

std::string ShardDifferences(const RoutingTable& before, const RoutingTable& after) {
  std::string out;
  for (const Shard& shard : before.shards()) {
    const Shard* now = after.FindShard(shard.id);
    out +=
        now == nullptr ? absl::StrCat("- ", Described(shard), "\n") : ShardDifference(shard, *now);
  }
  for (const Shard& shard : after.shards()) {
    if (before.FindShard(shard.id) == nullptr) absl::StrAppend(&out, "+ ", Described(shard), "\n");
  }
  return out;
}

// "5.00 % -> 6.00 %", with the steps where these differ.
std::string Progress(const MoveState& before, const MoveState& after) {
  std::string steps =
      before.step == after.step ? "" : absl::StrCat(", step ", before.step, " -> ", after.step);
  return absl::StrCat(AsPercent(before.permyriad), " % -> ", AsPercent(after.permyriad), " %",
                      steps);
}

class MoveDifferences {
 public:
  MoveDifferences(const RoutingTable& before, const RoutingTable& after)
      : before_(before), after_(after) {}

  std::string Of(size_t first, size_t last, const VnodeChange& change) const {
    const auto& [owner_before, owner_after, move_before, move_after] = change;
    if (move_before == move_after) return "";
    std::string vnodes = VnodesText(first, last);
    if (move_before && move_after && move_before->to == move_after->to) {
      return absl::StrCat("move of ", vnodes, " to ", NameIn(after_, move_after->to), " went on, ",
                          Progress(*move_before, *move_after), "\n");
    }
    std::string out;
    if (move_before) {
      const char* what = change.ended() ? "ended" : "was dropped";
      out = absl::StrCat("move of ", vnodes, " to ", NameIn(before_, move_before->to), " ", what,
                         " at ", AsPercent(move_before->permyriad), " %\n");
    }
    if (move_after) {
      absl::StrAppend(&out, "move of ", vnodes, " to ", NameIn(after_, move_after->to), " began, ",
                      AsPercent(move_after->permyriad), " %\n");
    }
    return out;
  }

  // The progress of a move does not depend on the owner, unless the move is over.
  static bool Same(const VnodeChange& a, const VnodeChange& b) {
    auto over_well = [](const VnodeChange& change) {
      return change.move_before && change.owner_after == change.move_before->to;
    };
    return a.move_before == b.move_before && a.move_after == b.move_after &&
           over_well(a) == over_well(b);
  }

  static const std::string& NameIn(const RoutingTable& table, uint32_t id) {
    return table.FindShard(id)->name;
  }

 private:
  const RoutingTable& before_;
  const RoutingTable& after_;
};

}  // namespace

absl::StatusOr<RoutingTable> WithEpoch(const RoutingTable& table, uint64_t epoch) {
  return RoutingTable::Make(epoch, table.shards(), table.ranges(), table.moves(), table.table_id());
}

std::string TableDifference(const RoutingTable& before, const RoutingTable& after) {
  std::string out;
  if (before.table_id() != after.table_id()) {
    auto shown = [](const std::string& id) { return id.empty() ? std::string("none") : id; };
    out =
        absl::StrCat("table_id ", shown(before.table_id()), " -> ", shown(after.table_id()), "\n");
  }
  out += ShardDifferences(before, after);
  std::vector<VnodeChange> changes = ChangeOfEachVnode(before, after);
  size_t changed_hands = 0;
  auto same_hands = [](const VnodeChange& a, const VnodeChange& b) {
    return a.owner_before == b.owner_before && a.owner_after == b.owner_after;
  };
  ForEachRun(changes, same_hands, [&](size_t first, size_t last) {
    const VnodeChange& change = changes[first];
    if (!change.changed_hands()) return;
    changed_hands += last - first + 1;
    absl::StrAppend(&out, VnodesText(first, last), ": ",
                    MoveDifferences::NameIn(before, change.owner_before), " -> ",
                    MoveDifferences::NameIn(after, change.owner_after), "\n");
  });
  MoveDifferences moves(before, after);
  ForEachRun(changes, MoveDifferences::Same,
             [&](size_t first, size_t last) { out += moves.Of(first, last, changes[first]); });
  if (out.empty()) return "no difference\n";
  return absl::StrCat(out, WithThousands(changed_hands), " of ", WithThousands(changes.size()),
                      " vnodes got another owner (", PortionPercent(changed_hands), " %)\n");
}

}  // namespace locus
