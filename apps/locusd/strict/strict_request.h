// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_REQUEST_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/strict_store.h"

// The bodies of requests to a sequence-node. Errors of all: INVALID_ARGUMENT; the message names the
// member, its value and the limit.
namespace locus::locusd {

// POST /v1/strict/next: {"uids": ["7", ...]} or {"texts": ["alice", ...]}, and "count".
struct StrictNextRequest {
  // So many numbers at most.
  static constexpr size_t kMost = 10'000;
  static constexpr size_t kMostTextBytes = 1024;

  // One for each number: each key `count` times in a row. All are of the set.
  std::vector<uint64_t> uids;
};
absl::StatusOr<StrictNextRequest> ParseStrictNext(std::string_view body,
                                                  const StrictSetOptions& options);

// POST /v1/strict/sections:take and :hand_over: {"sections": ["0-99", "200"], "to": "node-2"}.
struct StrictSectionsRequest {
  std::optional<std::vector<uint32_t>> sections;  // ascending, each once; nullopt: not given
  std::string to;                                 // empty: not given
};
// `with_to`: whether there may be a "to".
absl::StatusOr<StrictSectionsRequest> ParseStrictSections(std::string_view body,
                                                          const StrictSetOptions& options,
                                                          bool with_to);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_REQUEST_H_
