// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_NAMED_CHANGES_H_
#define LOCUS_APPS_LOCUS_TABLE_NAMED_CHANGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locus/line/verb_line.h"
#include "locus/routing/table_publisher.h"

namespace locus::cli {

// The guarded changes that a command line names: --change-move, --change-owner, --drop-shard,
// --change-shard and --jump-to.
class NamedChanges {
 public:
  void Declare(VerbLine& line);
  // INVALID_ARGUMENT, naming the option: a span is none. After VerbLine::Parse.
  absl::Status Read();

  // The place is named as spoiled (GuardedChanges::spoiled).
  void NameSpoiled() { changes_.spoiled = true; }

  // Shards are named by their names in the newest table. INVALID_ARGUMENT: it has no such shard.
  absl::StatusOr<GuardedChanges> Resolve(const RoutingTable* newest) const;

 private:
  std::vector<std::string> moves_, owners_, shards_, changed_shards_;
  GuardedChanges changes_;  // without the shards
};

// "; to publish it nevertheless, add: --change-move 0..255": the options that would name the
// guarded changes of `table` that `named` leaves out; empty where there are none, or too many to
// name.
std::string FlagsThatAreMissing(const PublishedState& state, const RoutingTable& table,
                                const GuardedChanges& named);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_TABLE_NAMED_CHANGES_H_
