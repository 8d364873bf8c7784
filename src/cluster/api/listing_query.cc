// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/listing_query.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "locus/worker_lease_store.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cluster_api {
namespace {

using internal::ParseDecimal;
using internal::Quoted;

// The members' texts, exactly as sent.
struct Texts {
  std::optional<std::string_view> space, from, limit;

  std::optional<std::string_view>* Find(std::string_view name) {
    if (name == "space") return &space;
    if (name == "from") return &from;
    return name == "limit" ? &limit : nullptr;
  }
};

absl::StatusOr<Texts> Split(std::string_view query) {
  Texts texts;
  while (!query.empty()) {
    const std::string_view member = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), member.size() + 1));
    const size_t equals = std::min(member.find('='), member.size());
    std::optional<std::string_view>* text = texts.Find(member.substr(0, equals));
    if (text == nullptr || equals == member.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(member), " is none of ?space=NAME, from=WORKER and limit=N"));
    }
    if (*text) return absl::InvalidArgumentError(absl::StrCat(Quoted(member), ": given twice"));
    *text = member.substr(equals + 1);
  }
  return texts;
}

}  // namespace

absl::StatusOr<ListingQuery> ParseListingQuery(std::string_view query) {
  LOCUS_ASSIGN_OR_RETURN(const Texts texts, Split(query));
  if (!texts.space) return absl::InvalidArgumentError("?space=NAME is missing");
  ListingQuery listing;
  LOCUS_ASSIGN_OR_RETURN(listing.space, SpaceName::Parse(*texts.space));
  if (texts.from) {
    const std::optional<uint64_t> from = ParseDecimal(*texts.from, kMostWorker);
    if (!from) {
      return absl::InvalidArgumentError(
          absl::StrCat("from=", Quoted(*texts.from), " is no worker ID of 0 to ", kMostWorker));
    }
    listing.from = *from;
  }
  if (texts.limit) {
    const std::optional<uint64_t> limit = ParseDecimal(*texts.limit, kMostListed);
    if (!limit || *limit == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("limit=", Quoted(*texts.limit), " is no number of 1 to ", kMostListed));
    }
    listing.limit = *limit;
  }
  return listing;
}

}  // namespace locus::cluster_api
