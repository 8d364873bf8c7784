// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_SHARD_WRITES_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_SHARD_WRITES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "absl/time/time.h"

namespace locus::locusd {

// Statements that write rows, per second, by shard ID. A shard that did not answer is absent.
struct ShardWrites {
  std::map<uint32_t, double> per_second;
  absl::Duration window;  // that they were counted over
};

// Rates of counters that shards keep since their start, over a window of some minutes.
// Thread safety: none.
class WriteWindow {
 public:
  static constexpr absl::Duration kStep = absl::Seconds(5);
  static constexpr absl::Duration kWindow = absl::Minutes(5);

  // Whether the counters are to be asked for again.
  bool IsDue(absl::Duration steady) const;
  // By shard ID.
  void Add(std::map<uint32_t, uint64_t> counts, absl::Duration steady);
  // Empty until there are two counts. A shard whose counter fell, since its server was started
  // again, is absent until the count before that has left the window.
  ShardWrites Rates() const;

 private:
  std::deque<std::pair<absl::Duration, std::map<uint32_t, uint64_t>>> counts_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_SHARD_WRITES_H_
