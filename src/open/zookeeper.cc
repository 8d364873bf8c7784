// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/zookeeper.h"

#include "absl/strings/str_cat.h"
#include "src/open/engine.h"
#include "src/open/opened.h"
#include "src/open/store_uri.h"

namespace locus::internal {
namespace {

template <typename Opened, typename Store>
absl::StatusOr<Opened> Open(const StoreUri& uri, std::string_view password, bool) {
  ZookeeperOptions options;
  Wiped wiped(options.password);
  options.hosts = uri.Endpoints();
  if (!uri.path.empty()) options.prefix = "/" + uri.path;
  options.user = uri.user;
  options.password = password;
  if (options.user.empty() && !password.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a password is set, but ", uri.text,
        " names no user; write zookeeper://USER@HOST:PORT/PREFIX, or unset the password "
        "(LOCUS_PASSWORD or LOCUS_PASSWORD_FILE)"));
  }
  return As<Opened>(Store::Open(options));
}

}  // namespace

extern const Openers kZookeeperOpeners = {
    .segments = Open<std::shared_ptr<SegmentStore>, ZookeeperSegmentStore>,
    .leases = Open<std::shared_ptr<WorkerLeaseStore>, ZookeeperWorkerLeaseStore>,
};

}  // namespace locus::internal
