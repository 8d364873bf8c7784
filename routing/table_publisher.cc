// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/table_publisher.h"

#include "absl/strings/str_cat.h"
#include "locus/routing/table_change.h"
#include "src/check.h"

namespace locus {

absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable kept, publisher.Fetch(epoch));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable newest, publisher.Current());
  if (newest.epoch() >= RoutingTable::kMaxEpoch) {
    return absl::OutOfRangeError(absl::StrCat(publisher.place(), ": epoch ", newest.epoch(),
                                              " is the last one that there is"));
  }
  LOCUS_ASSIGN_OR_RETURN(RoutingTable restored, WithEpoch(kept, newest.epoch() + 1));
  LOCUS_RETURN_IF_ERROR(publisher.Publish(restored, newest.epoch()));
  return restored;
}

}  // namespace locus
