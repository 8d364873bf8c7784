// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "apps/toml/toml_section.h"
#include "src/base/check.h"
#include "src/base/loopback.h"
#include "src/base/private_file.h"
#include "src/base/text.h"
#include "src/holder_probe/health_url.h"
#include "src/http/endpoint.h"
#include "src/raft/types.h"

namespace locus::locusd {

using apps::TomlDocument;
using apps::TomlSection;
using http::Endpoint;
using internal::Quoted;

namespace {

constexpr size_t kMostConfigBytes = 1 << 20;
constexpr size_t kLeastTokenBytes = 16;
constexpr size_t kMostTokenBytes = 1024;

absl::StatusOr<std::string> ReadName(const std::string& text) {
  bool printable = !text.empty() && text.size() <= raft::kMostClusterBytes;
  for (char c : text) printable = printable && c > ' ' && c <= '~';
  if (printable) return text;
  return absl::InvalidArgumentError(
      absl::StrCat("1 to ", raft::kMostClusterBytes, " printable ASCII characters, no blanks"));
}

absl::StatusOr<std::string> ReadPath(const std::string& text) {
  if (!text.empty() && text.find('\0') == std::string::npos) return text;
  return absl::InvalidArgumentError("a path");
}

// Empty: the default.
absl::StatusOr<std::string> ReadMaybe(const std::string& text) {
  if (text.find('\0') == std::string::npos) return text;
  return absl::InvalidArgumentError("a text without NUL");
}

// A port of 0 would be another one after each start, and the members hold it.
absl::StatusOr<std::string> ReadAddress(const std::string& text) {
  if (Endpoint::Parse(text).ok()) return text;
  return absl::InvalidArgumentError("HOST:PORT, an IPv6 address in brackets");
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

TomlSection::Check Within(const absl::Duration& value, absl::Duration least, absl::Duration most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(absl::FormatDuration(value), " is not in ",
                                                   absl::FormatDuration(least), " .. ",
                                                   absl::FormatDuration(most)));
  };
}

template <typename Whole>
TomlSection::Check Within(const Whole& value, uint64_t least, uint64_t most) {
  return [&value, least, most] {
    if (value >= least && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(value, " is not in ", least, " .. ", most));
  };
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

void ReadApi(TomlSection section, Config::Api& api) {
  http::ServerOptions& server = api.server;
  ReadAddresses(section, server.listen, api.advertise);
  section.Texts("token_files", &api.token_files, ReadPath);
  section.Texts("operator_token_files", &api.operator_token_files, ReadPath);
  api.tls = ReadTls(section, /*with_authority=*/false);
  if (!server.listen.empty() && !internal::IsLoopback(HostOf(server.listen)) &&
      (!api.tls || api.token_files.empty())) {
    section.Refuse(absl::StrCat("api.listen ", Quoted(server.listen),
                                " is beyond loopback: certificate, key and token_files are "
                                "needed"));
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
  section.Whole("forward", &api.forward, Within(api.forward, 0, 4096));
  section.Text("forward_authority", &api.forward_authority, ReadMaybe);
  section.End();
}

absl::StatusOr<std::string> ReadBlock(const std::string& text) {
  if (holder_probe::AddressBlock::Parse(text).ok()) return text;
  return absl::InvalidArgumentError("a block of IP addresses such as \"10.1.0.0/16\"");
}

void ReadHealth(TomlSection section, Config& config) {
  HealthSettings& health = config.health.emplace();
  holder_probe::HolderProbeOptions& probe = health.probe;
  section.Texts("allowed", &probe.allowed, ReadBlock, TomlSection::kRequired);
  section.Text("authority", &health.authority, ReadMaybe);
  section.Duration("interval", &probe.interval,
                   Within(probe.interval, absl::Milliseconds(100), absl::Hours(1)));
  section.Duration("timeout", &probe.timeout,
                   Within(probe.timeout, absl::Milliseconds(10), absl::Hours(1)));
  uint64_t failures = static_cast<uint64_t>(probe.failures);
  section.Whole("failures", &failures, Within(failures, 1, 1000));
  probe.failures = static_cast<int>(failures);
  section.Whole("at_once", &probe.at_once, Within(probe.at_once, 2, 1024));
  uint64_t per_second = static_cast<uint64_t>(probe.per_second);
  section.Whole("per_second", &per_second, Within(per_second, 1, 10'000));
  probe.per_second = static_cast<double>(per_second);
  if (section.End()) section.RefuseIfNot(probe.Check());
}

void ReadAudit(TomlSection section, Config& config) {
  AuditSettings& audit = config.audit.emplace();
  ClickHouseOptions& server = audit.clickhouse;
  section.Text("clickhouse", &server.endpoint, ReadAddress, TomlSection::kRequired);
  section.Text("database", &server.database, ReadPath);
  section.Text("table", &server.table, ReadPath);
  section.Text("user", &server.user, ReadMaybe);
  section.Text("password_file", &audit.password_file, ReadMaybe);
  section.Flag("tls", &server.tls.enabled);
  section.Text("authority", &server.tls.ca_file, ReadMaybe);
  section.Duration("timeout", &server.timeout,
                   Within(server.timeout, absl::Milliseconds(1), absl::Hours(1)));
  section.Whole("renewals", &audit.renewals, Within(audit.renewals, 0, UINT32_MAX));
  section.Whole("queue", &audit.sink.queue, Within(audit.sink.queue, 1000, 10'000'000));
  section.Whole("spill_bytes", &audit.sink.spill_bytes,
                Within(audit.sink.spill_bytes, 1 << 20, uint64_t{1} << 40));
  if (!section.End()) return;
  ClickHouseOptions checked = server;
  // Its file is read when the node starts.
  if (!audit.password_file.empty()) checked.password = "x";
  section.RefuseIfNot(checked.Check());
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
  root.Text("cluster", &config.cluster, ReadName, TomlSection::kRequired);
  root.Text("data", &config.data, ReadPath, TomlSection::kRequired);
  ReadRaft(root.Section("raft", TomlSection::kRequired), config.raft);
  ReadApi(root.Section("api", TomlSection::kRequired), config.api);
  if (root.Has("audit")) ReadAudit(root.Section("audit"), config);
  if (root.Has("health")) ReadHealth(root.Section("health"), config);
  ReadLog(root.Section("log"), config);
  root.End();
  if (!config.raft.listen.empty() && config.raft.listen == config.api.server.listen) {
    root.Refuse(absl::StrCat("raft.listen and api.listen are both ", Quoted(config.raft.listen)));
  }
  LOCUS_RETURN_IF_ERROR(document.status());
  return config;
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

std::vector<std::string> KeysThatNeedARestart(const Config& running, const Config& read) {
  std::vector<std::string> keys;
  auto compare = [&keys](const char* key, const auto& one, const auto& other) {
    if (one != other) keys.emplace_back(key);
  };
  auto compare_tls = [&keys](const char* key, const std::optional<Config::TlsPaths>& one,
                             const std::optional<Config::TlsPaths>& other) {
    const Config::TlsPaths a = one.value_or(Config::TlsPaths());
    const Config::TlsPaths b = other.value_or(Config::TlsPaths());
    if (a.authority != b.authority || a.certificate != b.certificate || a.key != b.key) {
      keys.emplace_back(key);
    }
  };
  compare("cluster", running.cluster, read.cluster);
  compare("data", running.data, read.data);
  compare("raft.listen", running.raft.listen, read.raft.listen);
  compare("raft.advertise", running.raft.advertise, read.raft.advertise);
  compare_tls("raft.certificate", running.raft.tls, read.raft.tls);
  compare("raft.election", running.raft.shell.election, read.raft.shell.election);
  compare("raft.compact_entries", running.raft.shell.compact_entries,
          read.raft.shell.compact_entries);
  compare("raft.compact_bytes", running.raft.shell.compact_bytes, read.raft.shell.compact_bytes);
  const http::ServerOptions& one = running.api.server;
  const http::ServerOptions& other = read.api.server;
  compare("api.listen", one.listen, other.listen);
  compare("api.advertise", running.api.advertise, read.api.advertise);
  compare_tls("api.certificate", running.api.tls, read.api.tls);
  compare("api.threads", one.threads, other.threads);
  compare("api.connections", one.most_connections, other.most_connections);
  compare("api.connections_per_address", one.most_connections_per_address,
          other.most_connections_per_address);
  compare("api.header_bytes", one.most_header_bytes, other.most_header_bytes);
  compare("api.body_bytes", one.most_body_bytes, other.most_body_bytes);
  compare("api.request_timeout", one.request_timeout, other.request_timeout);
  compare("api.idle_timeout", one.idle_timeout, other.idle_timeout);
  compare("api.rate", running.api.rate, read.api.rate);
  compare("api.burst", running.api.burst, read.api.burst);
  compare("api.under_way", running.api.under_way, read.api.under_way);
  compare("api.forward", running.api.forward, read.api.forward);
  compare("api.forward_authority", running.api.forward_authority, read.api.forward_authority);
  const HealthSettings health = running.health.value_or(HealthSettings());
  const HealthSettings new_health = read.health.value_or(HealthSettings());
  if (running.health.has_value() != read.health.has_value() ||
      health.authority != new_health.authority ||
      health.probe.allowed != new_health.probe.allowed ||
      health.probe.interval != new_health.probe.interval ||
      health.probe.timeout != new_health.probe.timeout ||
      health.probe.failures != new_health.probe.failures ||
      health.probe.at_once != new_health.probe.at_once ||
      health.probe.per_second != new_health.probe.per_second) {
    keys.emplace_back("health");
  }
  const AuditSettings audit = running.audit.value_or(AuditSettings());
  const AuditSettings new_audit = read.audit.value_or(AuditSettings());
  if (running.audit.has_value() != read.audit.has_value() ||
      audit.clickhouse.endpoint != new_audit.clickhouse.endpoint ||
      audit.clickhouse.database != new_audit.clickhouse.database ||
      audit.clickhouse.table != new_audit.clickhouse.table ||
      audit.clickhouse.user != new_audit.clickhouse.user ||
      audit.clickhouse.tls.enabled != new_audit.clickhouse.tls.enabled ||
      audit.clickhouse.tls.ca_file != new_audit.clickhouse.tls.ca_file ||
      audit.clickhouse.timeout != new_audit.clickhouse.timeout ||
      audit.password_file != new_audit.password_file || audit.renewals != new_audit.renewals ||
      audit.sink.queue != new_audit.sink.queue ||
      audit.sink.spill_bytes != new_audit.sink.spill_bytes) {
    keys.emplace_back("audit");
  }
  return keys;
}

namespace {

absl::StatusOr<std::vector<std::string>> ReadTokenFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> tokens;
  for (const std::string& path : paths) {
    LOCUS_ASSIGN_OR_RETURN(internal::PrivateText text,
                           internal::ReadPrivateFile(path, kMostTokenBytes + 2));
    std::string_view token = text.view();
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.remove_suffix(1);
    bool fits = token.size() >= kLeastTokenBytes && token.size() <= kMostTokenBytes;
    for (char c : token) fits = fits && c > ' ' && c <= '~';
    if (!fits) {
      return absl::FailedPreconditionError(
          absl::StrCat(Quoted(path), " does not hold one token of ", kLeastTokenBytes, " to ",
                       kMostTokenBytes, " printable ASCII characters, no blanks"));
    }
    tokens.emplace_back(token);
  }
  return tokens;
}

}  // namespace

absl::StatusOr<Tokens> ReadTokens(const Config& config) {
  Tokens tokens;
  LOCUS_ASSIGN_OR_RETURN(tokens.clients, ReadTokenFiles(config.api.token_files));
  LOCUS_ASSIGN_OR_RETURN(tokens.operators, ReadTokenFiles(config.api.operator_token_files));
  return tokens;
}

}  // namespace locus::locusd
