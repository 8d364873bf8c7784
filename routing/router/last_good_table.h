// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_
#define LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

// The last good table of a Router in a local file: one header line
//
//   locus last good table 1 xxh64=<16 hex digits> bytes=<decimal>
//
// then the document, of so many bytes and this XXH64 (seed 0). Whatever differs is damage, but for
// a number above 1 in the place of the 1: a later format.

namespace locus {

std::string LastGoodText(const RoutingTable& table);
// DATA_LOSS, saying what is wrong. FAILED_PRECONDITION: it is of a later format.
absl::StatusOr<RoutingTable> ParseLastGoodText(std::string_view text);

// NOT_FOUND: there is no file. DATA_LOSS: it is damaged. UNAVAILABLE, FAILED_PRECONDITION: it
// cannot be read, the latter also where it is of a later format. Messages name the file.
absl::StatusOr<RoutingTable> ReadLastGoodTable(const std::string& path);
// Whole or not at all, durable on return; mode 0644 less the umask. As ReplaceFile.
absl::Status WriteLastGoodTable(const std::string& path, const RoutingTable& table);

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_
