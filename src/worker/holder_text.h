// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_WORKER_HOLDER_TEXT_H_
#define LOCUS_SRC_WORKER_HOLDER_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace locus::worker {

// This process as `locus lease list` shows it: a JSON object of its host name, process ID, version
// of locus and, if it has one, datacenter.
std::string HolderOfThisProcess(std::optional<uint64_t> datacenter = std::nullopt);
// The same for a host of this name.
std::string HolderText(std::string_view host, int64_t pid, std::string_view version,
                       std::optional<uint64_t> datacenter);

}  // namespace locus::worker

#endif  // LOCUS_SRC_WORKER_HOLDER_TEXT_H_
