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
// Your service names one of them in its configuration. `password`: of the user; by http a bearer
// token. Errors of locus::OpenTableSource.
absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenTableSource(const std::string& place,
                                                                    const std::string& password);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_TABLE_PLACE_H_
