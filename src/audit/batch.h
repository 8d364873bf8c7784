// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_AUDIT_BATCH_H_
#define LOCUS_SRC_AUDIT_BATCH_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "locus/audit.h"

namespace locus::audit {

// Rows on their way: one JSON object a line.
struct Batch {
  std::string rows;
  uint64_t count = 0;
  // Records lost before, of which its first row tells; 0: it has no such row.
  uint64_t told = 0;
};

// Records that were lost, and those of which lost gap records told.
struct Loss {
  uint64_t records = 0;
  uint64_t told = 0;

  void Add(const Batch& batch) {
    records += batch.count - (batch.told > 0);
    told += batch.told;
  }
};

// Appends a record as a row, with a new id where it has none.
void AppendRow(const AuditRecord& record, const std::string& process, absl::Time now, Batch& batch);

}  // namespace locus::audit

#endif  // LOCUS_SRC_AUDIT_BATCH_H_
