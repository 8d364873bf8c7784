// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/apply/row_sql.h"
#include "migration/fence/fence_difference.h"
#include "migration/fence/table_column.h"
#include "migration/preflight/report.h"
#include "migration/verify/checked_table.h"

namespace locus::preflight {

namespace {

constexpr absl::Duration kClocks = absl::Seconds(60);

const FenceRow* RowOf(const std::vector<FenceRow>& rows, uint32_t vnode) {
  for (const FenceRow& row : rows) {
    if (row.lo <= vnode && vnode <= row.hi) return &row;
  }
  return nullptr;
}

std::string Show(const FenceRow& row) {
  return absl::StrCat("vnodes ", row.lo, "-", row.hi, " own [", row.own_lo, ", ", row.own_hi, ")",
                      row.other.empty() ? "" : absl::StrCat(", other ", row.other));
}

// The first vnode of the move whose row is wrong, and how.
std::string WrongRow(const Facts& facts, const std::vector<FenceRow>& rows, bool source) {
  for (const FencedRange& range : facts.ranges) {
    for (uint32_t vnode = range.lo; vnode <= range.hi; ++vnode) {
      const FenceRow* row = RowOf(rows, vnode);
      if (row == nullptr && source) return absl::StrCat("vnode ", vnode, " has no row");
      if (row == nullptr) continue;
      const bool all = row->own_lo == 0 && row->own_hi == 10000;
      const bool none = row->own_lo == row->own_hi;
      if (source ? !all : !none) return Show(*row);
    }
  }
  return "";
}

std::string OtherMovesOn(const Facts& facts, const Shard& shard) {
  std::vector<std::string> others;
  if (shard.moves.ok()) others = *shard.moves;
  std::erase(others, facts.move);
  return absl::StrJoin(others, ", ");
}

void JudgeFence(const Facts& facts, const Shard& shard, bool source, Report& report) {
  const std::string& place = shard.server.place;
  const auto* fence = report.Read(
      "fence", place, shard.fence,
      absl::StrCat("GRANT SELECT ON `", shard.server.database, "`.* TO ", GranteeOf(shard.server)));
  if (fence == nullptr) return;
  report.Add("fence", true, place,
             fence->has_value() ? absl::StrCat((*fence)->size(), " rows")
                                : "not installed yet; `locus move run` does");
  if (!fence->has_value()) return;
  std::set<uint32_t> strangers;
  for (const FenceRow& row : **fence) {
    if (absl::StrCat(row.server_id) != ValueOf(shard.server, "server_id")) {
      strangers.insert(row.server_id);
    }
  }
  report.Add("fence-server", strangers.empty(), place,
             strangers.empty() ? "bound to this server"
                               : absl::StrCat("bound to server ", absl::StrJoin(strangers, ", ")),
             "to be bound to this server: no guarded write passes",
             "a replica was promoted, or a backup restored: shut the old server off, then `locus "
             "move rebind`");
  // Before the move begins, its run makes missing or different triggers again. It must not change
  // triggers that another move relies on: that move's movers would be shut out. Missing ones do not
  // count, since they seem to be missing while the other move makes them.
  const std::string users = facts.begun ? "" : OtherMovesOn(facts, shard);
  const bool taken = !users.empty() && internal::NamesAnotherBody(shard.guards);
  report.Add("guards", shard.guards.ok() || (!facts.begun && !taken), place,
             shard.guards.ok() ? "as they must be"
             : taken ? absl::StrCat(shard.guards.message(), "; move ", users, " uses them")
                     : absl::StrCat(shard.guards.message(),
                                    facts.begun ? "" : "; `locus move run` mends it"),
             "every guard there and unchanged",
             taken ? "give all move files of this shard the same movers and [[tables]]"
                   : "`locus move repair` makes it anew");
  if (facts.begun) {
    report.Add("fence-owner", true, place, "the move has begun");
    return;
  }
  const std::string wrong = WrongRow(facts, **fence, source);
  report.Add("fence-owner", wrong.empty(), place,
             wrong.empty() ? (source ? "accepts the vnodes" : "accepts none of the vnodes") : wrong,
             source ? "to accept the vnodes as a whole, as the routing table says"
                    : "to accept none of the vnodes",
             "is this the routing table of these shards? Otherwise another move of these vnodes is "
             "under way or was not finished: end it first");
}

bool IsOneServer(const Server& source, const Server& target) {
  return ValueOf(source, "hostname") == ValueOf(target, "hostname") &&
         ValueOf(source, "port") == ValueOf(target, "port") &&
         ValueOf(source, "datadir") == ValueOf(target, "datadir") &&
         ValueOf(source, "server_id") == ValueOf(target, "server_id");
}

bool Follows(const Shard& shard, const Shard& other) {
  return absl::c_any_of(shard.follows, [&](uint64_t id) {
    return absl::StrCat(id) == ValueOf(other.server, "server_id");
  });
}

// Both shards have the same rows: one endpoint is wrong.
bool HaveTheSameRows(const Facts& facts) {
  const Server& source = facts.source.server;
  const Server& target = facts.target.server;
  return (IsOneServer(source, target) && source.database == target.database) ||
         Follows(facts.source, facts.target) || Follows(facts.target, facts.source);
}

void JudgeServers(const Facts& facts, Report& report) {
  const Server& source = facts.source.server;
  const Server& target = facts.target.server;
  const bool one_server = IsOneServer(source, target);
  report.Add("same-database", !one_server || source.database != target.database, "",
             one_server ? absl::StrCat("both shards are on one server, databases ", source.database,
                                       " and ", target.database)
                        : "two servers",
             "two databases: one fence cannot serve two shards",
             "correct the endpoints of the routing table, or [shards.NAME] hosts");
  const bool target_follows = Follows(facts.target, facts.source);
  const bool follows = target_follows || Follows(facts.source, facts.target);
  report.Add("replica-of-other", !follows, "",
             follows ? absl::StrCat(target_follows ? target.place : source.place,
                                    " replicates from the other shard")
                     : "neither replicates from the other",
             "two primaries: what is written to a replica is not on its primary",
             "the address leads to a replica: correct that endpoint of the routing table, or "
             "[shards.NAME] hosts. Do not delete rows there");
  const std::string id = ValueOf(source, "server_id");
  const bool distinct = one_server || (id != ValueOf(target, "server_id") && id != "0");
  report.Add("server-id", distinct, "", absl::StrCat(id, " and ", ValueOf(target, "server_id")),
             "two different ones",
             "give each server a server_id of its own in my.cnf, and restart");
  const absl::Duration apart = absl::AbsDuration(source.clock - target.clock);
  report.Add("clocks", apart <= kClocks, "",
             absl::StrCat("they differ by ",
                          absl::FormatDuration(absl::Trunc(apart, absl::Milliseconds(1)))),
             absl::StrCat("at most ", absl::FormatDuration(kClocks)),
             "set the clocks by NTP: times of rows would jump as orders move");
  auto zone = [](const Server& server) {
    const std::string value = ValueOf(server, "time_zone");
    return value == "SYSTEM" ? ValueOf(server, "system_time_zone") : value;
  };
  report.Add("time-zones", zone(source) == zone(target), "",
             zone(source) == zone(target) ? zone(source)
                                          : absl::StrCat(zone(source), " and ", zone(target)),
             "one zone: NOW() of a client would jump as orders move",
             "SET GLOBAL time_zone to one value on both, and in my.cnf");
  uint64_t from = 0, to = 0;
  const bool read = absl::SimpleAtoi(ValueOf(source, "max_allowed_packet"), &from) &&
                    absl::SimpleAtoi(ValueOf(target, "max_allowed_packet"), &to);
  report.Add(
      "max-allowed-packet", read && to >= from, "", absl::StrCat(from, " and ", to),
      "not smaller on the target: a row might not fit",
      absl::StrCat("SET GLOBAL max_allowed_packet = ", from, " on the target, and in my.cnf"));
}

// At most one move takes a vnode at a time, wherever it takes it.
void JudgeOpenMoves(const Facts& facts, const Shard& shard, Report& report) {
  const std::string& place = shard.server.place;
  const auto* moves = report.Read(
      "overlapping-moves", place, shard.open_moves,
      absl::StrCat("GRANT SELECT ON `", shard.server.database, "`.* TO ", GranteeOf(shard.server)));
  if (moves == nullptr) return;
  std::vector<std::string> found;
  for (const OpenMove& move : *moves) {
    if (move.name == facts.move) continue;
    for (const FencedRange& theirs : move.ranges) {
      const bool overlaps = std::any_of(
          facts.ranges.begin(), facts.ranges.end(),
          [&](const FencedRange& ours) { return ours.lo <= theirs.hi && theirs.lo <= ours.hi; });
      if (!overlaps) continue;
      found.push_back(
          absl::StrCat(move.name, " is ", move.phase, ", vnodes ", theirs.lo, "-", theirs.hi));
      break;
    }
  }
  report.Add("overlapping-moves", found.empty(), place,
             found.empty() ? "none" : absl::StrJoin(found, "; "),
             "no other move of these vnodes that has not ended, also at share 0",
             "finalize and clean up that move, or abort it, by its own move file");
}

// At most one move goes from a shard to another, or back, at a time.
void JudgeMoves(const Facts& facts, const Shard& shard, Report& report) {
  const std::string& place = shard.server.place;
  const auto* moves = report.Read(
      "other-moves", place, shard.moves,
      absl::StrCat("GRANT SELECT ON `", shard.server.database, "`.* TO ", GranteeOf(shard.server)));
  if (moves == nullptr) return;
  const std::string leg = facts.move.substr(facts.move.rfind('.') + 1);
  const size_t arrow = leg.find('>');
  const std::string back =
      arrow == std::string::npos ? leg : leg.substr(arrow + 1) + ">" + leg.substr(0, arrow);
  std::vector<std::string> others, same;
  for (const std::string& move : *moves) {
    if (move == facts.move) continue;
    others.push_back(move);
    if (move.ends_with("." + leg) || move.ends_with("." + back)) same.push_back(move);
  }
  report.Add(
      "other-moves", same.empty(), place, others.empty() ? "none" : absl::StrJoin(others, ", "),
      absl::StrCat("no other move between these shards; ", absl::StrJoin(same, ", "),
                   " has begun and is not cleaned up"),
      "end that move and clean up, or go on with its move file; after `cleanup --keep`, `locus "
      "move cleanup` and `locus move run` of its file delete what was kept");
}

// Without the width that an integer is shown with.
std::string TypeOf(const Column& column) {
  const size_t width = column.type.find("int(");
  if (width == std::string::npos || absl::StrContains(column.type, "zerofill")) return column.type;
  std::string type = column.type;
  const size_t end = type.find(')', width);
  if (end != std::string::npos) type.erase(width + 3, end + 1 - (width + 3));
  return type;
}

std::string ShapeOf(const Column& column) {
  return absl::StrCat(
      TypeOf(column), column.nullable ? " NULL" : " NOT NULL",
      column.collation.empty() ? "" : absl::StrCat(" ", column.collation),
      column.default_value.empty() ? "" : absl::StrCat(" DEFAULT ", column.default_value),
      column.extra.empty() ? "" : absl::StrCat(" ", column.extra),
      column.generated.empty() ? "" : absl::StrCat(" AS ", column.generated));
}

void Differences(const std::string& name, const Table& source, const Table& target,
                 std::vector<std::string>& found) {
  std::map<std::string, std::pair<std::string, std::string>> shapes;
  for (const Column& column : source.columns)
    shapes["column " + column.name].first = ShapeOf(column);
  for (const Column& column : target.columns) {
    shapes["column " + column.name].second = ShapeOf(column);
  }
  for (const Key& key : source.keys) {
    shapes["unique key " + key.name].first = absl::StrJoin(key.shape, ", ");
  }
  for (const Key& key : target.keys) {
    shapes["unique key " + key.name].second = absl::StrJoin(key.shape, ", ");
  }
  for (const std::string& check : source.checks) shapes["CHECK (" + check + ")"].first = "there";
  for (const std::string& check : target.checks) shapes["CHECK (" + check + ")"].second = "there";
  auto takes = [](const Table& table) {
    return absl::StrCat("rows of ", table.takes.empty() ? "any partition" : table.takes);
  };
  shapes["partitions"] = {takes(source), takes(target)};
  for (const auto& [what, pair] : shapes) {
    if (pair.first == pair.second) continue;
    found.push_back(absl::StrCat(name, " ", what, ": ", pair.first.empty() ? "missing" : pair.first,
                                 " on the source, ", pair.second.empty() ? "missing" : pair.second,
                                 " on the target"));
  }
}

std::string ShapeOf(const ForeignKey& key) {
  std::vector<std::string> pairs;
  for (size_t i = 0; i < key.columns.size() && i < key.referenced_columns.size(); ++i) {
    pairs.push_back(absl::StrCat(key.columns[i], " to ", key.referenced_columns[i]));
  }
  return absl::StrCat(key.table, " foreign key (", absl::StrJoin(pairs, ", "), ") of ",
                      key.referenced, " ON DELETE ", key.on_delete, " ON UPDATE ", key.on_update);
}

// The tools write without foreign key checks, so a key that only one shard enforces would be broken
// there.
void ForeignKeyDifferences(const Schema& source, const Schema& target,
                           std::vector<std::string>& found) {
  std::set<std::string> here, there;
  for (const ForeignKey& key : source.foreign_keys) here.insert(ShapeOf(key));
  for (const ForeignKey& key : target.foreign_keys) there.insert(ShapeOf(key));
  for (const std::string& key : here) {
    if (!there.contains(key)) found.push_back(absl::StrCat(key, ": only on the source"));
  }
  for (const std::string& key : there) {
    if (!here.contains(key)) found.push_back(absl::StrCat(key, ": only on the target"));
  }
}

// The error that the stream from `from` would meet when it writes to `to`. Types that no move knows
// are another finding.
absl::Status CheckRows(const MovedTable& moved, const internal::TableSchema& from,
                       const internal::TableSchema& to) {
  stream::TableLayout layout;
  for (const internal::SchemaColumn& column : from.columns) {
    // Row events have generated columns as well.
    auto known = internal::ColumnOf(column);
    if (known.ok()) layout.columns.push_back(*std::move(known));
    if (!known.ok() && !column.generated) return absl::OkStatus();
  }
  internal::TargetTable target;
  target.moved = moved;
  for (const internal::SchemaColumn& column : to.columns) {
    (column.generated ? target.generated : target.writable).push_back(column.name);
  }
  return internal::MapRow(layout, target).status();
}

// Runs the code that compares and applies rows, both ways. It is a safety net: it only finds what
// the checks of single tables and of their differences forgot.
void JudgeRunner(const Facts& facts, Report& report) {
  if (!facts.source.schema.ok() || !facts.target.schema.ok()) return;
  if (report.Failed({"tables", "primary-key", "primary-key-bytes", "order-columns",
                     "version-column", "column-types", "primary-key-types", "schemas"})) {
    return;
  }
  std::vector<std::string> found;
  for (const MovedTable& moved : facts.tables) {
    const auto& source = facts.source.schema->tables;
    const auto& target = facts.target.schema->tables;
    const auto here = source.find(moved.guard.name), there = target.find(moved.guard.name);
    if (here == source.end() || there == target.end()) continue;
    const internal::TableSchema& ours = here->second.schema;
    const internal::TableSchema& theirs = there->second.schema;
    for (const absl::Status& status :
         {internal::CheckTable(moved, ours, theirs).status(), CheckRows(moved, ours, theirs),
          CheckRows(moved, theirs, ours)}) {
      if (!status.ok()) found.push_back(std::string(status.message()));
    }
  }
  report.Add("rows", found.empty(), "",
             found.empty() ? "can be applied and compared" : absl::StrJoin(found, "; "),
             "tables whose rows the stream and the comparison take, both ways",
             "ALTER TABLE as the message says, on both shards");
}

void JudgeSchemas(const Facts& facts, Report& report) {
  if (!facts.source.schema.ok() || !facts.target.schema.ok()) return;
  const auto& target = facts.target.schema->tables;
  std::vector<std::string> found;
  uint64_t bytes = 0, rows = 0;
  for (const auto& [name, table] : facts.source.schema->tables) {
    bytes += table.bytes;
    rows += table.rows;
    auto other = target.find(name);
    if (other != target.end()) Differences(name, table, other->second, found);
  }
  ForeignKeyDifferences(*facts.source.schema, *facts.target.schema, found);
  report.Add("schemas", found.empty(), "", found.empty() ? "the same" : absl::StrJoin(found, "; "),
             "the same columns, unique keys, CHECKs, foreign keys and partitions on both shards: "
             "what only one enforces ends the way there or back",
             "ALTER TABLE on one of them, before the move");
  report.Add("disk-space", true, facts.target.server.place,
             absl::StrCat("not known here; the source's tables have about ", rows, " rows in ",
                          bytes >> 20, " MiB, and as much of the log is written"));
}

void JudgeRows(const Facts& facts, Report& report) {
  const std::string& place = facts.target.server.place;
  const std::string grant =
      absl::StrCat("GRANT SELECT ON `", facts.target.server.database, "`.* TO ",
                   GranteeOf(facts.target.server), "; or raise timeout of [accounts.mover]");
  if (const auto* strays = report.Read("stray-rows", place, facts.strays, grant)) {
    const bool same = HaveTheSameRows(facts);
    report.Add(
        "stray-rows", strays->empty() || facts.begun || same, place,
        facts.begun       ? "the move has begun"
        : same            ? "not looked at: it has the rows of the source"
        : strays->empty() ? "none of the vnodes"
                          : absl::StrCat("in ", absl::StrJoin(*strays, ", ")),
        "no rows of the moving vnodes on the target",
        "find out whose they are. If this is a copy of the source, correct the endpoint. What "
        "an earlier move left (`cleanup --keep`, `locus move report` of its file) may be "
        "deleted here once the source has it; nothing else");
  }
  const auto* collisions = report.Read("unique-keys", place, facts.collisions, grant);
  if (collisions == nullptr) return;
  for (const Collision& collision : *collisions) {
    report.Add(
        "unique-keys", collision.found == 0, absl::StrCat(place, " table ", collision.table),
        absl::StrCat("key ", collision.key, " has neither the order nor the primary key; of ",
                     collision.compared, " values of the source ", collision.found,
                     " stand in the target; the copy stops at one"),
        "no value on both shards",
        "make the values unique among all shards, or add "
        "order_id to the key");
  }
}

}  // namespace

void JudgeFences(const Facts& facts, Report& report) {
  JudgeFence(facts, facts.source, true, report);
  JudgeFence(facts, facts.target, false, report);
}

void JudgeDifferences(const Facts& facts, Report& report) {
  JudgeSchemas(facts, report);
  JudgeRunner(facts, report);
}

void JudgeBoth(const Facts& facts, Report& report) {
  JudgeMoves(facts, facts.source, report);
  JudgeMoves(facts, facts.target, report);
  JudgeOpenMoves(facts, facts.source, report);
  JudgeOpenMoves(facts, facts.target, report);
  JudgeServers(facts, report);
  JudgeDifferences(facts, report);
  JudgeRows(facts, report);
}

}  // namespace locus::preflight
