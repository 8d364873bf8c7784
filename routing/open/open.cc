// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/open.h"

#include "absl/strings/str_cat.h"
#include "routing/open/tables.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/open/password.h"

namespace locus {

using internal::TableUri;

namespace {

// A file is opened without a password. An engine that this build leaves out asks for none.
absl::StatusOr<std::string_view> PasswordOf(const TableUri& uri, const TableUriOptions& options) {
  LOCUS_RETURN_IF_ERROR(internal::CheckBuilt(uri));
  if (uri.IsFile()) return std::string_view();
  return internal::Ask(options.password);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(std::string_view uri_text,
                                                             const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const TableUri uri, TableUri::Parse(uri_text));
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, options));
  return internal::TablesOf(*uri.engine)->source(uri, password);
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(std::string_view uri_text,
                                                                   const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const TableUri uri, TableUri::Parse(uri_text));
  if (uri.IsReadOnly()) {
    return absl::InvalidArgumentError(
        absl::StrCat(internal::Quoted(uri.text),
                     " can only be followed; publish, and read earlier tables, at the place from "
                     "which the server gets its document"));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, options));
  return internal::TablesOf(*uri.engine)->publisher(uri, password);
}

absl::Status CreateTablePlace(std::string_view uri_text, const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const TableUri uri, TableUri::Parse(uri_text));
  const internal::TableOpeners* const tables = internal::TablesOf(*uri.engine);
  if (tables == nullptr || tables->create == nullptr) {
    return OpenTablePublisher(uri_text, options).status();
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, options));
  return tables->create(uri, password);
}

}  // namespace locus
