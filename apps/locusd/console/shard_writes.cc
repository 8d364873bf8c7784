// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/shard_writes.h"

namespace locus::locusd {

bool WriteWindow::IsDue(absl::Duration steady) const {
  return counts_.empty() || steady - counts_.back().first >= kStep;
}

void WriteWindow::Add(std::map<uint32_t, uint64_t> counts, absl::Duration steady) {
  counts_.emplace_back(steady, std::move(counts));
  // Counts are taken only while somebody looks. Those from an earlier look are not used: they say
  // nothing of the last minutes.
  while (steady - counts_.front().first > kWindow) counts_.pop_front();
}

ShardWrites WriteWindow::Rates() const {
  ShardWrites writes;
  if (counts_.size() < 2) return writes;
  const auto& [begin, before] = counts_.front();
  const auto& [end, now] = counts_.back();
  writes.window = end - begin;
  for (const auto& [shard, count] : now) {
    const auto first = before.find(shard);
    if (first == before.end() || count < first->second) continue;
    writes.per_second[shard] =
        static_cast<double>(count - first->second) / absl::ToDoubleSeconds(writes.window);
  }
  return writes;
}

}  // namespace locus::locusd
