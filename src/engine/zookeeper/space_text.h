// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ZOOKEEPER_SPACE_TEXT_H_
#define LOCUS_SRC_ENGINE_ZOOKEEPER_SPACE_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/segment/plan.h"

// The values of the znodes of a space of sequences, after the schema version.

namespace locus::zookeeper {

// "256 1672531200000000000 16384 16777216 BASE LOSSES": section size, floor epoch in ns since 1970,
// floor rate, max_lead, base and losses, decimal.
std::string TextOf(const segment::Space& space);
// nullopt: it cannot be.
std::optional<segment::Space> SpaceOf(std::string_view text);

struct SectionRow {
  uint64_t head = 0;  // 0: never allocated
  absl::Time granted_at = absl::UnixEpoch();
};

// Neighbouring sections share a znode: an allocation of all sections has to fit into one
// transaction of less than 1 MiB, ZooKeeper's jute.maxbuffer. At most 64 groups.
uint32_t SectionsPerGroup(const SpaceOptions& options);

// 14 bytes a row, big-endian: head in 8, the time of the grant in ms since 1970 in 6.
std::string TextOf(const std::vector<SectionRow>& rows);
// An empty text gives `count` rows that never allocated. nullopt: there are not `count` valid rows.
std::optional<std::vector<SectionRow>> RowsOf(std::string_view text, uint32_t count);

}  // namespace locus::zookeeper

#endif  // LOCUS_SRC_ENGINE_ZOOKEEPER_SPACE_TEXT_H_
