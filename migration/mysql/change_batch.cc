// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/change_batch.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "src/base/os/check.h"

namespace locus::mysql {

absl::StatusOr<ChangeBatch> ReadBatch(BinlogReader& reader, TimePoint deadline,
                                      const BatchLimits& limits) {
  // Events that are on their way from the server come within this time.
  constexpr std::chrono::milliseconds kAtHand{1};
  ChangeBatch batch;
  uint64_t bytes = 0;
  TimePoint full = deadline;
  while (batch.transactions.size() < limits.transactions && bytes < limits.bytes) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (!batch.transactions.empty() && now >= full) break;
    auto item = reader.Next(batch.transactions.empty() ? deadline : std::min(full, now + kAtHand));
    if (absl::IsDeadlineExceeded(item.status())) break;
    LOCUS_RETURN_IF_ERROR(item.status());
    batch.ended = std::holds_alternative<BinlogReader::End>(*item);
    batch.idle = batch.ended || std::holds_alternative<stream::Heartbeat>(*item);
    if (batch.idle) break;
    if (batch.transactions.empty()) {
      full = std::chrono::steady_clock::now() + std::chrono::duration_cast<TimePoint::duration>(
                                                    absl::ToChronoNanoseconds(limits.time));
    }
    batch.transactions.push_back(std::get<stream::ChangeTransaction>(*std::move(item)));
    bytes += batch.transactions.back().bytes();
    if (limits.last && limits.last(batch.transactions.back())) break;
  }
  return batch;
}

}  // namespace locus::mysql
