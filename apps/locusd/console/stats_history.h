// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_STATS_HISTORY_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_STATS_HISTORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "apps/locusd/console/event_hub.h"
#include "apps/locusd/ids/id_parts.h"

namespace locus::locusd {

// What the console shows of an ID service's counters: as they are, and over the last minutes.
// Memory is fixed: a point of 11 numbers each kStep.
// Thread safety: none.
class StatsHistory {
 public:
  static constexpr absl::Duration kStep = absl::Seconds(2);
  static constexpr size_t kPoints = 450;

  explicit StatsHistory(absl::Time started) : started_(started) {}

  // Looks at the counters; once each kStep. Returns them as JSON: `Stats` of web/src/api.ts.
  // `parts` may be nullptr.
  std::string Sample(const IdParts* parts, const EventHub::Stats& streams, size_t most_streams,
                     absl::Time wall, absl::Duration steady);
  // `StatsHistory` of web/src/api.ts.
  std::string HistoryJson() const;

 private:
  enum Series {
    kOrders,
    kSnowflakes,
    kNumbers,
    kStarved,
    kFailures,
    kLosses,
    kAutonomy,
    kLead,
    kClockOffset,
    kOwnershipLeft,
    kSeriesCount
  };
  struct Point {
    int64_t at_ms = 0;
    std::array<float, kSeriesCount> values;  // NaN: not known
  };
  // Counters of one kind, to tell how much they rose.
  struct Rise {
    // Since the last call, a second; nullopt: there was none, or the counter began anew.
    std::optional<double> Rate(uint64_t now, absl::Duration steady);
    std::optional<uint64_t> By(uint64_t now);
    std::optional<uint64_t> before;
    absl::Duration at;
  };

  const absl::Time started_;
  std::deque<Point> points_;
  Rise orders_, snowflakes_, starved_, failures_, losses_;
  std::map<std::string, Rise> sequences_;
};

// The order IDs of this process by vnode, over a window of some minutes.
// Thread safety: none.
class LoadWindow {
 public:
  static constexpr absl::Duration kStep = absl::Seconds(10);
  static constexpr size_t kSteps = 30;

  // Counts that sum up sections, as OrderIdGenerator::IdsBySection; taken once each kStep.
  void Add(const std::vector<uint64_t>& by_section, absl::Duration steady);

  // Per vnode and second; a section's IDs are divided evenly among its vnodes. Empty: nothing is
  // known yet.
  std::vector<double> PerVnode() const;
  absl::Duration window() const;

 private:
  // The most parts that the ring is counted in, so that memory stays below 64 KiB.
  static constexpr size_t kMostParts = 256;
  struct Count {
    absl::Duration at;
    std::vector<uint64_t> parts;
  };
  std::deque<Count> counts_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_STATS_HISTORY_H_
