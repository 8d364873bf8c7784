// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_MOVE_LOOK_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_MOVE_LOOK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "apps/locusd/console/shard_writes.h"
#include "locus/routing/routing_table.h"

namespace locus::locusd {

// What the shards say of their load, and of the moves of a move file.
// Thread safety: none.
class MoveLook {
 public:
  struct Seen {
    // JSON: an array of `MoveStatus` of web/src/api.ts.
    std::string moves = "[]";
    ShardWrites writes;  // of all shards of the table
    // Of shards that did not answer, whose moves may be missing; "": none.
    std::string unheard;
  };

  // Connects nothing. FAILED_PRECONDITION: this build has no MariaDB. Errors of the file.
  static absl::StatusOr<std::unique_ptr<MoveLook>> Open(const std::string& file);
  virtual ~MoveLook() = default;

  // Asks the shards of the table; takes as long as the move file's timeouts allow. The file is read
  // each time. Without any move: an empty array. Errors of the file, and those of
  // mysql::MoveControl::View.
  virtual absl::StatusOr<Seen> Look(const RoutingTable& table) = 0;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_MOVE_LOOK_H_
