// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_PROBES_H_
#define LOCUS_APPS_LOCUSD_PROBES_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/log.h"
#include "src/cluster/node/cluster_node.h"
#include "src/cluster/probe/holder_probe.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

// Asks holders for their health, where the node leads.
class Probes {
 public:
  // `node` and `log` outlive it. Errors of HolderProbe::Start, and of the authority's file.
  static absl::StatusOr<std::unique_ptr<Probes>> Start(const HealthSettings& settings,
                                                       cluster_node::ClusterNode& node, Log& log);

  // For GET /metrics.
  std::string Metrics() const;
  // Logs that there are holders who may not be probed, when that begins and then once a minute. By
  // one thread.
  void Tell();

 private:
  explicit Probes(Log& log) : log_(log) {}

  Log& log_;
  std::unique_ptr<http::TlsContext> tls_;
  std::unique_ptr<holder_probe::HolderProbe> probe_;
  absl::Time refusal_told_ = absl::InfinitePast();
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_PROBES_H_
