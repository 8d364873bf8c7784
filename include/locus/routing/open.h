// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_OPEN_H_
#define LOCUS_ROUTING_OPEN_H_

#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/open.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

// Opens places of routing tables by URI: target locus::routing_open, which links every engine of
// this build.
//
//   file:PATH                                         a file that routers watch
//   mysql://..., etcd://...                           as in locus/open.h
//   http://host[:port]/path, https://...              to be followed only
//
// For settings that a URI cannot express, use the engine's own options (locus/routing/engine/).
// Errors, and what a password is: as in locus/open.h.
namespace locus {

struct TableUriOptions {
  AskPassword password = nullptr;
};
absl::StatusOr<std::unique_ptr<TableSource>> OpenTableSource(std::string_view uri,
                                                             const TableUriOptions& options = {});
absl::StatusOr<std::unique_ptr<TablePublisher>> OpenTablePublisher(
    std::string_view uri, const TableUriOptions& options = {});
// Prepares a place for its first publication: creates the tables of mysql. Other places need
// nothing.
absl::Status CreateTablePlace(std::string_view uri, const TableUriOptions& options = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_OPEN_H_
