// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_DAO_TABLE_PLACE_H_
#define LOCUS_EXAMPLES_ORDER_DAO_TABLE_PLACE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "locus/routing/table_source.h"

namespace shop {

// Where the routing table comes from:
//
//   FILE, file:FILE
//   etcd://[user@]host:port[,host:port...][/prefix]
//   mysql://user@host[:3306]/database
//   http://host[:port]/path, https://...
//
// `password` is the user's; for http a bearer token. INVALID_ARGUMENT: `place` has none of these
// forms. Otherwise the errors of opening the source.
absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenTableSource(const std::string& place,
                                                                    const std::string& password);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_TABLE_PLACE_H_
