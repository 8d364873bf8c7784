// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_PROBE_HOLDER_PROBE_H_
#define LOCUS_SRC_CLUSTER_PROBE_HOLDER_PROBE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "src/cluster/node/cluster_node.h"
#include "src/http/tls_context.h"

namespace locus::holder_probe {

// A verdict on a holder that was given to the cluster, for a log.
struct ProbeEvent {
  SpaceName space;
  uint64_t worker = 0;
  uint64_t token = 0;
  bool healthy = true;
  std::string why;  // of an unhealthy one
};

struct HolderProbeOptions {
  // Blocks of IP addresses ("10.1.0.0/16", "fd00::/8") that may be probed. The URLs come from
  // clients: each can make this node send a GET to any port and path of these addresses, and learn
  // from its lease whether 2xx came back. So name the holders' network, not the loopback or an
  // administrators' one. Empty: no holder is probed.
  std::vector<std::string> allowed = {};
  // Between two probes of a holder, give or take a tenth; 100 ms to 1 h. Shorter: a useless holder
  // loses its lease sooner. Longer if there are more than per_second * interval holders.
  absl::Duration interval = absl::Seconds(10);
  // For all of an answer's head; 10 ms to `interval`.
  absl::Duration timeout = absl::Seconds(2);
  // So many failures in a row make a holder unhealthy, 1 to 1000; one success makes it healthy.
  int failures = 3;
  // Probes under way, 2 to 1024. Half of them at most for holders that failed last time.
  size_t at_once = 64;
  // Probes a second, of all holders, evenly spread; 0.1 to 10,000.
  double per_second = 100;
  // The authorities for https URLs; outlives the probe. nullptr: https URLs are not probed. The
  // certificate must name the address.
  const http::TlsContext* tls = nullptr;
  // Called after the cluster took an opinion, by a thread of the node; must not wait.
  std::function<void(const ProbeEvent&)> on_verdict = {};

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Probes the holders of leases for health, while its node leads. A holder asks for that by a member
// "health" of its text, an http:// or https:// URL whose host is an IP address:
//
//   WorkerLeaseOptions::holder = {"host": "a", "health": "http://10.1.0.7:8080/healthz"}
//
// Healthy is 200 to 299. All else is a failure: another status, a redirection (which is not
// followed), no complete head of an answer in time, one of more than 16 KiB. A body is not read. An
// unhealthy holder is not renewed (cluster_machine::Verdict), so its ID goes to another holder once
// the lease has ended, unless a probe succeeds before. A holder without the member, or with a URL
// that is not allowed, is not probed: its renewals alone count.
//
// A new leader counts failures from 0; its predecessor's verdicts stay.
//
//   one HolderProbe for each node of a process, made after the ClusterNode and destroyed before it
//
// Thread safety: all methods may be called from any thread.
class HolderProbe {
 public:
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<HolderProbe>> Start(cluster_node::ClusterNode& node,
                                                            const HolderProbeOptions& options);
  ~HolderProbe();
  HolderProbe(const HolderProbe&) = delete;
  HolderProbe& operator=(const HolderProbe&) = delete;

  struct Stats {
    uint64_t probes = 0;     // answered or given up
    uint64_t failures = 0;   // of them
    uint64_t unhealthy = 0;  // opinions that the cluster took
    uint64_t healthy = 0;
    uint64_t targets = 0;      // holders that are probed; 0 where this node does not lead
    uint64_t refused = 0;      // holders whose URL may not be probed, at the last look
    std::string last_refusal;  // why, of one of them
  };
  Stats stats() const;

 private:
  class Rep;
  explicit HolderProbe(std::shared_ptr<Rep> rep);
  std::shared_ptr<Rep> rep_;
};

}  // namespace locus::holder_probe

#endif  // LOCUS_SRC_CLUSTER_PROBE_HOLDER_PROBE_H_
