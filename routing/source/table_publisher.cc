// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/table_publisher.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/routing/table_change.h"
#include "src/base/check.h"

namespace locus {

absl::StatusOr<uint64_t> NextEpoch(TablePublisher& publisher, uint64_t newest) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<PublishedEpoch> epochs, publisher.History(1));
  const uint64_t highest = epochs.empty() ? newest : std::max(newest, epochs[0].epoch);
  if (highest < RoutingTable::kMaxEpoch) return highest + 1;
  return absl::OutOfRangeError(
      absl::StrCat(publisher.place(), ": epoch ", highest, " is the last one that there is"));
}

absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch) {
  LOCUS_ASSIGN_OR_RETURN(RoutingTable kept, publisher.Fetch(epoch));
  absl::StatusOr<RoutingTable> newest = publisher.Current();
  if (!newest.ok() && !absl::IsNotFound(newest.status())) return newest.status();
  const uint64_t expected = newest.ok() ? newest->epoch() : 0;
  LOCUS_ASSIGN_OR_RETURN(uint64_t next, NextEpoch(publisher, expected));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable restored, WithEpoch(kept, next));
  LOCUS_RETURN_IF_ERROR(publisher.Publish(restored, expected));
  return restored;
}

}  // namespace locus
