// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_
#define LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locus/place/open_table.h"
#include "locus/routing/routing_table.h"

// What the verbs that work on a place of routing tables have in common.
namespace locus {

// A place as the command line names it. Either answers the exit code after it complained: wrong
// usage for what is wrong in the URI, or cannot be done with it.
class TablePlace {
 public:
  explicit TablePlace(std::string_view verb) : verb_(verb) {}

  std::optional<int> OpenPublisher(const std::string& uri_text);
  // For reading: also a place that can be followed only.
  std::optional<int> OpenToRead(const std::string& uri_text);

  TablePublisher& publisher() { return *publisher_; }
  // The newest table.
  absl::StatusOr<RoutingTable> Newest();

 private:
  const std::string verb_;
  std::unique_ptr<TablePublisher> publisher_;
  std::unique_ptr<TableSource> source_;  // where there is no publisher
};

// 1..RoutingTable::kMaxEpoch, or from `least`. INVALID_ARGUMENT, naming `what` it was read from.
absl::StatusOr<uint64_t> ParseEpoch(std::string_view what, std::string_view text,
                                    uint64_t least = 1);

// The exit code for what opening a place said: INVALID_ARGUMENT came from the URI or the
// environment.
int FailToOpen(std::string_view verb, const absl::Status& status);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_
