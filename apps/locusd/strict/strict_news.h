// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_NEWS_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_NEWS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "src/http/api/members.h"

namespace locus::locusd {

// A node of a set.
struct StrictPeer {
  std::string name;
  std::string address;  // host:port of its API
  uint64_t weight = 0;  // 0: it takes no sections, as it ends or was told so
  friend bool operator==(const StrictPeer&, const StrictPeer&) = default;
};

// What two nodes tell each other: POST /v1/strict/nodes, and its answer.
struct StrictNews {
  StrictPeer self;
  std::string set;
  uint64_t table_version = 0;
  std::vector<StrictPeer> others;      // whom it heard of late
  bool wants_loads = false;            // of a request
  std::map<uint32_t, uint64_t> loads;  // of an answer: numbers a second of each section it has
};

// So many other nodes are read at most.
inline constexpr size_t kMostPeers = 256;

std::string ToJson(const StrictNews& news);
// INVALID_ARGUMENT: it is something else; the message names the member.
absl::StatusOr<StrictNews> ParseStrictNews(std::string_view body);

// The member "table_version" of an answer.
uint64_t TableVersionOf(cluster_api::Members& members);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_NEWS_H_
