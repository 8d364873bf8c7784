// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_LISTING_H_
#define LOCUS_SRC_CLUSTER_API_LISTING_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/cluster/api/bodies.h"
#include "src/cluster/api/call.h"

namespace locus::cluster_api {

// One has megabytes, where holders are long or a strict set is large, and is kept while its client
// reads it.
inline constexpr size_t kMostListings = 32;

// A listing of leases or of a strict set until it is sent.
struct Listing {
  explicit Listing(std::shared_ptr<Traffic> of) : traffic(std::move(of)) {}
  ~Listing() { --traffic->listings; }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  const std::shared_ptr<Traffic> traffic;
  const size_t others = traffic->listings++;
  ViewPage page;  // of leases
};
using ListingPtr = std::shared_ptr<Listing>;

inline absl::StatusOr<ListingPtr> NewListing(const std::shared_ptr<Traffic>& traffic) {
  auto listing = std::make_shared<Listing>(traffic);
  if (listing->others < kMostListings) return listing;
  return absl::UnavailableError(
      absl::StrCat("this node has ", kMostListings, " listings under way, which is the most"));
}

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_LISTING_H_
