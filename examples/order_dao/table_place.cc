// SPDX-License-Identifier: Apache-2.0
#include "table_place.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "locus/routing/engine/etcd.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/engine/mariadb.h"
#include "locus/routing/file_table.h"

namespace shop {
namespace {

using Opened = absl::StatusOr<std::unique_ptr<locus::TableSource>>;

template <typename Source>
Opened Open(absl::StatusOr<std::unique_ptr<Source>> source) {
  if (!source.ok()) return source.status();
  return std::unique_ptr<locus::TableSource>(*std::move(source));
}

// user@hosts/path; only the hosts are required.
struct Server {
  std::string user, path;
  std::vector<std::string> hosts;
};

Server ServerOf(std::string rest) {
  Server server;
  if (size_t slash = rest.find('/'); slash != std::string::npos) {
    server.path = rest.substr(slash + 1);
    rest.resize(slash);
  }
  if (size_t at = rest.rfind('@'); at != std::string::npos) {
    server.user = rest.substr(0, at);
    rest.erase(0, at + 1);
  }
  server.hosts = absl::StrSplit(rest, ',');
  return server;
}

Opened OpenEtcd(const Server& server, const std::string& password) {
  locus::EtcdTableOptions options;
  options.etcd.endpoints = server.hosts;
  if (!server.path.empty()) options.etcd.prefix = server.path;
  options.etcd.user = server.user;
  if (!server.user.empty()) options.etcd.password = password;
  return Open(locus::EtcdTableSource::Open(options));
}

Opened OpenMariadb(const Server& server, const std::string& password) {
  locus::MariadbTableOptions options;
  for (const std::string& host : server.hosts) {
    std::pair<std::string, std::string> name_and_port = absl::StrSplit(host, ':');
    uint32_t port = 3306;
    bool given = !name_and_port.second.empty();
    if (given && (!absl::SimpleAtoi(name_and_port.second, &port) || port > UINT16_MAX)) {
      return absl::InvalidArgumentError(absl::StrCat("\"", host, "\" is not HOST:PORT"));
    }
    options.mariadb.hosts.push_back({name_and_port.first, static_cast<uint16_t>(port)});
  }
  options.mariadb.user = server.user;
  options.mariadb.password = password;
  options.mariadb.database = server.path;
  return Open(locus::MariadbTableSource::Open(options));
}

Opened OpenHttp(const std::string& url, const std::string& token) {
  locus::HttpTableOptions options;
  options.url = url;
  options.token = token;
  return Open(locus::HttpTableSource::Open(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenTableSource(const std::string& place,
                                                                    const std::string& password) {
  const size_t colon = place.find(':');
  const std::string scheme = place.substr(0, colon == std::string::npos ? 0 : colon);
  const size_t slashes = place.find("://");
  if (scheme == "http" || scheme == "https") return OpenHttp(place, password);
  if (scheme == "file") return Open(locus::FileTableSource::Open(place.substr(colon + 1)));
  if (slashes == std::string::npos) return Open(locus::FileTableSource::Open(place));
  const Server server = ServerOf(place.substr(slashes + 3));
  if (server.user.find(':') != std::string::npos) {
    return absl::InvalidArgumentError(
        "the location of the table must not contain a password; pass it separately");
  }
  if (scheme == "etcd") return OpenEtcd(server, password);
  if (scheme == "mysql") return OpenMariadb(server, password);
  return absl::InvalidArgumentError(
      absl::StrCat("routing tables cannot be read from \"", scheme,
                   ":\"; write a file's path, or file:, etcd:, mysql:, http: or https:"));
}

}  // namespace shop
