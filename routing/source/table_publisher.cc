// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/table_publisher.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "routing/table/endpoint_place.h"
#include "routing/table/vnode_changes.h"
#include "src/base/os/check.h"

namespace locus {
namespace {

constexpr size_t kMostNamed = 8;

// "vnodes 0..255, vnodes 300..310 and 2 more runs".
std::string SpansText(const std::vector<VnodeSpan>& spans) {
  std::vector<std::string> texts;
  for (const VnodeSpan& span : spans) {
    if (texts.size() == kMostNamed) break;
    texts.push_back(internal::VnodesText(span.first, span.last));
  }
  std::string text = absl::StrJoin(texts, ", ");
  if (spans.size() <= kMostNamed) return text;
  return absl::StrCat(text, " and ", spans.size() - kMostNamed, " more runs");
}

std::string ShardsText(const std::vector<uint32_t>& ids, const RoutingTable& table) {
  std::vector<std::string> texts;
  for (uint32_t id : ids) {
    if (texts.size() == kMostNamed) break;
    texts.push_back(absl::StrCat("shard ", id, " ", table.FindShard(id)->name));
  }
  std::string text = absl::StrJoin(texts, ", ");
  if (ids.size() <= kMostNamed) return text;
  return absl::StrCat(text, " and ", ids.size() - kMostNamed, " more shards");
}

// The shard of `table` that has the endpoint; nullptr: none.
const Shard* ShardAt(const RoutingTable& table, const std::string& endpoint) {
  auto found = std::ranges::find(table.shards(), endpoint, &Shard::endpoint);
  return found == table.shards().end() ? nullptr : &*found;
}

// "renames shard 1 a to x", "gives shard 1 a the endpoint of shard 2 b".
std::string ChangedShardText(uint32_t id, const RoutingTable& newest, const RoutingTable& table) {
  const Shard& old = *newest.FindShard(id);
  const Shard& now = *table.FindShard(id);
  std::string shard = absl::StrCat("shard ", id, " ", old.name);
  if (old.name != now.name) return absl::StrCat("renames ", shard, " to ", now.name);
  const Shard* other = ShardAt(newest, now.endpoint);
  if (other == nullptr) {
    return absl::StrCat("changes the endpoint of ", shard, " from ", old.endpoint, " to ",
                        now.endpoint);
  }
  return absl::StrCat("gives ", shard, " the endpoint of shard ", other->id, " ", other->name, ", ",
                      now.endpoint);
}

void AddChangedShards(const std::vector<uint32_t>& ids, const RoutingTable& newest,
                      const RoutingTable& table, std::vector<std::string>& reasons) {
  for (size_t i = 0; i < ids.size() && i < kMostNamed; ++i) {
    reasons.push_back(ChangedShardText(ids[i], newest, table));
  }
  if (ids.size() <= kMostNamed) return;
  reasons.push_back(
      absl::StrCat("changes the name or endpoint of ", ids.size() - kMostNamed, " more shards"));
}

absl::Status RefuseGuarded(const GuardedChanges& changes, const PublishedState& state,
                           const RoutingTable& table) {
  std::vector<std::string> reasons;
  if (!changes.moves.empty()) {
    reasons.push_back(
        absl::StrCat("drops or changes the move in progress of ", SpansText(changes.moves)));
  }
  if (!changes.owners.empty()) {
    reasons.push_back(
        absl::StrCat("gives ", SpansText(changes.owners),
                     " another owner outside of a move, and no order moves with them"));
  }
  if (!changes.shards.empty()) {
    reasons.push_back(
        absl::StrCat("drops ", ShardsText(changes.shards, *state.newest), ", still in use"));
  }
  if (!changes.changed_shards.empty()) {
    AddChangedShards(changes.changed_shards, *state.newest, table, reasons);
  }
  if (changes.epoch != 0) {
    uint64_t newest = state.newest == nullptr ? 0 : state.newest->epoch();
    reasons.push_back(absl::StrCat("jumps from epoch ", std::max(newest, state.highest), " to ",
                                   changes.epoch, ", by more than ",
                                   GuardedChanges::kMaxEpochJump));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the table ", absl::StrJoin(reasons, "; "),
                   "; plan again from the newest table, or name exactly these changes"));
}

absl::Status CheckTableId(const RoutingTable& newest, const RoutingTable& table) {
  if (newest.table_id().empty() || newest.table_id() == table.table_id()) return absl::OkStatus();
  if (table.table_id().empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("/table_id: the table has none, and the newest table is ", newest.table_id(),
                     "; start from the newest table"));
  }
  return absl::FailedPreconditionError(absl::StrCat("/table_id: the table is ", table.table_id(),
                                                    ", and the newest table is ", newest.table_id(),
                                                    ": it belongs to another place"));
}

absl::Status CheckExpected(const PublishedState& state, const RoutingTable& table,
                           uint64_t expected) {
  uint64_t newest = state.newest == nullptr ? 0 : state.newest->epoch();
  uint64_t seen = std::max(newest, state.highest);
  if (expected > seen) {
    return absl::AbortedError(
        absl::StrCat("the highest epoch here is ", seen, ", not the expected ", expected,
                     ": this place was restored to an older state, or it is another place"));
  }
  if (newest != expected) {
    return absl::AbortedError(
        absl::StrCat("the newest epoch is ", newest, ", not the expected ", expected,
                     "; compare with the newest table, then plan again from it"));
  }
  if (table.epoch() <= expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("/epoch: ", table.epoch(), " is not greater than the expected ", expected));
  }
  if (table.epoch() > seen) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("epoch ", seen, " was published before, and epoch ",
                                         table.epoch(), " is not above it"));
}

absl::Status CheckLost(const TablePublisher& publisher, uint64_t seen,
                       const RestoreOptions& options) {
  if (options.above <= seen) {
    if (!options.lost_after) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(publisher.place(), ": no table is lost: it has epoch ", seen,
                     ", and routers have epoch ", options.above, " at most"));
  }
  if (options.lost_after == seen) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(publisher.place(), ": the highest epoch here is ", seen,
                   ", and routers have epoch ", options.above,
                   ": this place was restored to an older state and has lost the tables in "
                   "between. Publish the table that routers have (their last-good file), or "
                   "confirm that the tables are lost after epoch ",
                   seen));
}

}  // namespace

std::string_view ToString(Publication publication) {
  switch (publication) {
    case Publication::kNeeded:
      return "needed";
    case Publication::kIsNewest:
      return "is_newest";
  }
  return "unknown";
}

absl::StatusOr<Publication> JudgePublication(const PublishedState& state, const RoutingTable& table,
                                             uint64_t expected, const GuardedChanges& named) {
  if (state.newest != nullptr) {
    if (*state.newest == table && table.epoch() > expected) return Publication::kIsNewest;
    LOCUS_RETURN_IF_ERROR(CheckTableId(*state.newest, table));
  }
  LOCUS_RETURN_IF_ERROR(CheckExpected(state, table, expected));
  LOCUS_RETURN_IF_ERROR(internal::CheckPlaces(state.newest, table));
  GuardedChanges changes = GuardedChangesBetween(state.newest, table, state.highest);
  LOCUS_ASSIGN_OR_RETURN(GuardedChanges unnamed, Unnamed(changes, named));
  if (!unnamed.empty()) return RefuseGuarded(unnamed, state, table);
  return Publication::kNeeded;
}

absl::StatusOr<uint64_t> NextEpoch(TablePublisher& publisher, uint64_t newest) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> epochs, publisher.History(1));
  const uint64_t highest = epochs.empty() ? newest : std::max(newest, epochs[0].epoch);
  if (highest < RoutingTable::kMaxEpoch) return highest + 1;
  return absl::OutOfRangeError(
      absl::StrCat(publisher.place(), ": epoch ", highest, " is the last one that there is"));
}

namespace {

// The newest table; of a spoiled place the newest that it keeps. NOT_FOUND: there is none.
absl::StatusOr<RoutingTable> NewestOf(TablePublisher& publisher, bool spoiled) {
  absl::StatusOr<RoutingTable> newest = publisher.Current();
  if (!spoiled || !absl::IsDataLoss(newest.status())) return newest;
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> kept, publisher.History(1));
  if (kept.empty()) return absl::NotFoundError(publisher.place() + " keeps no table");
  return publisher.Fetch(kept[0].epoch);
}

}  // namespace

absl::StatusOr<PreparedTable> PrepareRestore(TablePublisher& publisher, uint64_t epoch,
                                             const RestoreOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable kept, publisher.Fetch(epoch));
  absl::StatusOr<RoutingTable> newest = NewestOf(publisher, options.named.spoiled);
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  uint64_t seen = newest.ok() ? newest->epoch() : 0;
  LOCUS_ASSIGN_OR_RETURN(uint64_t next, NextEpoch(publisher, seen));
  LOCUS_RETURN_IF_ERROR(CheckLost(publisher, next - 1, options));
  if (options.above == RoutingTable::kMaxEpoch) {
    return absl::OutOfRangeError(
        absl::StrCat(publisher.place(), ": there is no epoch above ", options.above));
  }
  // A table from before tables had an id becomes the table that the place has now.
  bool adopts = newest.ok() && kept.table_id().empty();
  LOCUS_ASSIGN_OR_RETURN(
      RoutingTable restored,
      RoutingTable::Make(std::max(next, options.above + 1), kept.shards(), kept.ranges(),
                         kept.moves(), adopts ? newest->table_id() : kept.table_id()));
  PreparedTable prepared{.newest = std::nullopt, .table = std::move(restored)};
  if (newest.ok()) prepared.newest = *std::move(newest);
  return prepared;
}

absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch,
                                          const RestoreOptions& options,
                                          const PublicationNote& note) {
  LOCUS_ASSIGN_OR_RETURN(PreparedTable prepared, PrepareRestore(publisher, epoch, options));
  LOCUS_RETURN_IF_ERROR(
      publisher.Publish(prepared.table, prepared.expected(), options.named, note));
  return std::move(prepared.table);
}

}  // namespace locus
