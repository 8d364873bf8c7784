// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
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
void ReadAddresses(TomlSection& section, std::string& listen, std::string& advertise) {
  listen.clear();
  section.Text("listen", &listen, ReadAddress, TomlSection::kRequired);
  advertise = listen;
  section.Text("advertise", &advertise, ReadAddress);
  if (!advertise.empty() && IsWildcard(HostOf(advertise))) {
    section.Refuse(absl::StrCat("nobody can reach ", Quoted(advertise),
                                "; advertise = \"HOST:PORT\" must name this machine"));
  }
}

std::optional<Config::TlsPaths> ReadTls(TomlSection& section, bool with_authority) {
  Config::TlsPaths tls;
  if (with_authority) section.Text("authority", &tls.authority, ReadPath);
  section.Text("certificate", &tls.certificate, ReadPath);
  section.Text("key", &tls.key, ReadPath);
  const size_t given = !tls.authority.empty() + !tls.certificate.empty() + !tls.key.empty();
  if (given == 0) return std::nullopt;
  if (given != (with_authority ? 3 : 2)) {
    section.Refuse(with_authority ? "authority, certificate and key: all three, or none"
                                  : "certificate and key: both, or neither");
  }
  return tls;
}

void ReadRaft(TomlSection section, Config::Raft& raft) {
  ReadAddresses(section, raft.listen, raft.advertise);
  raft.tls = ReadTls(section, /*with_authority=*/true);
  if (!raft.listen.empty() && !raft.tls && !internal::IsLoopback(HostOf(raft.listen))) {
    section.Refuse(absl::StrCat("raft.listen ", Quoted(raft.listen),
                                " is beyond loopback: authority, certificate and key are needed"));
  }
  absl::Duration election = absl::FromChrono(raft.shell.election);
  section.Duration("election", &election,
                   Within(election, absl::Milliseconds(100), absl::Minutes(1)));
  raft.shell.election = absl::ToChronoMilliseconds(election);
  section.Whole("compact_entries", &raft.shell.compact_entries,
                Within(raft.shell.compact_entries, 100, 10'000'000));
  section.Whole("compact_bytes", &raft.shell.compact_bytes,
                Within(raft.shell.compact_bytes, 1 << 16, 1 << 30));
  section.End();
}

// What only a node of the cluster has.
void ReadApiOfClusterNode(TomlSection& section, const Config& config, Config::Api& api) {
  if (!config.cluster_node) {
    for (const char* const key : {"advertise", "forward", "forward_authority", "store"}) {
      section.RefuseKey(key, "is for the role cluster-node");
    }
    return;
  }
  section.Whole("forward", &api.forward, Within(api.forward, 0, 4096));
  section.Text("forward_authority", &api.forward_authority, ReadMaybe);
  section.Flag("store", &api.store);
}

void ReadApi(TomlSection section, const Config& config, Config::Api& api) {
  http::ServerOptions& server = api.server;
  if (config.cluster_node) {
    ReadAddresses(section, server.listen, api.advertise);
  } else {
    server.listen.clear();
    section.Text("listen", &server.listen, ReadAddress, TomlSection::kRequired);
    api.advertise = server.listen;
  }
  section.Texts("token_files", &api.token_files, ReadPath);
  section.Texts("operator_token_files", &api.operator_token_files, ReadPath);
  api.tls = ReadTls(section, /*with_authority=*/false);
  if (!server.listen.empty() && !internal::IsLoopback(HostOf(server.listen)) &&
      (!api.tls || !config.AsksForTokens())) {
    section.Refuse(absl::StrCat("api.listen ", Quoted(server.listen),
                                " is beyond loopback: certificate, key and token_files are "
                                "needed, or [[token]] in place of the last"));
  }
  section.Whole("threads", &server.threads, Within(server.threads, 1, 64));
  section.Whole("connections", &server.most_connections,
                Within(server.most_connections, 1, 100'000));
  section.Whole("connections_per_address", &server.most_connections_per_address,
                Within(server.most_connections_per_address, 0, 100'000));
  section.Whole("header_bytes", &server.most_header_bytes,
                Within(server.most_header_bytes, 1024, 1 << 20));
  section.Whole("body_bytes", &server.most_body_bytes,
                Within(server.most_body_bytes, 4096, 16 << 20));
  section.Duration("request_timeout", &server.request_timeout,
                   Within(server.request_timeout, absl::Milliseconds(100), absl::Minutes(10)));
  section.Duration("idle_timeout", &server.idle_timeout,
                   Within(server.idle_timeout, absl::Milliseconds(100), absl::Hours(1)));
  section.Whole("rate", &api.rate, Within(api.rate, 0, 1'000'000));
  section.Whole("burst", &api.burst, Within(api.burst, 1, 1'000'000));
  section.Whole("under_way", &api.under_way, Within(api.under_way, 1, 100'000));
  section.Duration("drain_delay", &api.drain_delay,
                   Within(api.drain_delay, absl::ZeroDuration(), absl::Minutes(5)));
  ReadApiOfClusterNode(section, config, api);
  section.End();
}

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

// Of a process that is no cluster-node: `data` has what waits for ClickHouse, and nothing else.
void ReadAuditOfOthers(TomlSection& root, Config& config) {
  if (!root.Has("audit")) {
    root.RefuseKey("data", "is for [audit], and for the role cluster-node");
    return;
  }
  root.Text("data", &config.data, ReadPath, TomlSection::kRequired);
  ReadAudit(root.Section("audit"), config);
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

void ReadConsole(TomlSection section, Config& config) {
  section.Text("environment", &config.console.environment, ReadEnvironment);
  section.Text("colour", &config.console.colour, ReadColour);
  if (!config.console.colour.empty() && config.console.environment.empty()) {
    section.RefuseKey("colour", "is that of console.environment, which is missing");
  }
  section.Text("move_file", &config.console.move_file, ReadMaybe);
  section.Whole("streams", &config.console.streams, Within(config.console.streams, 1, 10'000));
  if (!config.console.move_file.empty() && (!config.ids || !config.ids->table)) {
    section.RefuseKey("move_file", "is of the moves of a routing table: [ids.table] is missing");
  }
  section.End();
}

void ReadLog(TomlSection section, Config& config) {
  section.Text("level", &config.log_level, ReadLevel);
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
  if (config.cluster_node) {
    root.Text("cluster", &config.cluster, ReadName, TomlSection::kRequired);
    root.Text("data", &config.data, ReadPath, TomlSection::kRequired);
    ReadRaft(root.Section("raft", TomlSection::kRequired), config.raft);
    if (root.Has("audit")) ReadAudit(root.Section("audit"), config);
    if (root.Has("health")) ReadHealth(root.Section("health"), config);
  } else {
    for (const char* const key : {"cluster", "raft", "health"}) {
      root.RefuseKey(key, "is for the role cluster-node");
    }
    ReadAuditOfOthers(root, config);
  }
  ReadApi(root.Section("api", TomlSection::kRequired), config, config.api);
  if (config.id_service) {
    ReadIds(root.Section("ids", TomlSection::kRequired), config.ids.emplace());
  } else {
    root.RefuseKey("ids", "is for the role id-service: roles = [\"cluster-node\", \"id-service\"]");
  }
  if (config.sequence_node) {
    ReadStrict(root.Section("strict", TomlSection::kRequired), config.api.server.listen,
               config.strict.emplace());
  } else {
    root.RefuseKey("strict", "is for the role sequence-node");
  }
  ReadConsole(root.Section("console"), config);
  ReadLog(root.Section("log"), config);
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
