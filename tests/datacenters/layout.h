// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_DATACENTERS_LAYOUT_H_
#define LOCUS_TESTS_DATACENTERS_LAYOUT_H_

#include <array>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/open.h"
#include "locus/segment_store_set.h"
#include "locus/shard_gene.h"

namespace locus::datacenters {

// The topology of docs/run/datacenters.md: the lower half of the ring is at home in datacenter 0,
// the upper half in datacenter 1.
inline constexpr uint32_t kFirstVnodeOf1 = ShardGene::kCount / 2;
inline constexpr absl::Duration kTtl = absl::Seconds(10);

inline uint64_t DatacenterOf(ShardGene gene) { return gene.value() < kFirstVnodeOf1 ? 0 : 1; }

// The stores of both; no call of one is made yet.
inline absl::StatusOr<SegmentStoreSet> StoresAt(const std::array<std::string, 2>& uris) {
  const uint16_t last_section_of_0 = kFirstVnodeOf1 / SpaceOptions().section_size - 1;
  const uint16_t last_section_of_1 = ShardGene::kCount / SpaceOptions().section_size - 1;
  std::vector<SegmentStoreSet::Member> members;
  for (size_t i = 0; i < uris.size(); ++i) {
    auto store = OpenSegmentStore(uris[i]);
    if (!store.ok()) return store.status();
    members.push_back({i == 0 ? last_section_of_0 : last_section_of_1, *std::move(store),
                       i == 0 ? "east" : "west"});
  }
  return SegmentStoreSet::Create(std::move(members));
}

}  // namespace locus::datacenters

#endif  // LOCUS_TESTS_DATACENTERS_LAYOUT_H_
