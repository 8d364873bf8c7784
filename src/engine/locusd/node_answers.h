// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_NODE_ANSWERS_H_
#define LOCUS_SRC_ENGINE_LOCUSD_NODE_ANSWERS_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "locus/engine/locusd_cluster.h"

namespace locus::locusd {

// The longest answer to GET /v1/status.
inline constexpr size_t kMostStatus = size_t{64} << 10;

// Reads the answer to GET /v1/status; unknown members are skipped, because newer nodes may have
// more. DATA_LOSS, naming the impossible value. All texts in the result are printable, and all
// addresses are host:port.
absl::StatusOr<LocusdNode> ParseNode(std::string_view body);

// Reads the answer to GET /v1/time and POST /v1/time:advance. DATA_LOSS.
absl::StatusOr<LocusdTime> ParseTime(std::string_view body);

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_NODE_ANSWERS_H_
