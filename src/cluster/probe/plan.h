// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_PROBE_PLAN_H_
#define LOCUS_SRC_CLUSTER_PROBE_PLAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "src/cluster/probe/health_url.h"

namespace locus::holder_probe {

// A lease whose holder is probed.
struct Lease {
  SpaceName space;
  uint64_t worker = 0;
  uint64_t token = 0;

  friend auto operator<=>(const Lease& one, const Lease& other) {
    return std::tie(one.space, one.worker, one.token) <=>
           std::tie(other.space, other.worker, other.token);
  }
  friend bool operator==(const Lease&, const Lease&) = default;
};

struct Target {
  Lease lease;
  HealthUrl url;
  bool unhealthy = false;  // as the cluster has it
};

struct Probe {
  Lease lease;
  HealthUrl url;
  uint64_t number = 0;
  bool suspect = false;
};

// A verdict for the cluster.
struct Opinion {
  Lease lease;
  bool healthy = true;
  std::string why;
};

struct PlanLimits {
  absl::Duration interval;
  int failures = 0;
  size_t at_once = 0;
  double per_second = 0;
};

// Decides which holder is probed when, and what follows from the answers. A function of events, the
// time, and a seed.
//
// Suspects are holders whose last probe failed, or that were never probed. They have half of the
// places at most, and take turns with the others, so holders that do not answer delay only each
// other.
//
// Thread safety: none. Cost: O(log n), Update O(n log n).
class Plan {
 public:
  Plan(const PlanLimits& limits, uint64_t seed) : limits_(limits), random_(seed) {}

  // All that is to be probed from now on. New ones are spread over the first interval.
  void Update(const std::vector<Target>& targets, absl::Duration now);
  // Nothing is.
  void Clear() { Update({}, absl::ZeroDuration()); }
  // One that is to be probed now; it takes a place until Answered.
  std::optional<Probe> Next(absl::Duration now);
  // `status` is OK if the holder said that it is healthy.
  std::optional<Opinion> Answered(const Probe& probe, const absl::Status& status,
                                  absl::Duration now);
  // How the cluster took an opinion. What it did not take follows from the next probe again.
  void Told(const Opinion& opinion, const absl::Status& status);

  // When Next is to be called again. InfiniteDuration: after Update or Answered.
  absl::Duration NextDue() const;
  size_t targets() const { return holders_.size(); }
  size_t under_way() const { return under_way_[0] + under_way_[1]; }

 private:
  struct Holder {
    HealthUrl url;
    bool unhealthy = false;  // as the cluster has it
    bool telling = false;    // an opinion is under way
    bool suspect = true;
    int failures = 0;    // in a row
    uint64_t probe = 0;  // its number, while one is under way
    absl::Duration due;
  };
  using Holders = std::map<Lease, Holder>;

  double Random();  // 0 to 1
  bool MayProbe(bool suspect) const;
  void Enqueue(const Lease& lease, Holder& holder, absl::Duration due);

  const PlanLimits limits_;
  uint64_t random_;
  Holders holders_;
  std::array<std::set<std::pair<absl::Duration, Lease>>, 2> due_;  // others, suspects
  std::array<size_t, 2> under_way_ = {};
  bool suspect_next_ = false;
  uint64_t probes_ = 0;
  absl::Duration next_slot_ = -absl::InfiniteDuration();  // by per_second
};

}  // namespace locus::holder_probe

#endif  // LOCUS_SRC_CLUSTER_PROBE_PLAN_H_
