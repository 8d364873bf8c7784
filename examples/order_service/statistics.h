// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_STATISTICS_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_STATISTICS_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/latency_histogram.h"
#include "order_store.h"

namespace shop {

// The counts of a process so far.
struct ClientCounts {
  uint64_t writes = 0;    // acknowledged
  uint64_t inserts = 0;   // of them
  uint64_t refused = 0;   // not stored
  uint64_t refusals = 0;  // answers of fences
  uint64_t unknown = 0;   // lost answers
  uint64_t open = 0;      // orders given up with an open write
  uint64_t reads = 0;
  uint64_t failed_reads = 0;  // no answer in time
  uint64_t stale = 0;         // reads of another state than the acknowledged one
  uint64_t contradictions = 0;
  locus::LatencyHistogram waits;  // of the acknowledged writes that a fence refused at first
  absl::Duration longest_wait;
  std::string last_refusal;  // why the last write was refused that was not stored
};

// Counters that threads share. Thread safety: all methods may be called from any thread.
class Statistics {
 public:
  void Count(const Written& written, bool insert, absl::Duration took);
  void CountRead(bool ok, bool stale);
  ClientCounts counts() const;

 private:
  mutable std::mutex mutex_;
  ClientCounts counts_;
};

// A line of JSON, which replaces the file at once.
struct ClientStatus {
  std::string kind;
  int pid = 0;
  uint64_t epoch = 0;          // of the routing table that it goes by
  absl::Duration running;      // since its first write
  double writes_a_second = 0;  // lately
  ClientCounts counts;
};
absl::Status WriteStatus(const std::string& path, const ClientStatus& status);

// The last counts of the processes of a directory, for people: a line each and their sum; p50 and
// p99 are upper bounds of a bucket. For programs: one line of JSON. NOT_FOUND: no process has
// written anything yet. DATA_LOSS: a file is no such line.
absl::StatusOr<std::string> StatusText(const std::string& directory, bool json);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_STATISTICS_H_
