// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/open_table.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/place/server_options.h"
#include "locus/routing/engine/etcd.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/engine/mariadb.h"
#include "locus/routing/file_table.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

using Kind = TableUri::Kind;

// A copy of a password, wiped with the object.
class Wiped {
 public:
  explicit Wiped(std::string& text) : text_(text) {}
  ~Wiped() { OPENSSL_cleanse(text_.data(), text_.size()); }
  Wiped(const Wiped&) = delete;
  Wiped& operator=(const Wiped&) = delete;

 private:
  std::string& text_;
};

template <typename Interface, typename Place>
absl::StatusOr<std::unique_ptr<Interface>> As(absl::StatusOr<std::unique_ptr<Place>> place) {
  if (!place.ok()) return place.status();
  return std::unique_ptr<Interface>(*std::move(place));
}

// Calls Place::Open with the options of an engine.
template <typename Interface, typename Place, typename TableOptions, typename Options>
absl::StatusOr<std::unique_ptr<Interface>> OpenAt(const StoreUri& uri,
                                                  Options TableOptions::*server_options) {
  Secretive<Options> server;
  LOCUS_RETURN_IF_ERROR(Fill(uri, server));
  TableOptions options;
  options.*server_options = server.options;
  Wiped password((options.*server_options).password);
  return As<Interface>(Place::Open(options));
}

absl::StatusOr<std::unique_ptr<TableSource>> OpenHttp(const std::string& url) {
  HttpTableOptions options;
  options.url = url;
  Wiped token(options.token);
  LOCUS_ASSIGN_OR_RETURN(std::string_view password, Password(PasswordFor::kStore));
  options.token = password;
  return As<TableSource>(HttpTableSource::Open(options));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(const TableUri& uri) {
  switch (uri.kind) {
    case Kind::kFile:
      return As<TableSource>(FileTableSource::Open(uri.text));
    case Kind::kEtcd:
      return OpenAt<TableSource, EtcdTableSource>(uri.server, &EtcdTableOptions::etcd);
    case Kind::kMysql:
      return OpenAt<TableSource, MariadbTableSource>(uri.server, &MariadbTableOptions::mariadb);
    case Kind::kHttp:
      return OpenHttp(uri.text);
  }
  LOCUS_CHECK(false);
}

absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(const TableUri& uri) {
  switch (uri.kind) {
    case Kind::kFile:
      return As<TablePublisher>(FileTablePublisher::Open(uri.text));
    case Kind::kEtcd:
      return OpenAt<TablePublisher, EtcdTablePublisher>(uri.server, &EtcdTableOptions::etcd);
    case Kind::kMysql:
      return OpenAt<TablePublisher, MariadbTablePublisher>(uri.server,
                                                           &MariadbTableOptions::mariadb);
    case Kind::kHttp:
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(uri.text),
                       " can be followed only; publish, and look for earlier tables, where the "
                       "server has its document from"));
  }
  LOCUS_CHECK(false);
}

absl::Status InitTablePlace(const TableUri& uri) {
  if (uri.kind != Kind::kMysql) return OpenTablePublisher(uri).status();
  Secretive<MariadbOptions> server;
  LOCUS_RETURN_IF_ERROR(Fill(uri.server, server));
  MariadbTableOptions options;
  options.mariadb = server.options;
  Wiped password(options.mariadb.password);
  return MariadbTablePublisher::CreateSchema(options);
}

}  // namespace locus
