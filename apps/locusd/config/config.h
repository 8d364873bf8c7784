// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/ids/id_settings.h"
#include "apps/locusd/strict/strict_settings.h"
#include "apps/shared/toml/toml_section.h"
#include "locus/audit.h"
#include "locus/engine/clickhouse.h"
#include "src/cluster/probe/holder_probe.h"
#include "src/http/server.h"
#include "src/raft/node/shell.h"

namespace locus::locusd {

enum class LogLevel { kTrace, kDebug, kInfo, kWarn, kError };

struct AuditSettings {
  ClickHouseOptions clickhouse;  // but for the password
  std::string password_file;
  uint64_t renewals = 0;  // one of so many is recorded; 0: none
  AuditSinkOptions sink;  // but for the directory
};

struct HealthSettings {
  holder_probe::HolderProbeOptions probe;  // but for `tls`
  std::string authority;                   // of the holders' certificates; empty: the system's
};

// A [[token]].
struct TokenSettings {
  std::string name;
  std::string file;
  Scopes scopes;
  absl::Time expires = absl::InfiniteFuture();
  uint64_t rate = 0;  // requests a second; 0: no limit
  uint64_t burst = 1000;
};

// What a node's configuration file says; docs/run/locusd.md lists the keys.
struct Config {
  // What the process does: one of these, or several.
  bool cluster_node = true;
  bool id_service = false;
  bool sequence_node = false;

  struct TlsPaths {
    std::string authority;  // of the other nodes' certificates; for [raft] only
    std::string certificate;
    std::string key;
  };

  std::string cluster;
  std::string data;

  struct Raft {
    std::string listen;
    std::string advertise;  // `listen`, where the file has none
    std::optional<TlsPaths> tls;
    raft::ShellOptions shell;
  };
  Raft raft;

  struct Api {
    std::string advertise;
    std::vector<std::string> token_files;
    std::vector<std::string> operator_token_files;  // empty: clients may do what operators may
    std::optional<TlsPaths> tls;
    std::string forward_authority;  // of the other nodes' certificates; empty: the system's
    // But for `tls`. One address leaves places to the others.
    http::ServerOptions server = {.most_connections_per_address = 768};
    uint64_t rate = 10'000;  // requests a second of one address; 0: no limit
    uint64_t burst = 10'000;
    size_t under_way = 1024;
    size_t forward = 64;
    // Keeps spaces of order IDs, counters, rules and strict sections (cluster_api::ApiOptions).
    bool store = false;
    // How long /readyz answers 503 before the API takes nothing new, when the process ends. As long
    // as whoever balances the load needs to notice.
    absl::Duration drain_delay;
  };
  Api api;
  std::vector<TokenSettings> tokens;
  // Whether whoever sends no token may do nothing but what needs none.
  bool AsksForTokens() const { return !api.token_files.empty() || !tokens.empty(); }

  std::optional<IdSettings> ids;         // of an id_service
  std::optional<StrictSettings> strict;  // of a sequence_node

  struct Console {
    std::string move_file;    // whose moves are shown; empty: those of the table only
    std::string environment;  // "production": shown in the page's header; empty: not shown
    std::string colour;       // of that: "red", "amber", "green", "blue"; empty: grey
    uint64_t streams = 128;   // of events, at once
  };
  Console console;

  std::optional<AuditSettings> audit;

  std::optional<HealthSettings> health;

  LogLevel log_level = LogLevel::kInfo;

  apps::TomlPlaces places;  // of the file
  // What is wrong with a value, behind the place where it stands: "PATH:LINE:COLUMN: KEY: ...".
  absl::Status At(const std::string& key, const absl::Status& status) const;

  // The file that the node keeps its state in.
  std::string NodePath() const { return data + "/node.db"; }
};

// INVALID_ARGUMENT: everything that is wrong with the text, each with line and column in `path`.
absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& path);
// NOT_FOUND, FAILED_PRECONDITION: the file cannot be read; otherwise as ParseConfig.
absl::StatusOr<Config> ReadConfig(const std::string& path);

// The keys whose values differ, but for those that a running process takes over: log.level, tokens
// and what they allow, the API's certificate and key, ids.keys, ids.table and console.move_file.
std::vector<std::string> KeysThatNeedARestart(const Config& running, const Config& read);

// The tokens of all files, and what they allow: each file one line, 16 to 1,024 bytes of what a
// header may carry; only its owner may read it. The message names the file, never what is in it.
//
// api.token_files: all that clients do (ids, route, leases, read); where there are no
// api.operator_token_files, also what operators do. api.operator_token_files: all but decode, which
// only a [[token]] can have.
absl::StatusOr<std::vector<TokenRule>> ReadTokens(const Config& config);
// ReadTokens as what decides. FAILED_PRECONDITION: tokens that AccessControl::Make refuses.
absl::StatusOr<std::shared_ptr<AccessControl>> MakeAccess(const Config& config);

// The files that the configuration names and whose content a running process takes over, to be
// watched; those of [raft], [audit] and [health] are read at the start only.
std::vector<std::string> FilesToWatch(const Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_H_
