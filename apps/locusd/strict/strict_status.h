// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_STATUS_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_STATUS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "apps/locusd/strict/strict_news.h"
#include "apps/locusd/strict/strict_table.h"
#include "locus/space.h"
#include "locus/strict_store.h"

namespace locus::locusd {

// What one node knows of its set and of the other nodes, for operators. A value.
struct StrictStatus {
  // So many ranges of sections are listed of one node at most.
  static constexpr size_t kMostRanges = 256;

  SpaceName set;
  StrictSetOptions options;
  StrictPeer self;
  std::vector<StrictPeer> live;  // other nodes that are heard
  std::shared_ptr<const StrictTable> table;
  bool open = false;  // the set
  bool takes = true;  // StrictNode::takes
  // Of the last read of the store; nullopt: there was none.
  std::optional<uint64_t> losses;
  std::optional<absl::Duration> looked;  // how long ago
  absl::Duration rests;                  // until the store grants again; 0: it grants
  std::optional<absl::Duration> left;    // of the first lease of this node; nullopt: it has none
  std::map<uint32_t, uint64_t> loads;    // numbers a second, of sections whose owner told them
  // Sections that were handed over and not taken yet, by the name of whom they are for.
  std::map<uint32_t, std::string> moving;
};

// The body of GET /v1/strict/status. Nodes are ascending by name: this one, those that are heard,
// and those that the table names. Cost: looks at each section of the set.
std::string ToJson(const StrictStatus& status);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_STATUS_H_
