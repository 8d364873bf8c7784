// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/etcd.h"

#include "routing/open/tables.h"
#include "src/base/os/check.h"
#include "src/open/fill.h"
#include "src/open/opened.h"

namespace locus::internal {
namespace {

template <typename Opened, typename Place>
absl::StatusOr<Opened> Open(const TableUri& uri, std::string_view password) {
  EtcdTableOptions options;
  Wiped wiped(options.etcd.password);
  LOCUS_RETURN_IF_ERROR(Fill(uri.server, password, options.etcd));
  return As<Opened>(Place::Open(options));
}

}  // namespace

extern const TableOpeners kEtcdTables = {
    .source = Open<std::unique_ptr<TableSource>, EtcdTableSource>,
    .publisher = Open<std::unique_ptr<TablePublisher>, EtcdTablePublisher>,
};

}  // namespace locus::internal
