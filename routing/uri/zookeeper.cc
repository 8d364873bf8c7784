// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/zookeeper.h"

#include "absl/strings/str_cat.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"

namespace locus::internal {

namespace {

// Hands the options of a URI to Store::Open.
template <typename Interface, typename Store>
absl::StatusOr<std::shared_ptr<Interface>> OpenStore(const StoreUri& uri,
                                                     std::string_view password) {
  ZookeeperOptions options;
  Wiped wiped(options.password);
  for (const StoreUri::Host& host : uri.hosts) {
    const bool bracketed = host.name.find(':') != std::string::npos;
    options.hosts.push_back(
        absl::StrCat(bracketed ? absl::StrCat("[", host.name, "]") : host.name, ":", host.port));
  }
  if (!uri.path.empty()) options.prefix = "/" + uri.path;
  options.user = uri.user;
  options.password = password;
  if (options.user.empty() && !password.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a password is set, but ", uri.text,
        " names no user; write zookeeper://USER@HOST:PORT/PREFIX, or unset the password "
        "(LOCUS_PASSWORD or LOCUS_PASSWORD_FILE)"));
  }
  return As<std::shared_ptr<Interface>>(Store::Open(options));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenZookeeperStore(const StoreUri& uri,
                                                                 std::string_view password) {
  return OpenStore<SegmentStore, ZookeeperSegmentStore>(uri, password);
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenZookeeperWorkerLeases(
    const StoreUri& uri, std::string_view password) {
  return OpenStore<WorkerLeaseStore, ZookeeperWorkerLeaseStore>(uri, password);
}

}  // namespace locus::internal
