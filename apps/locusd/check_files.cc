// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/check_files.h"

#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locusd/audit.h"
#include "apps/locusd/data_directory.h"
#include "apps/locusd/ids/id_places.h"
#include "apps/locusd/strict/strict_service.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

namespace locus::locusd {
namespace {

// Everything that is wrong.
class Faults {
 public:
  void Add(const absl::Status& status) {
    if (status.ok()) return;
    may_pass_ = may_pass_ && absl::IsUnavailable(status);
    lines_.emplace_back(status.message());
  }
  absl::Status status() const {
    if (lines_.empty()) return absl::OkStatus();
    return absl::Status(
        may_pass_ ? absl::StatusCode::kUnavailable : absl::StatusCode::kFailedPrecondition,
        absl::StrJoin(lines_, "\n"));
  }

 private:
  std::vector<std::string> lines_;
  bool may_pass_ = true;
};

void AddFiles(const Config& config, Faults& faults) {
  faults.Add(MakeAccess(config).status());
  auto tls = [&](const char* key, const http::TlsFiles& files) {
    faults.Add(config.At(key, http::TlsContext::Load(files).status()));
  };
  if (config.raft.tls) {
    tls("raft.certificate",
        {config.raft.tls->authority, config.raft.tls->certificate, config.raft.tls->key});
  }
  if (config.api.tls) {
    tls("api.certificate", {"", config.api.tls->certificate, config.api.tls->key});
    if (config.cluster_node && config.api.forward > 0) {
      tls("api.forward_authority", {config.api.forward_authority, "", ""});
    }
  }
  if (config.health) tls("health.authority", {config.health->authority, "", ""});
  auto tell = [&](const std::string& key, const absl::Status& status) {
    faults.Add(config.At(key, status));
  };
  if (config.ids) CheckFiles(*config.ids, tell);
  if (config.strict) CheckFiles(*config.strict, tell);
  if (config.audit) tell("audit.password_file", Audit::Check(config));
}

}  // namespace

absl::Status CheckFiles(const Config& config) {
  Faults faults;
  AddFiles(config, faults);
  return faults.status();
}

// Whether the other nodes would let this one in. That is no reason not to start: they may have
// other authorities.
absl::Status CheckNodeCertificate(const Config& config) {
  if (!config.raft.tls) return absl::OkStatus();
  const auto tls = http::TlsContext::Load(
      {config.raft.tls->authority, config.raft.tls->certificate, config.raft.tls->key});
  if (!tls.ok()) return absl::OkStatus();  // its own check reports it
  const auto endpoint = http::Endpoint::Parse(config.raft.advertise);
  return endpoint.ok() ? (*tls)->CheckCertificateFor(endpoint->host) : endpoint.status();
}

absl::Status CheckAllButServers(const Config& config) {
  Faults faults;
  AddFiles(config, faults);
  faults.Add(config.At("raft.certificate", CheckNodeCertificate(config)));
  if (!config.data.empty()) faults.Add(config.At("data", CheckDataDirectory(config.data)));
  if (config.ids) {
    CheckLocalPlaces(*config.ids, [&](const std::string& key, const absl::Status& status) {
      faults.Add(config.At(key, status));
    });
  }
  if (config.strict) {
    CheckLocalPlaces(*config.strict, [&](const std::string& key, const absl::Status& status) {
      faults.Add(config.At(key, status));
    });
  }
  return faults.status();
}

std::vector<std::string> WhatHasEnded(const Config& config, absl::Time now) {
  std::vector<std::string> lines;
  auto look = [&](const std::string& key, std::string_view what, absl::Time end) {
    if (end > now) return;
    lines.push_back(absl::StrCat(config.places.Of(key), ": ", internal::ToAbsl(what), " ended at ",
                                 absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", end, absl::UTCTimeZone())));
  };
  auto look_at_files = [&](const char* key, const std::optional<Config::TlsPaths>& files) {
    if (!files) return;
    const auto tls = http::TlsContext::Load({files->authority, files->certificate, files->key});
    if (tls.ok()) look(key, "the certificate, or one given with it,", (*tls)->not_after());
  };
  look_at_files("raft.certificate", config.raft.tls);
  look_at_files("api.certificate", config.api.tls);
  for (size_t i = 0; i < config.tokens.size(); ++i) {
    const TokenSettings& token = config.tokens[i];
    look(absl::StrCat("token[", i, "].expires"), internal::Quoted(token.name), token.expires);
  }
  return lines;
}

std::vector<std::string> KeysOfServers(const Config& config) {
  std::vector<std::string> keys;
  if (config.ids) keys = KeysOfPlacesToAsk(*config.ids);
  if (config.strict) keys.emplace_back("strict.store");
  if (config.audit) keys.emplace_back("audit.clickhouse");
  return keys;
}

}  // namespace locus::locusd
