// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_TABLE_URI_H_
#define LOCUS_ROUTING_URI_TABLE_URI_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "routing/uri/store_uri.h"

namespace locus::internal {

// Where routing tables are followed and published (locus/routing/uri.h).
struct TableUri {
  enum class Kind { kFile, kEtcd, kMysql, kHttp };

  Kind kind = Kind::kFile;
  std::string text;  // as it was written; of kHttp the URL
  std::string path;  // of kFile
  StoreUri server;   // kEtcd, kMysql

  // INVALID_ARGUMENT, as StoreUri::Parse.
  static absl::StatusOr<TableUri> Parse(std::string_view text);
  // Where a file or a URI may be named: whether `text` looks like a URI, even a wrong one.
  static bool IsMeant(std::string_view text);
};

// For helps.
inline constexpr char kTableUriHelp[] =
    "file:PATH, etcd://H1:P1,H2:P2/PREFIX, mysql://USER@HOST:PORT/DB or, read only, http(s)://...";

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_URI_TABLE_URI_H_
