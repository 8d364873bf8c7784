// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_LISTING_QUERY_H_
#define LOCUS_SRC_CLUSTER_API_LISTING_QUERY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/space.h"

namespace locus::cluster_api {

// Leases in one answer to GET /v1/leases: a megabyte, where their holders are long.
inline constexpr size_t kMostListed = 1024;

// The query of GET /v1/leases: "space=S[&from=WORKER][&limit=N]", its members in any order.
struct ListingQuery {
  SpaceName space;
  uint64_t from = 0;  // the least worker ID that may be listed
  size_t limit = kMostListed;
};

// INVALID_ARGUMENT: a member is unknown, missing, given twice or outside its limits.
absl::StatusOr<ListingQuery> ParseListingQuery(std::string_view query);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_LISTING_QUERY_H_
