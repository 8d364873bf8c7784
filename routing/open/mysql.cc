// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/mysql.h"

#include "routing/open/tables.h"
#include "src/open/fill.h"
#include "src/open/opened.h"

namespace locus::internal {
namespace {

template <typename Opened, typename Place>
absl::StatusOr<Opened> Open(const TableUri& uri, std::string_view password) {
  MysqlTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri.server, password, options.mariadb);
  return As<Opened>(Place::Open(options));
}

absl::Status Create(const TableUri& uri, std::string_view password) {
  MysqlTableOptions options;
  Wiped wiped(options.mariadb.password);
  Fill(uri.server, password, options.mariadb);
  return MysqlTablePublisher::CreateSchema(options);
}

}  // namespace

extern const TableOpeners kMysqlTables = {
    .source = Open<std::unique_ptr<TableSource>, MysqlTableSource>,
    .publisher = Open<std::unique_ptr<TablePublisher>, MysqlTablePublisher>,
    .create = Create,
};

}  // namespace locus::internal
