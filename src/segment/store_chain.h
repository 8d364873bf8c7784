// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_SEGMENT_STORE_CHAIN_H_
#define LOCUS_SRC_SEGMENT_STORE_CHAIN_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "locus/order_id_generator.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/base/run/result_signal.h"
#include "src/segment/counters.h"
#include "src/segment/segment_loader.h"

namespace locus::internal {

// One store of a generator and everything for its sections: their loader, the thread or tasks that
// it runs on, the call under way, the last error. Chains share the counters and the signal to
// waiting callers, but no lock that is held during a call to a store, so a store that stalls delays
// no other.
// Thread safety: all methods may be called from any thread, of the process that made it.
class StoreChain {
 public:
  struct Assignment {
    std::shared_ptr<SegmentStore> store;
    SpaceName space;   // its name in the store
    std::string name;  // in a set
    uint32_t first_section = 0;
    uint32_t last_section = 0;
    // Must return OK before the first allocation, if `admitted` is false or the store once did not
    // know the space (the space may exist before it is complete). May be empty.
    std::function<absl::Status()> admit;
    bool admitted = true;
  };

  // `counters`, `loaded` and `options` outlive the chain.
  StoreChain(Assignment assignment, const SpaceOptions& space,
             const OrderIdGenerator::Options& options, Counters& counters, ResultSignal& loaded);

  uint32_t last_section() const { return assigned_.last_section; }
  // Makes the loader look at the requests of callers. `news`: whether there is one that it was not
  // woken for yet.
  void Wake(bool news) {
    if (news || !driver_->started()) driver_->Wake();
  }
  bool started() const { return driver_->started(); }

  // The code for a caller that finds no sequence: UNAVAILABLE, or FAILED_PRECONDITION if the
  // store's last answer was that it needs repair.
  absl::StatusCode answer() const {
    return refused_.load(std::memory_order_relaxed) ? absl::StatusCode::kFailedPrecondition
                                                    : absl::StatusCode::kUnavailable;
  }
  // The status with a message, for a caller whose deadline passed (UNAVAILABLE becomes
  // DEADLINE_EXCEEDED) or that is refused.
  absl::Status Explain(absl::StatusCode code) const;
  StoreStats Stats() const;
  uint64_t dropped() const;

 private:
  absl::Duration Load();
  absl::StatusOr<SegmentReply> Allocate(std::span<const SegmentRequest> requests);
  void Granted(std::span<const SegmentRequest> requests, const SegmentReply& reply);
  void Failed(std::span<const SegmentRequest> requests, const absl::Status& status);
  void Report(GeneratorEvent event);

  Assignment assigned_;
  const SpaceOptions space_options_;  // each allocation names them: the space may be created again
  const OrderIdGenerator::Options& options_;
  ResultSignal& loaded_;
  bool admitted_;                     // false: assigned_.admit comes first; of the loading thread
  std::atomic<bool> refused_{false};  // the store's last answer was that it needs repair

  mutable Mutex mutex_;
  SegmentLoader loader_ ABSL_GUARDED_BY(mutex_);
  uint64_t store_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> call_began_ ABSL_GUARDED_BY(mutex_);  // since boot
  absl::Duration clock_offset_ ABSL_GUARDED_BY(mutex_);
  LatencyHistogram store_latency_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> driver_;  // last: its destructor waits for a Load under way
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_SEGMENT_STORE_CHAIN_H_
