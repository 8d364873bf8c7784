// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/probes.h"

#include <utility>

#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/cluster/api/pages.h"

namespace locus::locusd {
namespace {

constexpr absl::Duration kTellRefusalsEvery = absl::Minutes(1);

}  // namespace

absl::StatusOr<std::unique_ptr<Probes>> Probes::Start(const HealthSettings& settings,
                                                      cluster_node::ClusterNode& node, Log& log) {
  std::unique_ptr<Probes> probes(new Probes(log));
  LOCUS_ASSIGN_OR_RETURN(probes->tls_, http::TlsContext::Load({settings.authority, "", ""}));
  holder_probe::HolderProbeOptions options = settings.probe;
  options.tls = probes->tls_.get();
  options.on_verdict = [&log](const holder_probe::ProbeEvent& event) {
    log.Warn(event.healthy ? "holder is healthy again" : "holder is unhealthy",
             {{"space", event.space.str()},
              {"worker", event.worker},
              {"token", event.token},
              {"why", event.why}});
  };
  LOCUS_ASSIGN_OR_RETURN(probes->probe_, holder_probe::HolderProbe::Start(node, options));
  return probes;
}

std::string Probes::Metrics() const {
  const holder_probe::HolderProbe::Stats stats = probe_->stats();
  std::string text;
  cluster_api::AddMetric(text, "health_probes_total", "counter", "Probes answered or given up.",
                         stats.probes);
  cluster_api::AddMetric(text, "health_failures_total", "counter", "Probes that failed.",
                         stats.failures);
  cluster_api::AddMetric(text, "health_targets", "gauge",
                         "Holders that are probed; 0 where this node does not lead.",
                         stats.targets);
  cluster_api::AddMetric(text, "health_refused", "gauge",
                         "Holders whose health URL may not be probed.", stats.refused);
  return text;
}

void Probes::Tell() {
  const holder_probe::HolderProbe::Stats stats = probe_->stats();
  const absl::Time now = absl::Now();
  if (stats.refused == 0 || now - refusal_told_ < kTellRefusalsEvery) return;
  log_.Warn("holders are not probed", {{"holders", stats.refused}, {"why", stats.last_refusal}});
  refusal_told_ = now;
}

}  // namespace locus::locusd
