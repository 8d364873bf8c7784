// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/server_options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace locus {
namespace {

using Engine = StoreUri::Engine;

std::string Setting(const StoreUri& uri, const std::string& name) {
  auto found = uri.settings.find(name);
  return found == uri.settings.end() ? std::string() : found->second;
}

}  // namespace

absl::Status Fill(const StoreUri& uri, Secretive<MariadbOptions>& server, PasswordFor whose) {
  MariadbOptions& options = server.options;
  for (const StoreUri::Host& host : uri.hosts) options.hosts.push_back({host.name, host.port});
  options.user = uri.user;
  options.database = uri.path;
  options.tls_ca_file = Setting(uri, "tls_ca");
  if (!uri.settings.empty()) options.tls = MariadbOptions::Tls::kAlways;
  return server.TakePassword(whose);
}

absl::Status Fill(const StoreUri& uri, Secretive<RedisOptions>& server) {
  RedisOptions& options = server.options;
  for (const StoreUri::Host& host : uri.hosts) options.addresses.push_back({host.name, host.port});
  if (uri.engine == Engine::kRedisSentinel) options.master_name = uri.path;
  options.database = static_cast<int>(uri.redis_database);
  options.user = uri.user;
  return server.TakePassword();
}

absl::Status Fill(const StoreUri& uri, Secretive<EtcdOptions>& server) {
  EtcdOptions& options = server.options;
  for (const StoreUri::Host& host : uri.hosts) {
    bool bracketed = host.name.find(':') != std::string::npos;
    options.endpoints.push_back(
        absl::StrCat(bracketed ? absl::StrCat("[", host.name, "]") : host.name, ":", host.port));
  }
  if (!uri.path.empty()) options.prefix = uri.path;
  options.user = uri.user;
  options.tls.enabled = !uri.settings.empty();
  options.tls.ca_file = Setting(uri, "tls_ca");
  options.tls.certificate_file = Setting(uri, "tls_cert");
  options.tls.key_file = Setting(uri, "tls_key");
  LOCUS_RETURN_IF_ERROR(server.TakePassword());
  if (!options.user.empty() || options.password.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a password is set (LOCUS_PASSWORD or LOCUS_PASSWORD_FILE), but the store at ",
                   absl::StrJoin(options.endpoints, ","),
                   " names no user; write etcd://USER@HOST:PORT/PREFIX, or unset the password"));
}

}  // namespace locus
