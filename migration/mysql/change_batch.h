// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_CHANGE_BATCH_H_
#define LOCUS_MIGRATION_MYSQL_CHANGE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "migration/mysql/binlog_reader.h"
#include "migration/stream/change_transaction.h"

namespace locus::mysql {

struct BatchLimits {
  size_t transactions = 4096;
  uint64_t bytes = 4 << 20;  // of the log, as stored; the last transaction may pass it
  // How long a batch is read from its first transaction on. Longer: larger batches, which cost less
  // a row; each transaction waits longer.
  absl::Duration time = absl::Milliseconds(10);
  // Whether the batch ends with this transaction, because a caller waits for it. Empty: never.
  std::function<bool(const stream::ChangeTransaction&)> last = nullptr;
};

// Transactions of the log, for ChangeApplier::Apply.
struct ChangeBatch {
  std::vector<stream::ChangeTransaction> transactions;
  bool idle = false;   // the server had nothing more to send
  bool ended = false;  // BinlogReader::End came
};

// Waits for the first transaction until `deadline`, at the longest until the server says that it is
// idle, then takes what the reader has at hand. Errors as of BinlogReader::Next; none where the
// deadline passes: the batch is empty.
absl::StatusOr<ChangeBatch> ReadBatch(BinlogReader& reader, TimePoint deadline,
                                      const BatchLimits& limits = {});

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_CHANGE_BATCH_H_
