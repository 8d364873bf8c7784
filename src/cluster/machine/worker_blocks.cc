// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/worker_blocks.h"

#include <algorithm>

#include "src/base/os/check.h"

namespace locus::cluster_machine {

void WorkerBlocks::Changed(const WorkerRecord* before, const WorkerRecord& now) {
  Block& block = blocks_[now.worker / kWidth];
  if (before == nullptr) {
    ++block.granted;
  } else {
    if (!before->nonce.empty()) --block.held;
    // It may have been the least one.
    if (now.ceiling > before->ceiling && before->ceiling == block.bound) block.exact = false;
  }
  if (!now.nonce.empty()) ++block.held;
  if (now.ceiling <= block.bound) {
    block.bound = now.ceiling;
    block.exact = true;
  }
}

std::optional<uint64_t> WorkerBlocks::FirstFree(uint64_t first, uint64_t last, absl::Time now,
                                                const worker::Scan& scan) {
  for (uint64_t from = first; from <= last; from = (from / kWidth + 1) * kWidth) {
    const auto found = blocks_.find(from / kWidth);
    if (found == blocks_.end()) return from;
    Block& block = found->second;
    if (block.granted == kWidth && !block.exact && block.bound < now) {
      MakeExact(found->first, block, scan);
    }
    if (block.granted == kWidth && block.bound >= now) continue;
    const uint64_t to = std::min(last, found->first * kWidth + kWidth - 1);
    uint64_t next = from;
    const absl::Status status = scan(from, to, [&](const WorkerRecord& record) {
      if (record.worker > next || record.ceiling < now) return false;
      ++next;
      return true;
    });
    LOCUS_CHECK(status.ok());
    if (next <= to) return next;
  }
  return std::nullopt;
}

WorkerBlocks::Taken WorkerBlocks::In(uint64_t first, uint64_t last, const worker::Scan& scan) {
  Taken taken;
  auto add = [&taken](const Taken& part) {
    taken.held += part.held;
    taken.next_free = std::min(taken.next_free, part.next_free);
  };
  // Partial blocks at both ends are read one by one.
  const uint64_t inner = std::min(last + 1, (first + kWidth - 1) / kWidth * kWidth);
  if (first < inner) add(Read(first, inner - 1, scan));
  const uint64_t outer = std::max(inner, (last + 1) / kWidth * kWidth);
  if (outer <= last) add(Read(outer, last, scan));
  for (auto at = blocks_.lower_bound(inner / kWidth);
       at != blocks_.end() && at->first < outer / kWidth; ++at) {
    auto& [number, block] = *at;
    taken.held += block.held;
    if (block.bound >= taken.next_free) continue;
    if (!block.exact) MakeExact(number, block, scan);
    taken.next_free = std::min(taken.next_free, block.bound);
  }
  return taken;
}

WorkerBlocks::Taken WorkerBlocks::Read(uint64_t first, uint64_t last, const worker::Scan& scan) {
  Taken taken;
  const absl::Status status = scan(first, last, [&taken](const WorkerRecord& record) {
    taken.held += record.nonce.empty() ? 0 : 1;
    taken.next_free = std::min(taken.next_free, record.ceiling);
    return true;
  });
  LOCUS_CHECK(status.ok());
  return taken;
}

void WorkerBlocks::MakeExact(uint64_t number, Block& block, const worker::Scan& scan) {
  block.bound = Read(number * kWidth, number * kWidth + kWidth - 1, scan).next_free;
  block.exact = true;
}

}  // namespace locus::cluster_machine
