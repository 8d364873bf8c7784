// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/fenced_transaction.h"

#include "routing/pool/fenced_run.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"

namespace locus {

class FencedTransactions::Rep {
 public:
  Rep(Router& router, ShardPools& pools) : context_{router, pools} {}

  internal::FencedContext context_;
  const internal::ForkGuard process_;
};

FencedTransactions::FencedTransactions(Router& router, ShardPools& pools)
    : rep_(std::make_unique<Rep>(router, pools)) {}

FencedTransactions::~FencedTransactions() = default;

absl::Status FencedTransactions::Run(const OrderId& id, FencedCall call, TimePoint deadline,
                                     const Work& work) {
  LOCUS_RETURN_IF_ERROR(rep_->process_.Check("fenced transactions"));
  if (call.kind == FencedCall::Kind::kStatement && call.fence_first) {
    return absl::InvalidArgumentError(
        "fence_first needs a transaction, which keeps the lock on the fence row: use kTransaction");
  }
  ++rep_->context_.counters.calls;
  return internal::FencedRun(rep_->context_, id, call, deadline, work).Run();
}

absl::Status FencedTransactions::Run(const OrderId& id, const Work& work) {
  return Run(id, {}, std::chrono::steady_clock::now() + std::chrono::seconds(3), work);
}

FencedStats FencedTransactions::Stats() const {
  const internal::FencedCounters& counters = rep_->context_.counters;
  const internal::BandProbes::Counts band = rep_->context_.probes.counts();
  return {.calls = counters.calls,
          .attempts = counters.attempts,
          .refusals = counters.refusals,
          .conflicts = counters.conflicts,
          .band_waits = band.waits,
          .probes = band.probes,
          .rereads = counters.rereads,
          .unknown_commits = counters.unknown_commits};
}

}  // namespace locus
