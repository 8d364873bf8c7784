// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ORDER_ID_GENERATOR_H_
#define LOCUS_ORDER_ID_GENERATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/buyer_key.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/order_id.h"
#include "locus/segment_store.h"
#include "locus/segment_store_set.h"
#include "locus/space.h"

namespace locus {

// Something an operator may want to know, as it happens.
struct GeneratorEvent {
  enum class Kind {
    kLeased,       // segments arrived
    kStoreFailed,  // a call to the store failed; `status` says why
    kStarved,      // a caller found no sequence left in a section
    kLossNoticed,  // the store had lost leases and raised its base
    kLeadUsedUp,   // a section's leases are as far ahead of the floor as they may be
  };
  Kind kind;
  absl::Status status;    // OK unless kStoreFailed
  uint32_t sections = 0;  // how many sections it is about
  std::string store;      // its name in a set; empty where there is one store
};

// What a generator knows of one of its stores.
struct StoreStats {
  std::string name;  // in a set; empty where there is one store
  uint32_t first_section = 0;
  uint32_t last_section = 0;
  uint64_t leases = 0;
  uint64_t store_calls = 0;
  uint64_t store_failures = 0;
  uint64_t losses = 0;
  uint64_t starved = 0;
  absl::Duration autonomy = absl::InfiniteDuration();
  absl::Duration lead;
  // How long the call under way has been waiting for its answer; 0: none is.
  absl::Duration stalled;
  absl::Status last_error;  // OK: the last call succeeded
};

struct GeneratorStats {
  uint64_t leases = 0;          // segments granted
  uint64_t store_calls = 0;     // calls that leased them, failed ones included
  uint64_t store_failures = 0;  // calls that failed
  uint64_t waits = 0;           // calls with a deadline that had to wait
  uint64_t starved = 0;         // sections found without a sequence, first uses included
  uint64_t losses = 0;          // losses of the store that this generator's leases noticed
  uint64_t dropped = 0;         // segments given up: too old, or overtaken by a later one
  // How long the section that will be out first goes on without the store, at its present rate.
  // InfiniteDuration while no section is in use.
  absl::Duration autonomy = absl::InfiniteDuration();
  // The longest lead over the floor that a lease of this generator has reached.
  absl::Duration lead;
  absl::Status last_store_error;  // OK: the last call of every store succeeded
  // The same for each store, in the order of the set. The numbers above are theirs together.
  std::vector<StoreStats> stores;
};

// Hands out order IDs: unique across every process that shares the SegmentStore, under the
// guarantee of SegmentStore. IDs of one vnode rise within a process; across processes they may lag
// by two horizons, and by the length of an outage where a section in use lives through one.
//
// Thread safety: all methods may be called from any thread.
// Cost: TryNext takes no lock and allocates nothing while its section has a sequence, and does not
// depend on how many vnodes are in use; the call that uses a segment up also wakes the loader. One
// store round trip per segment, off the caller's thread. About 0.6 MiB of memory (64 bytes more a
// section where sections are smaller than the default).
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction returns at once.
class OrderIdGenerator {
 public:
  struct Options {
    SpaceName space = {};
    // nullopt: take the space as the store has it. Otherwise FAILED_PRECONDITION where it differs.
    std::optional<SpaceOptions> space_options = {};
    // Create the space where the store has none (a loss, as far as the rules go).
    bool create_space = false;
    // Go on with 128-bit IDs once a vnode's 47 bits are used up. False: OUT_OF_RANGE there.
    bool wide = false;
    // How long a generator goes on without its store. Longer: bigger segments, more sequences
    // lost at a crash, IDs that lag further. 1 s .. 1 day.
    absl::Duration horizon = absl::Minutes(10);
    // Outlives the generator.
    Clock* clock = &Clock::System();
    // Runs the loading; outlives the generator. nullptr: one thread of the generator's own for each
    // store, started on first need, joined at destruction. An executor needs a thread for each
    // store that may stall, and one more, so that the others go on.
    Executor* executor = nullptr;
    // Called on the loading thread, of several stores on several at once; must not call into the
    // generator. May be empty.
    std::function<void(const GeneratorEvent&)> on_event = {};
  };

  // INVALID_ARGUMENT: bad options. Errors of SegmentStore::ReadOptions and Create. Leases nothing
  // yet.
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(
      std::shared_ptr<SegmentStore> store, Options options);
  // From several stores, each for its sections: one that is dead or stalled stops no others. Each
  // must be part of this layout of the set (SegmentStoreSet), all with the same options;
  // Options::create_space establishes it where nothing is in use in them. A store that does not
  // answer (UNAVAILABLE) is looked at before its first lease instead, as long as one does.
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(SegmentStoreSet stores,
                                                                  Options options);
  // Waits for the store calls that are under way.
  ~OrderIdGenerator();
  OrderIdGenerator(const OrderIdGenerator&) = delete;
  OrderIdGenerator& operator=(const OrderIdGenerator&) = delete;

  // The next ID of the buyer's vnode, at once. Without a message, so that it allocates nothing:
  // UNAVAILABLE: no sequence at hand; loading has been set off, retry or use Next. The first call
  // in a section always answers so.
  // OUT_OF_RANGE: the vnode's 47 bits (with Options::wide 56 bits) are used up.
  // FAILED_PRECONDITION: this is a forked child, or the section's store refuses until somebody
  // repairs it (Stats() says what).
  absl::StatusOr<OrderId> TryNext(BuyerKey buyer);

  // As TryNext, but waits for the store until `deadline`. DEADLINE_EXCEEDED with the last error of
  // the store in the message. FAILED_PRECONDITION at once, with the store's message.
  absl::StatusOr<OrderId> Next(BuyerKey buyer, std::chrono::steady_clock::time_point deadline);

  // ids[i] = TryNext(buyers[i]) from the front until one fails; returns how many it filled. Where
  // none was filled, the status of the first (OK and 0 for empty spans). INVALID_ARGUMENT: `ids` is
  // shorter than `buyers`. Cheaper per ID than single calls; loading is set off for all sections
  // that the rest of the batch needs.
  absl::StatusOr<size_t> NextBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids);
  // As NextBatch, but waits for the store until `deadline` and fills all of it, or returns fewer
  // only where the next one failed as Next would.
  absl::StatusOr<size_t> NextBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids,
                                   std::chrono::steady_clock::time_point deadline);

  GeneratorStats Stats() const;

 private:
  class Rep;
  explicit OrderIdGenerator(Rep* rep);
  Rep* rep_;  // not a unique_ptr: a forked child abandons it
};

}  // namespace locus

#endif  // LOCUS_ORDER_ID_GENERATOR_H_
