// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_GENERATOR_STORE_CHAIN_H_
#define LOCUS_SRC_GENERATOR_STORE_CHAIN_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "locus/order_id_generator.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"
#include "src/base/news.h"
#include "src/generator/counters.h"
#include "src/generator/segment_loader.h"

namespace locus {

// One store of a generator with all that its sections need: their loader, the thread or tasks it
// runs on, the call under way, the last error. Chains share counters and news, nothing that a call
// to a store holds: one that stalls delays no other.
// Thread safety: all methods may be called from any thread, of the process that made it.
class StoreChain {
 public:
  struct Place {
    std::shared_ptr<SegmentStore> store;
    SpaceName space;   // as the store calls it
    std::string name;  // in a set
    uint32_t first_section = 0;
    uint32_t last_section = 0;
    // Asked before the next lease, until it answers OK, where `admitted` is false, and where the
    // store did not know the space: it is not complete as soon as it is there. May be empty.
    std::function<absl::Status()> admit;
    bool admitted = true;
  };

  // `counters`, `news` and `options` outlive the chain.
  StoreChain(Place place, const SpaceOptions& space, const OrderIdGenerator::Options& options,
             Counters& counters, News& news);

  uint32_t last_section() const { return place_.last_section; }
  // A section of the chain wishes something, which is `news` or was wished before.
  void Wake(bool news) {
    if (news || !driver_->started()) driver_->Wake();
  }

  // What callers hear who find no sequence, without a message: UNAVAILABLE, or FAILED_PRECONDITION
  // where the store's last answer was that somebody must repair it.
  absl::StatusCode answer() const {
    return refused_.load(std::memory_order_relaxed) ? absl::StatusCode::kFailedPrecondition
                                                    : absl::StatusCode::kUnavailable;
  }
  // The same with a message, for a caller whose deadline came (UNAVAILABLE) or who is refused.
  absl::Status Explain(absl::StatusCode code) const;
  StoreStats Stats() const;
  uint64_t dropped() const;

 private:
  absl::Duration Load();
  absl::StatusOr<LeaseReply> Lease(std::span<const LeaseRequest> requests);
  void Granted(std::span<const LeaseRequest> requests, const LeaseReply& reply);
  void Failed(std::span<const LeaseRequest> requests, const absl::Status& status);
  void Tell(GeneratorEvent::Kind kind, uint32_t sections, absl::Status status = absl::OkStatus());

  Place place_;
  const SpaceOptions space_options_;  // each lease names them: the space may be created again
  const OrderIdGenerator::Options& options_;
  News& news_;
  bool admitted_;                     // false: place_.admit is asked first; of the loading thread
  std::atomic<bool> refused_{false};  // the store's last answer was that somebody must repair it

  mutable Mutex mutex_;
  SegmentLoader loader_ ABSL_GUARDED_BY(mutex_);
  uint64_t store_calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t store_failures_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status last_error_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> call_began_ ABSL_GUARDED_BY(mutex_);  // since boot

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for a Load under way
};

}  // namespace locus

#endif  // LOCUS_SRC_GENERATOR_STORE_CHAIN_H_
