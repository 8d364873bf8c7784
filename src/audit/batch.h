// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_AUDIT_BATCH_H_
#define LOCUS_SRC_AUDIT_BATCH_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "locus/audit.h"

namespace locus::audit {

// How this room works together. Event hooks (hooks.cc, type_record.h) turn events into records and
// pass them to AuditSink::Record, which queues them. The sink's thread makes batches and passes
// them to an AuditWriter. While the writer fails, batches wait in the files of a Spill. Lost
// records are counted in a Loss, which the next batch reports in its first row.

// Rows on their way: one JSON object a line.
struct Batch {
  std::string rows;
  uint64_t count = 0;
  // The number of earlier lost records, which its first row reports; 0: it has no such row.
  uint64_t told = 0;
};

// The number of lost records, including those that lost gap records had reported.
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
