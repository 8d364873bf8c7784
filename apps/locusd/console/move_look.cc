// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/move_look.h"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "apps/locusd/front/access.h"
#include "apps/shared/moves/move_file.h"
#include "apps/shared/moves/move_text.h"
#include "apps/shared/moves/own_moves.h"
#include "migration/move/table_steps.h"
#include "migration/run/move_control.h"
#include "src/base/os/check.h"
#include "src/base/os/regular_file.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/pool.h"

namespace locus::locusd {

using mysql::MoveControl;

namespace {

constexpr size_t kMostFileBytes = 1 << 20;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  absl::StatusOr<std::string> text = internal::ReadRegularFile(path, kMostFileBytes);
  if (text.ok()) return text;
  return absl::FailedPreconditionError(
      absl::StrCat("move file ", path, ": ", text.status().message()));
}

struct ServerWrites {
  std::string server;  // another text for each server
  uint64_t statements = 0;
};

absl::StatusOr<ServerWrites> WritesOf(MysqlOptions options) {
  constexpr char kStatement[] =
      "SELECT CONCAT_WS(':', @@hostname, @@port, @@datadir), CAST(SUM(VARIABLE_VALUE) AS UNSIGNED)"
      " FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME IN ('COM_INSERT',"
      " 'COM_INSERT_SELECT', 'COM_REPLACE', 'COM_REPLACE_SELECT', 'COM_UPDATE', 'COM_UPDATE_MULTI',"
      " 'COM_DELETE', 'COM_DELETE_MULTI')";
  options.max_connections = 1;
  options.accept_weak_durability = true;  // only reads
  LOCUS_ASSIGN_OR_RETURN(auto pool, mysql::Pool::Make(options, mysql::Pool::Schema::kNotLookedAt));
  ServerWrites writes;
  LOCUS_RETURN_IF_ERROR(pool->Use([&](mysql::Connection& connection) -> absl::Status {
    LOCUS_ASSIGN_OR_RETURN(auto results, connection.Run(kStatement, {mysql::OneRow(2)}));
    const mysql::Result::Row& row = results[0].rows[0];
    writes.server = row[0].value_or("");
    const std::optional<uint64_t> count = internal::ParseDecimal(row[1].value_or(""), UINT64_MAX);
    if (!count) return absl::DataLossError("the server's counters of statements are no numbers");
    writes.statements = *count;
    return absl::OkStatus();
  }));
  return writes;
}

class FileLook : public MoveLook {
 public:
  explicit FileLook(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<Seen> Look(const RoutingTable& table) override {
    LOCUS_ASSIGN_OR_RETURN(const std::string text, ReadFile(path_));
    LOCUS_ASSIGN_OR_RETURN(const apps::MoveFile file, apps::ParseMoveFile(text, path_));
    CountWrites(file, table);
    Seen seen;
    seen.writes = writes_.Rates();
    absl::StatusOr<std::vector<Move>> moves =
        apps::OwnMovesOf(file, table, apps::NotBegun::kIfNoneHasBegun, seen.unheard);
    seen.unheard = std::string(absl::StripPrefix(seen.unheard, "; "));
    if (absl::IsNotFound(moves.status())) {
      controls_.clear();
      return seen;
    }
    LOCUS_RETURN_IF_ERROR(moves.status());
    LOCUS_RETURN_IF_ERROR(Open(text, *std::move(moves)));
    absl::StatusOr<std::string> json = Show(table);
    if (!json.ok()) {
      // A password or a certificate may have changed.
      key_.clear();
      return json.status();
    }
    seen.moves = *std::move(json);
    return seen;
  }

 private:
  // By the mover's account, which needs no right for it. Two shards on one server would both be
  // given what both wrote: these are left out.
  void CountWrites(const apps::MoveFile& file, const RoutingTable& table) {
    const absl::Duration now = SteadyNow();
    if (!writes_.IsDue(now)) return;
    absl::StatusOr<std::vector<MoveShard>> shards = apps::ShardsOf(file, table);
    if (!shards.ok()) return;
    std::map<std::string, std::pair<uint32_t, uint64_t>> by_server;
    std::set<std::string> shared;
    for (MoveShard& shard : *shards) {
      const absl::StatusOr<ServerWrites> counted = WritesOf(std::move(shard.server));
      if (!counted.ok()) continue;
      const bool first =
          by_server.try_emplace(counted->server, shard.id, counted->statements).second;
      if (!first) shared.insert(counted->server);
    }
    std::map<uint32_t, uint64_t> counts;
    for (const auto& [server, count] : by_server) {
      if (!shared.contains(server)) counts.insert(count);
    }
    writes_.Add(std::move(counts), now);
  }

  // Keeps the connections of the moves that are still there.
  absl::Status Open(const std::string& text, std::vector<Move> moves) {
    std::string key = text;
    for (const Move& move : moves) {
      absl::StrAppend(&key, "\n", move.name);
      for (const FencedRange& range : move.ranges)
        absl::StrAppend(&key, " ", range.lo, "-", range.hi);
    }
    if (key == key_) return absl::OkStatus();
    key_.clear();
    controls_.clear();
    for (Move& move : moves) {
      LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveControl> control, MoveControl::Create(move));
      controls_.push_back(std::move(control));
    }
    key_ = std::move(key);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Show(const RoutingTable& table) {
    std::string json = "[";
    for (const std::unique_ptr<MoveControl>& control : controls_) {
      const Move& move = control->move();
      LOCUS_ASSIGN_OR_RETURN(const mysql::MoveView view, control->View());
      const internal::TableSight sight =
          internal::SightOf(table, {move.source.id, move.target.id, move.ranges});
      absl::StrAppend(&json, json.size() > 1 ? "," : "",
                      apps::StatusJson(move, view, sight, path_));
    }
    return json + "]";
  }

  const std::string path_;
  WriteWindow writes_;
  std::string key_;  // what controls_ were opened for
  std::vector<std::unique_ptr<MoveControl>> controls_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<MoveLook>> MoveLook::Open(const std::string& file) {
  LOCUS_ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  LOCUS_RETURN_IF_ERROR(apps::ParseMoveFile(text, file).status());
  return std::make_unique<FileLook>(file);
}

}  // namespace locus::locusd
