// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_
#define LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_table.h"
#include "locus/routing/routing_table.h"

// What the verbs that work on a place of routing tables have in common.
namespace locus::cli {

// A place that a verb works on. Both Opens complain and answer an exit code where they fail: wrong
// usage where the URI is at fault.
class TablePlace {
 public:
  explicit TablePlace(std::string_view verb) : verb_(verb) {}

  std::optional<int> OpenPublisher(const TableUri& uri);
  // For reading: also a place that can be followed only.
  std::optional<int> OpenToRead(const TableUri& uri);

  TablePublisher& publisher() { return *publisher_; }
  // The newest table.
  absl::StatusOr<RoutingTable> Newest();

 private:
  const std::string verb_;
  std::unique_ptr<TablePublisher> publisher_;
  std::unique_ptr<TableSource> source_;  // where there is no publisher
};

// The newest table of a place, also of one that can be followed only.
absl::StatusOr<RoutingTable> NewestAt(const TableUri& uri);

// `text`, escaped where the locale of stdout shows plain characters only.
std::string ForStdout(const std::string& text);

// Declares an option or operand that is an epoch, least..RoutingTable::kMaxEpoch.
template <typename Target>
Option& EpochOption(VerbLine& line, const std::string& spec, Target* epoch, uint64_t least,
                    const std::string& help) {
  return line
      .Number(spec, epoch, {.least = least, .most = RoutingTable::kMaxEpoch, .what = "an epoch"},
              help)
      .Default("");
}

// The exit code for what opening a place said: INVALID_ARGUMENT came from the URI or the
// environment.
int FailToOpen(std::string_view verb, const absl::Status& status);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_TABLE_TABLE_PLACE_H_
