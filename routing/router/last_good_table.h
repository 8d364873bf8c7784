// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_
#define LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/routing/routing_table.h"

// The last-good table of a Router in a local file: one header line
//
//   locus last good table 2 xxh64=<16 hex digits> bytes=<decimal> place=<text>
//
// then the document, of so many bytes. The place is TableSource::place of the source that gave the
// table, with C escapes for control characters; the XXH64 (seed 0) is that of the place as written,
// a newline and the document. Anything else is damage, but for two headers: format 1, written by
// earlier versions, has no place and its XXH64 is that of the document; a number above 2 is a later
// format.

namespace locus::internal {

struct LastGoodTable {
  std::string place;  // empty: the file is of format 1
  RoutingTable table;
};

std::string LastGoodText(std::string_view place, const RoutingTable& table);
// DATA_LOSS, saying what is wrong. FAILED_PRECONDITION: the file is of a later format.
absl::StatusOr<LastGoodTable> ParseLastGoodText(std::string_view text);

// NOT_FOUND: there is no file. DATA_LOSS: it is damaged. UNAVAILABLE, FAILED_PRECONDITION: it
// cannot be read, the latter also where it is of a later format. Messages name the file.
absl::StatusOr<LastGoodTable> ReadLastGoodTable(const std::string& path);
// Writes LastGoodText whole or not at all, durable on return; mode 0644 less the umask. Replaces an
// empty file and what begins like a last-good table. FAILED_PRECONDITION: anything else is there.
absl::Status WriteLastGoodTable(const std::string& path, std::string_view place,
                                const RoutingTable& table);

// OK: a router that follows the source at `place` may start from the file without asking the
// source. FAILED_PRECONDITION: it is of another place, or does not say of which.
absl::Status CheckLastGoodPlace(const std::string& path, const LastGoodTable& kept,
                                const std::string& place);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_LAST_GOOD_TABLE_H_
