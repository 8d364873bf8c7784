// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/open_table.h"

#include "apps/locus/place/password.h"
#include "locus/routing/open.h"

namespace locus::cli {
namespace {

TableUriOptions WithPassword() { return {.password = AskFor(PasswordFor::kTable)}; }

}  // namespace

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(const TableUri& uri) {
  return OpenTableSource(uri.text, WithPassword());
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(const TableUri& uri) {
  return OpenTablePublisher(uri.text, WithPassword());
}

absl::Status InitTablePlace(const TableUri& uri) {
  return CreateTablePlace(uri.text, WithPassword());
}

}  // namespace locus::cli
