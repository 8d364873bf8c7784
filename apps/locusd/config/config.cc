// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "apps/shared/toml/toml_section.h"
#include "src/base/os/check.h"
#include "src/base/os/loopback.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"
#include "src/raft/core/types.h"

namespace locus::locusd {

using apps::TomlDocument;
using apps::TomlSection;
using http::Endpoint;
using internal::Quoted;

namespace {

constexpr size_t kMostConfigBytes = 1 << 20;

absl::StatusOr<std::string> ReadName(const std::string& text) {
  bool printable = !text.empty() && text.size() <= raft::kMostClusterBytes;
  for (char c : text) printable = printable && c > ' ' && c <= '~';
  if (printable) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("1 to ", raft::kMostClusterBytes, " printable ASCII characters, no blanks"));
}

absl::StatusOr<LogLevel> ReadLevel(const std::string& text) {
  if (text == "trace") return LogLevel::kTrace;
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warn") return LogLevel::kWarn;
  if (text == "error") return LogLevel::kError;
  return absl::InvalidArgumentError("\"trace\", \"debug\", \"info\", \"warn\" or \"error\"");
}

std::string HostOf(const std::string& address) { return Endpoint::Parse(address)->host; }
bool IsWildcard(const std::string& host) { return host == "0.0.0.0" || host == "::"; }

// listen and advertise.
void AddressKeys(KeySection& section, std::string& listen, std::string& advertise,
                 const char* sample) {
  if (section.reads()) listen.clear();
  section.Text("listen", &listen, ReadAddress,
               {.sample = sample, .written = true, .required = true});
  if (section.reads()) advertise = listen;
  if (!section.reads() && advertise == listen) advertise.clear();
  section.Text("advertise", &advertise, ReadAddress,
               {.help = "where others reach it: `listen`", .sample = R"("HOST:PORT")"});
  if (section.reads() && !advertise.empty() && IsWildcard(HostOf(advertise))) {
    section.toml().Refuse(absl::StrCat("nobody can reach ", Quoted(advertise),
                                       "; advertise = \"HOST:PORT\" must name this machine"));
  }
}

// What a sample file calls the files of TLS.
struct TlsSamples {
  const char* authority;  // nullptr: without that key
  const char* certificate;
  const char* key;
  const char* help;
};
void TlsKeys(KeySection& section, std::optional<Config::TlsPaths>& tls, const TlsSamples& sample,
             Reload reload) {
  Config::TlsPaths paths = tls.value_or(Config::TlsPaths());
  const char* help = sample.help;
  if (sample.authority != nullptr) {
    section.Text("authority", &paths.authority, ReadPath,
                 {.help = help, .sample = sample.authority, .reload = reload});
    help = "";
  }
  section.Text("certificate", &paths.certificate, ReadPath,
               {.help = help, .sample = sample.certificate, .reload = reload});
  section.Text("key", &paths.key, ReadPath, {.sample = sample.key, .reload = reload});
  if (!section.reads()) return;
  const size_t given = !paths.authority.empty() + !paths.certificate.empty() + !paths.key.empty();
  if (given == 0) return;
  tls = std::move(paths);
  if (given != (sample.authority != nullptr ? 3 : 2)) {
    section.toml().Refuse(sample.authority != nullptr
                              ? "authority, certificate and key: all three, or none"
                              : "certificate and key: both, or neither");
  }
}

}  // namespace

void RaftKeys(KeySection& section, Config::Raft& raft) {
  AddressKeys(section, raft.listen, raft.advertise, R"("127.0.0.1:7071")");
  TlsKeys(section, raft.tls,
          {R"("/etc/locusd/ca.pem")", R"("/etc/locusd/node.pem")", R"("/etc/locusd/node.key")",
           "TLS: all three, or none; needed beyond loopback"},
          Reload::kNo);
  if (section.reads() && !raft.listen.empty() && !raft.tls &&
      !internal::IsLoopback(HostOf(raft.listen))) {
    section.toml().Refuse(
        absl::StrCat("raft.listen ", Quoted(raft.listen),
                     " is beyond loopback: authority, certificate and key are needed"));
  }
  absl::Duration election = absl::FromChrono(raft.shell.election);
  section.Duration("election", &election,
                   Within(election, absl::Milliseconds(100), absl::Minutes(1)),
                   {.help = "after 1 to 2 of these without a leader, a node is a candidate"});
  raft.shell.election = absl::ToChronoMilliseconds(election);
  section.Whole("compact_entries", &raft.shell.compact_entries,
                Within(raft.shell.compact_entries, 100, 10'000'000),
                {.help = "after so much log, or"});
  section.Whole("compact_bytes", &raft.shell.compact_bytes,
                Within(raft.shell.compact_bytes, 1 << 16, 1 << 30),
                {.help = "so many bytes of it, a snapshot takes its place"});
  if (section.reads()) section.toml().End();
}

namespace {

void LimitKeys(KeySection& section, Config::Api& api) {
  http::ServerOptions& server = api.server;
  section.Whole("threads", &server.threads, Within(server.threads, 1, 64),
                {.help = "of the HTTP server"});
  section.Whole("connections", &server.most_connections,
                Within(server.most_connections, 1, 100'000), {.help = "more are closed at once"});
  section.Whole("connections_per_address", &server.most_connections_per_address,
                Within(server.most_connections_per_address, 0, 100'000), {.help = "0: no limit"});
  section.Whole("header_bytes", &server.most_header_bytes,
                Within(server.most_header_bytes, 1024, 1 << 20), {.help = "of a request"});
  section.Whole("body_bytes", &server.most_body_bytes,
                Within(server.most_body_bytes, 4096, 16 << 20), {.help = "of a request"});
  section.Duration("request_timeout", &server.request_timeout,
                   Within(server.request_timeout, absl::Milliseconds(100), absl::Minutes(10)),
                   {.help = "to send a request, and again to take its answer"});
  section.Duration("idle_timeout", &server.idle_timeout,
                   Within(server.idle_timeout, absl::Milliseconds(100), absl::Hours(1)),
                   {.help = "between two requests of a connection"});
  section.Whole("rate", &api.rate, Within(api.rate, 0, 1'000'000),
                {.help = "requests a second from one address; 0: no limit"});
  section.Whole("burst", &api.burst, Within(api.burst, 1, 1'000'000),
                {.help = "requests at once from one address, after a pause"});
  section.Whole("under_way", &api.under_way, Within(api.under_way, 1, 100'000),
                {.help = "requests that are not answered yet"});
  section.Duration("drain_delay", &api.drain_delay,
                   Within(api.drain_delay, absl::ZeroDuration(), absl::Minutes(5)),
                   {.help = "how long /readyz answers 503 before the process ends"});
}

}  // namespace

void ApiKeys(KeySection& section, const Config& config, Config::Api& api) {
  http::ServerOptions& server = api.server;
  const auto of_node = [&](bool on) {
    section.OfRole(on ? "cluster-node" : nullptr, config.cluster_node);
  };
  if (config.cluster_node) {
    AddressKeys(section, server.listen, api.advertise, R"("127.0.0.1:7070")");
  } else {
    if (section.reads()) server.listen.clear();
    section.Text("listen", &server.listen, ReadAddress,
                 {.sample = R"("127.0.0.1:7070")", .written = true, .required = true});
    api.advertise = server.listen;
    of_node(true);
    section.Text("advertise", &api.advertise, ReadAddress, {});
    of_node(false);
  }
  section.Texts("token_files", &api.token_files, ReadPath,
                {.help = "mode 0600, one token each; needed beyond loopback, as is TLS",
                 .reload = Reload::kYes});
  section.Texts("operator_token_files", &api.operator_token_files, ReadPath,
                {.help = "the same for operators; empty: token_files serve them too",
                 .reload = Reload::kYes});
  TlsKeys(
      section, api.tls,
      {nullptr, R"("/etc/locusd/api.pem")", R"("/etc/locusd/api.key")", "HTTPS: both, or neither"},
      Reload::kOtherOnly);
  LimitKeys(section, api);
  of_node(true);
  section.Whole("forward", &api.forward, Within(api.forward, 0, 4096),
                {.help = "requests handed on to the leader at once; 0: never"});
  section.Text("forward_authority", &api.forward_authority, ReadMaybe,
               {.help = "PEM, for the leader's API; empty: the system's"});
  section.Flag("store", &api.store,
               {.help = "keeps order IDs, counters, sequence types, strict sections too"});
  of_node(false);
  if (!section.reads()) return;
  if (!server.listen.empty() && !internal::IsLoopback(HostOf(server.listen)) &&
      (!api.tls || !config.AsksForTokens())) {
    section.toml().Refuse(absl::StrCat("api.listen ", Quoted(server.listen),
                                       " is beyond loopback: certificate, key and token_files are "
                                       "needed, or [[token]] in place of the last"));
  }
  section.toml().End();
}

namespace {

// False: something in it is wrong.
bool ReadRoles(TomlSection& root, Config& config) {
  enum class Role { kClusterNode, kIdService, kSequenceNode };
  std::vector<Role> roles;
  root.Texts("roles", &roles, [](const std::string& text) -> absl::StatusOr<Role> {
    if (text == "cluster-node") return Role::kClusterNode;
    if (text == "id-service") return Role::kIdService;
    if (text == "sequence-node") return Role::kSequenceNode;
    return absl::InvalidArgumentError("\"cluster-node\", \"id-service\" or \"sequence-node\"");
  });
  if (root.Refused()) return false;
  if (roles.empty()) {  // the default
    root.RefuseKey("roles",
                   "has no role; there are \"cluster-node\", \"id-service\" and "
                   "\"sequence-node\"");
    return !root.Refused();
  }
  config.cluster_node = config.id_service = config.sequence_node = false;
  for (const Role role : roles) {
    (role == Role::kClusterNode ? config.cluster_node
     : role == Role::kIdService ? config.id_service
                                : config.sequence_node) = true;
  }
  return true;
}

absl::StatusOr<std::string> ReadEnvironment(const std::string& text) {
  constexpr size_t kMostBytes = 32;
  bool printable = !text.empty() && text.size() <= kMostBytes;
  for (const char c : text) printable = printable && c >= ' ' && c <= '~';
  if (printable) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("1 to ", kMostBytes, " printable ASCII characters, such as \"production\""));
}

absl::StatusOr<std::string> ReadColour(const std::string& text) {
  for (const char* const known : {"red", "amber", "green", "blue"}) {
    if (text == known) return text;
  }
  return absl::InvalidArgumentError("\"red\", \"amber\", \"green\" or \"blue\"");
}

const char* NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      break;
  }
  return "error";
}

// A section that a file may lack.
template <typename Part, typename Keys>
void ReadOptional(TomlSection& root, const char* name, std::optional<Part>& part, Keys keys) {
  if (!root.Has(name)) return;
  KeySection section(root.Section(name));
  keys(section, part.emplace());
}

}  // namespace

void ConsoleKeys(KeySection& section, Config::Console& console) {
  section.Text("environment", &console.environment, ReadEnvironment,
               {.help = "named in its header; without the line, not",
                .sample = R"("production")",
                .reload = Reload::kYes});
  section.Text("colour", &console.colour, ReadColour,
               {.help = "of that name: red, amber, green or blue; grey",
                .sample = R"("red")",
                .reload = Reload::kYes});
  section.Text(
      "move_file", &console.move_file, ReadMaybe,
      {.help = "a file of `locus move new`: its moves are shown too", .reload = Reload::kYes});
  section.Whole("streams", &console.streams, Within(console.streams, 1, 10'000),
                {.help = "pages that get events, at once"});
}

void LogKeys(KeySection& section, Config& config) {
  section.Text("level", &config.log_level, ReadLevel,
               {.help = "trace, debug, info, warn, error", .reload = Reload::kYes}, NameOf);
}

void RootKeys(KeySection& section, Config& config) {
  std::vector<std::string> roles;
  for (const auto& [has, name] :
       {std::pair(config.cluster_node, "cluster-node"), std::pair(config.id_service, "id-service"),
        std::pair(config.sequence_node, "sequence-node")}) {
    if (has) roles.push_back(absl::StrCat("\"", name, "\""));
  }
  section.Listed("roles", "texts", absl::StrCat("[", absl::StrJoin(roles, ", "), "]"),
                 {.written = true});
  if (config.cluster_node) {
    section.Text("cluster", &config.cluster, ReadName,
                 {.help = "nodes of other names are refused",
                  .sample = R"("orders")",
                  .written = true,
                  .required = true});
  }
  section.Text("data", &config.data, ReadPath,
               {.help = config.cluster_node ? "the node's state" : "for [audit]: what waits",
                .sample = R"("/var/lib/locusd")",
                .written = config.cluster_node,
                .required = true});
}

namespace {

void ReadConsole(TomlSection section, Config& config) {
  KeySection keys(section);
  Config::Console& console = config.console;
  ConsoleKeys(keys, console);
  if (!console.colour.empty() && console.environment.empty()) {
    section.RefuseKey("colour", "is that of console.environment, which is missing");
  }
  if (!console.move_file.empty() && (!config.ids || !config.ids->table)) {
    section.RefuseKey("move_file", "is of the moves of a routing table: [ids.table] is missing");
  }
  section.End();
}

}  // namespace

absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& path) {
  Config config;
  TomlDocument document(text, path);
  TomlSection root = document.Root();
  // What else would be said is of roles that nobody meant.
  if (!ReadRoles(root, config)) return document.status();
  if (root.Has("token")) {
    root.EachOf("token", [&config](TomlSection section) { ReadToken(section, config); });
  }
  KeySection keys(root);
  if (config.cluster_node) {
    RootKeys(keys, config);
    KeySection raft(root.Section("raft", TomlSection::kRequired));
    RaftKeys(raft, config.raft);
    ReadOptional(root, "health", config.health, HealthKeys);
  } else {
    for (const char* const key : {"cluster", "raft", "health"}) {
      root.RefuseKey(key, "is for the role cluster-node");
    }
    // Without that role, `data` holds what waits for ClickHouse, and nothing else.
    if (root.Has("audit")) {
      RootKeys(keys, config);
    } else {
      root.RefuseKey("data", "is for [audit], and for the role cluster-node");
    }
  }
  ReadOptional(root, "audit", config.audit, AuditKeys);
  KeySection api(root.Section("api", TomlSection::kRequired));
  ApiKeys(api, config, config.api);
  if (config.id_service) {
    KeySection ids(root.Section("ids", TomlSection::kRequired));
    IdsKeys(ids, config.ids.emplace());
  } else {
    root.RefuseKey("ids", "is for the role id-service: roles = [\"cluster-node\", \"id-service\"]");
  }
  if (config.sequence_node) {
    KeySection strict(root.Section("strict", TomlSection::kRequired));
    StrictKeys(strict, config.api.server.listen, config.strict.emplace());
  } else {
    root.RefuseKey("strict", "is for the role sequence-node");
  }
  ReadConsole(root.Section("console"), config);
  TomlSection log = root.Section("log");
  KeySection log_keys(log);
  LogKeys(log_keys, config);
  log.End();
  root.End();
  if (!config.raft.listen.empty() && config.raft.listen == config.api.server.listen) {
    root.Refuse(absl::StrCat("raft.listen and api.listen are both ", Quoted(config.raft.listen)));
  }
  LOCUS_RETURN_IF_ERROR(document.status());
  config.places = document.Places();
  return config;
}

absl::Status Config::At(const std::string& key, const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(places.Of(key), ": ", status.message()));
}

absl::StatusOr<Config> ReadConfig(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) {
    text.resize(kMostConfigBytes + 1);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file.gcount()));
  }
  // A directory opens, and fails to be read.
  if (!file.is_open() || file.bad() || (text.empty() && !file.eof())) {
    const int error = errno;
    return absl::Status(
        error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition,
        absl::StrCat("cannot read ", Quoted(path), ": ", std::strerror(error)));
  }
  if (text.size() > kMostConfigBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(path), " is longer than ", kMostConfigBytes, " bytes"));
  }
  return ParseConfig(text, path);
}

}  // namespace locus::locusd
