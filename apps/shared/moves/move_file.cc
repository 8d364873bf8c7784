// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/moves/move_file.h"

#include <algorithm>
#include <functional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/shared/toml/toml_section.h"
#include "routing/pool/shard_endpoint.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::Quoted;
using internal::ShardEndpoint;

namespace {

// ".4294967295>4294967295" is behind it in the name of a move, which has at most 64 bytes.
constexpr size_t kMostNameBytes = 40;
constexpr size_t kLongestPassword = 1024;

absl::StatusOr<std::string> ReadNotEmpty(const std::string& text) {
  if (!text.empty() && text.find('\0') == std::string::npos) return text;
  return absl::InvalidArgumentError("a text that is not empty");
}

absl::StatusOr<GuardedTable::Key> ReadKey(const std::string& text) {
  if (text == "order_id") return GuardedTable::Key::kOrderIdNumber;
  if (text == "order_id_bytes") return GuardedTable::Key::kOrderIdBytes;
  if (text == "gene_and_cohort") return GuardedTable::Key::kGeneAndCohort;
  return absl::InvalidArgumentError("\"order_id\", \"order_id_bytes\" or \"gene_and_cohort\"");
}

absl::StatusOr<MysqlOptions::Tls> ReadTls(const std::string& text) {
  for (MysqlOptions::Tls tls : {MysqlOptions::Tls::kBeyondLoopback, MysqlOptions::Tls::kAlways,
                                MysqlOptions::Tls::kNever}) {
    if (text == ToString(tls)) return tls;
  }
  return absl::InvalidArgumentError("\"beyond_loopback\", \"always\" or \"never\"");
}

absl::StatusOr<MysqlOptions::Host> ReadHost(const std::string& text) {
  if (text.find_first_of("/?") == std::string::npos) {
    auto endpoint = ShardEndpoint::Parse(absl::StrCat("mysql://", text, "/x"));
    if (endpoint.ok()) return endpoint->host;
  }
  return absl::InvalidArgumentError("HOST or HOST:PORT");
}

// "1>2": source and target.
absl::StatusOr<std::pair<uint32_t, uint32_t>> ReadLeg(const std::string& text) {
  const size_t arrow = text.find('>');
  if (arrow != std::string::npos) {
    auto source = internal::ParseDecimal(text.substr(0, arrow), UINT32_MAX);
    auto target = internal::ParseDecimal(text.substr(arrow + 1), UINT32_MAX);
    if (source && target && *source > 0 && *target > 0 && *source != *target) {
      return std::pair(static_cast<uint32_t>(*source), static_cast<uint32_t>(*target));
    }
  }
  return absl::InvalidArgumentError("\"SOURCE>TARGET\", two ids of shards such as \"1>2\"");
}

void ReadMoved(TomlSection section, std::vector<MovedTable>& tables) {
  MovedTable table;
  table.guard.name = "";
  section.Text("name", &table.guard.name, ReadNotEmpty, TomlSection::kRequired);
  section.Text("key", &table.guard.key, ReadKey);
  const bool has_order_id = table.guard.key != GuardedTable::Key::kGeneAndCohort;
  if (has_order_id) section.Text("order_id", &table.guard.order_id, ReadNotEmpty);
  if (!has_order_id) section.Text("gene", &table.guard.gene, ReadNotEmpty);
  if (!has_order_id) section.Text("cohort", &table.guard.cohort, ReadNotEmpty);
  if (has_order_id) table.primary_key = {table.guard.order_id};
  section.Texts("primary_key", &table.primary_key, ReadNotEmpty,
                has_order_id ? TomlSection::kOptional : TomlSection::kRequired);
  section.Text("version", &table.version, ReadNotEmpty);
  section.Flag("replaces", &table.replaces);
  if (!section.End()) return;
  section.RefuseIfNot(table.Check());
  for (const MovedTable& other : tables) {
    if (other.guard.name != table.guard.name) continue;
    section.Refuse(absl::StrCat("table ", Quoted(table.guard.name), " is there twice"));
  }
  tables.push_back(std::move(table));
}

void ReadAccounts(TomlSection accounts, MoveFile& file) {
  accounts.Texts("administrators", &file.administrators, ReadNotEmpty);
  TomlSection mover = accounts.Section("mover", TomlSection::kRequired);
  MysqlOptions& options = file.mover;
  mover.Text("user", &options.user, ReadNotEmpty, TomlSection::kRequired);
  mover.Text("password_file", &file.password_file, ReadNotEmpty, TomlSection::kRequired);
  mover.Text("tls", &options.tls, ReadTls);
  mover.Text("tls_ca", &options.tls_ca_file, ReadNotEmpty);
  // The other options are right, so what the check refuses is the one just read.
  auto check = [&options] {
    MysqlOptions checked;
    checked.hosts = {{"localhost"}};
    checked.user = checked.database = "x";
    checked.connect_timeout = options.connect_timeout;
    checked.timeout = options.timeout;
    return checked.Check();
  };
  mover.Duration("connect_timeout", &options.connect_timeout, check);
  mover.Duration("timeout", &options.timeout, check);
  mover.End();
  accounts.End();
}

void ReadShards(TomlSection shards, MoveFile& file) {
  shards.EachSection([&](const std::string& name, TomlSection section) {
    MoveFile::ShardPlaces& places = file.shards[name];
    section.Texts("hosts", &places.hosts, ReadHost);
    section.Texts("candidates", &places.candidates, ReadHost);
    section.End();
  });
}

void ReadPace(TomlSection section, MovePace& pace) {
  auto check = [&pace] { return pace.Check(); };
  section.Whole("by", &pace.by, check);
  section.Duration("dwell", &pace.dwell, check);
  section.Duration("accept_within", &pace.accept_within, check);
  section.Duration("fence_wait", &pace.fence_wait, check);
  section.Duration("chunk_time", &pace.chunk_time, check);
  section.End();
}

void ReadGates(TomlSection section, MoveGates& gates) {
  auto check = [&gates] { return gates.Check(); };
  section.Duration("lag", &gates.lag, check);
  section.Duration("oldest_transaction", &gates.oldest_transaction, check);
  section.Whole("history_list", &gates.history_list, check);
  section.Duration("patience", &gates.patience, check);
  section.Text("command", &gates.command,
               [](const std::string& text) -> absl::StatusOr<std::string> {
                 if (text.find('\0') == std::string::npos) return text;
                 return absl::InvalidArgumentError("a text without zero bytes");
               });
  section.Flag("command_rolls_back", &gates.command_rolls_back);
  section.End();
}

// The account of one mover, at the shard's place. No password yet.
absl::StatusOr<MoveShard> ShardOf(const MoveFile& file, const Shard& shard) {
  absl::StatusOr<ShardEndpoint> endpoint = ShardEndpoint::Parse(shard.endpoint);
  if (!endpoint.ok()) {
    return absl::Status(endpoint.status().code(), absl::StrCat("shard ", Quoted(shard.name), ": ",
                                                               endpoint.status().message()));
  }
  MoveShard result{shard.id, shard.name, file.mover};
  result.server.hosts = {endpoint->host};
  result.server.database = endpoint->database;
  if (endpoint->tls) result.server.tls = MysqlOptions::Tls::kAlways;
  if (!endpoint->tls_ca_file.empty()) result.server.tls_ca_file = endpoint->tls_ca_file;
  auto places = file.shards.find(shard.name);
  if (places != file.shards.end() && !places->second.hosts.empty()) {
    result.server.hosts = places->second.hosts;
  }
  return result;
}

absl::StatusOr<std::string> ReadPassword(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(internal::PrivateText text,
                         internal::ReadPrivateFile(path, kLongestPassword + 2));
  const std::string_view line = text.view().substr(0, text.view().find_first_of("\r\n"));
  if (line.empty() || line.size() > kLongestPassword) {
    return absl::InvalidArgumentError(absl::StrCat("the first line of the password file ", path,
                                                   " must have 1 to ", kLongestPassword, " bytes"));
  }
  return std::string(line);
}

std::string PlaceOf(const MoveShard& shard) {
  return absl::StrCat(shard.server.hosts[0].name, ":", shard.server.hosts[0].port, "/",
                      shard.server.database);
}

absl::Status CheckShardsOfFile(const MoveFile& file, const RoutingTable& table) {
  std::set<std::string> names;
  for (const Shard& shard : table.shards()) names.insert(shard.name);
  for (const auto& [name, places] : file.shards) {
    if (names.contains(name)) continue;
    return absl::InvalidArgumentError(absl::StrCat("the move file has shard ", Quoted(name),
                                                   ", which epoch ", table.epoch(),
                                                   " of the routing table does not have"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> ReadMoveFileName(std::string_view text) {
  const bool fits =
      !text.empty() && text.size() <= kMostNameBytes &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string_view::npos;
  if (fits) return std::string(text);
  return absl::InvalidArgumentError(
      absl::StrCat("1 to ", kMostNameBytes, " bytes of a-z, 0-9, - _ and ."));
}

absl::StatusOr<MoveFile> ParseMoveFile(std::string_view text, const std::string& path) {
  TomlDocument document(text, path);
  MoveFile file;
  TomlSection root = document.Root();
  root.Text("name", &file.name, ReadMoveFileName, TomlSection::kRequired);
  root.Text("table", &file.table, ReadNotEmpty, TomlSection::kRequired);
  root.Texts("movers", &file.movers, ReadNotEmpty, TomlSection::kRequired);
  root.Texts("moves", &file.moves, ReadLeg);
  root.EachOf("tables", [&](TomlSection section) { ReadMoved(section, file.tables); });
  ReadAccounts(root.Section("accounts", TomlSection::kRequired), file);
  ReadShards(root.Section("shards"), file);
  ReadPace(root.Section("pace"), file.pace);
  ReadGates(root.Section("gates"), file.gates);
  if (root.End()) {
    FenceOptions fence;
    fence.movers = file.movers;
    for (const MovedTable& table : file.tables) fence.tables.push_back(table.guard);
    root.RefuseIfNot(fence.Check());
  }
  LOCUS_RETURN_IF_ERROR(document.status());
  return file;
}

bool MoveFile::Names(const MoveLeg& leg) const {
  return moves.empty() ||
         std::find(moves.begin(), moves.end(), std::pair(leg.source, leg.target)) != moves.end();
}

std::string MoveNameOf(const MoveFile& file, const MoveLeg& leg) {
  return absl::StrCat(file.name, ".", leg.source, ">", leg.target);
}

absl::StatusOr<std::vector<MoveShard>> ShardsOf(const MoveFile& file, const RoutingTable& table) {
  LOCUS_RETURN_IF_ERROR(CheckShardsOfFile(file, table));
  LOCUS_ASSIGN_OR_RETURN(std::string password, ReadPassword(file.password_file));
  std::vector<MoveShard> shards;
  for (const Shard& one : table.shards()) {
    absl::StatusOr<MoveShard> shard = ShardOf(file, one);
    if (!shard.ok()) continue;
    shard->server.password = password;
    shards.push_back(*std::move(shard));
  }
  explicit_bzero(password.data(), password.size());
  return shards;
}

absl::StatusOr<std::vector<Move>> MovesOf(const MoveFile& file, const RoutingTable& table) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<MoveLeg> legs, MoveLegsOf(table));
  if (legs.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("epoch ", table.epoch(),
                     " of the routing table has no moves: `locus plan apply` begins those of a "
                     "plan, at share 0"));
  }
  return MovesOf(file, table, legs);
}

absl::StatusOr<std::vector<Move>> MovesOf(const MoveFile& file, const RoutingTable& table,
                                          const std::vector<MoveLeg>& legs) {
  LOCUS_RETURN_IF_ERROR(CheckShardsOfFile(file, table));
  LOCUS_ASSIGN_OR_RETURN(std::string password, ReadPassword(file.password_file));
  std::vector<Move> moves;
  std::map<std::string, std::string> name_at;
  for (const MoveLeg& leg : legs) {
    Move move;
    move.name = MoveNameOf(file, leg);
    for (uint32_t id : {leg.source, leg.target}) {
      if (table.FindShard(id) != nullptr) continue;
      return absl::FailedPreconditionError(absl::StrCat("move ", Quoted(move.name), " has shard ",
                                                        id, ", which epoch ", table.epoch(),
                                                        " of the routing table does not have"));
    }
    LOCUS_ASSIGN_OR_RETURN(move.source, ShardOf(file, *table.FindShard(leg.source)));
    LOCUS_ASSIGN_OR_RETURN(move.target, ShardOf(file, *table.FindShard(leg.target)));
    for (MoveShard* shard : {&move.source, &move.target}) {
      shard->server.password = password;
      const std::string& name = name_at.emplace(PlaceOf(*shard), shard->name).first->second;
      if (name == shard->name) continue;
      return absl::InvalidArgumentError(absl::StrCat("shards ", Quoted(name), " and ",
                                                     Quoted(shard->name), " are both at ",
                                                     PlaceOf(*shard), "; one fence serves one"));
    }
    move.ranges = leg.ranges;
    move.tables = file.tables;
    move.movers = file.movers;
    LOCUS_RETURN_IF_ERROR(move.Check());
    moves.push_back(std::move(move));
  }
  explicit_bzero(password.data(), password.size());
  return moves;
}

std::vector<MysqlOptions> CandidatesOf(const MoveFile& file, const MoveShard& shard) {
  std::vector<MysqlOptions> candidates;
  auto places = file.shards.find(shard.name);
  if (places == file.shards.end()) return candidates;
  for (const MysqlOptions::Host& host : places->second.candidates) {
    candidates.push_back(shard.server);
    candidates.back().hosts = {host};
  }
  return candidates;
}

}  // namespace locus::apps
