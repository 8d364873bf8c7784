// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/probes.h"

#include <utility>

#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/metrics/metrics.h"

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
  metrics::MetricsText text;
  text.Add(metrics::locusd_health_probes_total, stats.probes);
  text.Add(metrics::locusd_health_failures_total, stats.failures);
  text.Add(metrics::locusd_health_targets, stats.targets);
  text.Add(metrics::locusd_health_refused, stats.refused);
  return text.ToString();
}

void Probes::Tell() {
  const holder_probe::HolderProbe::Stats stats = probe_->stats();
  const absl::Time now = absl::Now();
  if (stats.refused == 0 || now - refusal_told_ < kTellRefusalsEvery) return;
  log_.Warn("holders are not probed", {{"holders", stats.refused}, {"why", stats.last_refusal}});
  refusal_told_ = now;
}

}  // namespace locus::locusd
