// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_WORKER_BLOCKS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_WORKER_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/time/time.h"
#include "locus/worker_lease_store.h"
#include "src/worker/worker_rules.h"

namespace locus::cluster_machine {

// Finds a free worker ID of a space without reading all that are taken: 256 neighbours are a block,
// which knows how many of them were ever granted, how many have a holder, and a time before which
// none of them is free. The answers are those of worker::FindFree over all records, whatever was
// asked before; only the cost depends on earlier calls.
//
// Report every change of a record by Changed. `scan` must read the current records.
// Thread safety: none. Cost: a call of FirstFree or In looks at each block of the range, and reads
// those that may have a free ID, or the next that is.
class WorkerBlocks {
 public:
  // `before` nullptr: the ID was never granted.
  void Changed(const WorkerRecord* before, const WorkerRecord& now);

  // The first of first..last that was never granted or whose ceiling is before `now`.
  std::optional<uint64_t> FirstFree(uint64_t first, uint64_t last, absl::Time now,
                                    const worker::Scan& scan);

  struct Taken {
    uint64_t held = 0;                              // IDs with a holder
    absl::Time next_free = absl::InfiniteFuture();  // the least ceiling
  };
  Taken In(uint64_t first, uint64_t last, const worker::Scan& scan);

 private:
  static constexpr uint64_t kWidth = 256;
  struct Block {
    uint64_t granted = 0;
    uint64_t held = 0;
    // Invariant: at most the least ceiling of its records; equal to it if `exact`.
    absl::Time bound = absl::InfiniteFuture();
    bool exact = true;
  };
  static Taken Read(uint64_t first, uint64_t last, const worker::Scan& scan);
  static void MakeExact(uint64_t number, Block& block, const worker::Scan& scan);

  std::map<uint64_t, Block> blocks_;  // by worker / kWidth; each has a record
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_WORKER_BLOCKS_H_
