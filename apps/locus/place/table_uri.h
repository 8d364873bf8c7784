// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_PLACE_TABLE_URI_H_
#define LOCUS_APPS_LOCUS_PLACE_TABLE_URI_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locus/place/store_uri.h"

namespace locus {

// Where routing tables are followed and published:
//
//   file:PATH                                         PATH is all after the colon, as it stands
//   etcd://[user@]host[:2379][,host...][/prefix]      as of a store
//   mysql://[user@]host[:3306][,host...]/database
//   http://host[:port]/path, https://...              to be followed only
struct TableUri {
  enum class Kind { kFile, kEtcd, kMysql, kHttp };

  Kind kind = Kind::kFile;
  std::string text;  // a path (kFile) or a URL (kHttp)
  StoreUri server;   // kEtcd, kMysql

  // INVALID_ARGUMENT, as StoreUri::Parse.
  static absl::StatusOr<TableUri> Parse(std::string_view text);
  // Whether `text` is meant as a URI, right or wrong, where a file may be named too.
  static bool IsMeant(std::string_view text);
};

// For helps.
inline constexpr char kTableUriHelp[] =
    "file:PATH, etcd://H1:P1,H2:P2/PREFIX, mysql://USER@HOST:PORT/DB or, read only, http(s)://...";

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_PLACE_TABLE_URI_H_
