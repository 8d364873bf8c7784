// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "locus/routing/file_table.h"
#include "locus/routing/uri.h"
#include "routing/uri/engines.h"
#include "routing/uri/opened.h"
#include "routing/uri/password.h"
#include "routing/uri/table_uri.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {

using internal::Quoted;

namespace {

using Kind = internal::TableUri::Kind;

}  // namespace

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(std::string_view uri_text,
                                                             const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::TableUri uri, internal::TableUri::Parse(uri_text));
  if (uri.kind == Kind::kFile) {
    return internal::As<std::unique_ptr<TableSource>>(FileTableSource::Open(uri.path));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  switch (uri.kind) {
    case Kind::kFile:
      break;
    case Kind::kEtcd:
      return internal::OpenEtcdSource(uri.server, password);
    case Kind::kMysql:
      return internal::OpenMysqlSource(uri.server, password);
    case Kind::kHttp:
      return internal::OpenHttpSource(uri.text, password);
  }
  LOCUS_UNREACHABLE();
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(std::string_view uri_text,
                                                                   const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::TableUri uri, internal::TableUri::Parse(uri_text));
  if (uri.kind == Kind::kFile) {
    return internal::As<std::unique_ptr<TablePublisher>>(FileTablePublisher::Open(uri.path));
  }
  if (uri.kind == Kind::kHttp) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(uri.text),
                     " can only be followed; publish, and read earlier tables, at the place from "
                     "which the server gets its document"));
  }
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  return uri.kind == Kind::kEtcd ? internal::OpenEtcdPublisher(uri.server, password)
                                 : internal::OpenMysqlPublisher(uri.server, password);
}

absl::Status CreateTablePlace(std::string_view uri_text, const TableUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(internal::TableUri uri, internal::TableUri::Parse(uri_text));
  if (uri.kind != Kind::kMysql) return OpenTablePublisher(uri_text, options).status();
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, internal::Ask(options.password));
  return internal::CreateMysqlTablePlace(uri.server, password);
}

}  // namespace locus
