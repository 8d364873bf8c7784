// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_STRICT_STRICT_ANSWERS_H_
#define LOCUS_SRC_ENGINE_LOCUSD_STRICT_STRICT_ANSWERS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/strict_store.h"

// Reads the answers of sequence-nodes. DATA_LOSS, in all of them: no sequence-node sends this.
namespace locus::locusd {

struct StrictTableAnswer {
  StrictSetOptions options;
  uint64_t version = 0;
  std::vector<std::string> addresses;  // of the owners
  // Of neighbouring sections: `owner` is an index of addresses.
  struct Range {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t owner = 0;
  };
  std::vector<Range> ranges;
};
absl::StatusOr<StrictTableAnswer> ParseStrictTable(std::string_view body);

// Writes as many numbers as were asked for; answers the table's version.
absl::StatusOr<uint64_t> ParseStrictNumbers(std::string_view body, std::span<uint64_t> numbers);

struct StrictElsewhere {
  uint64_t version = 0;
  // With the addresses of their owners; "": none is known.
  std::vector<std::pair<uint32_t, std::string>> sections;
};
// `count`: of the set's sections.
absl::StatusOr<StrictElsewhere> ParseStrictElsewhere(std::string_view body, uint32_t count);

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_STRICT_STRICT_ANSWERS_H_
