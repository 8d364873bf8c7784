// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ORDER_ID_GENERATOR_H_
#define LOCUS_ORDER_ID_GENERATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/buyer_key.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/internal/deadline.h"
#include "locus/internal/hot_counters.h"
#include "locus/internal/order_id_assembler.h"
#include "locus/latency_histogram.h"
#include "locus/order_id.h"
#include "locus/segment_store.h"
#include "locus/segment_store_set.h"
#include "locus/shard_gene.h"
#include "locus/space.h"
#include "locus/str.h"
#include "locus/timeout.h"

namespace locus {

// An event of a generator, for logs and alarms.
struct GeneratorEvent {
  enum class Kind {
    kAllocated,    // segments arrived; `ranges` lists them
    kStoreFailed,  // a call to the store failed; `status` says why
    kFirstUse,     // a call needed a section that had no segment yet
    kStarved,      // a call found no sequence left in a section in use
    kLossNoticed,  // the store had lost allocations and raised its base
    kLeadUsedUp,   // a section's allocations are as far ahead of the floor as max_lead allows
  };
  // Sequences that a section allocated.
  struct Range {
    uint16_t section = 0;
    Segment segment;
  };
  Kind kind = Kind::kAllocated;
  absl::Status status = {};        // OK unless kStoreFailed
  uint32_t sections = 0;           // how many sections the event is about
  std::vector<Range> ranges = {};  // of kAllocated, otherwise empty
  std::string store = {};          // its name in a set; empty if there is one store
};

// "allocated", "store_failed", "first_use", "starved", "loss_noticed", "lead_used_up".
std::string_view ToString(GeneratorEvent::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, GeneratorEvent::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

// The stats of one store of a generator; the members mean the same as in GeneratorStats.
struct StoreStats {
  std::string name;  // in a set; empty if there is one store
  uint32_t first_section = 0;
  uint32_t last_section = 0;
  uint64_t allocations = 0;
  uint64_t store_calls = 0;
  uint64_t store_failures = 0;
  uint64_t losses = 0;
  uint64_t first_uses = 0;
  uint64_t starved = 0;
  absl::Duration autonomy = absl::InfiniteDuration();
  absl::Duration lead;
  // The part of max_lead that is left, 1 to 0, in the section that has used most of it. At 0 the
  // section gets only the sequences that time adds, floor_rate a second. It gets none while the
  // floor is below base: for up to 19 minutes after the space was created or the store noticed a
  // loss.
  double headroom = 1;
  // How far the store's clock was ahead of this process's at the last allocation (negative:
  // behind), to within half the duration of that call.
  absl::Duration clock_offset;
  // The durations of the calls, failed ones included.
  LatencyHistogram store_latency;
  // How long the call under way has waited for its answer; 0 without one.
  absl::Duration stalled;
  absl::Status last_error;  // OK: the last call succeeded
};

// Counters start when the generator is created.
struct GeneratorStats {
  // Order IDs handed out, computed from the cursors so that TryNext counts nothing. A call under
  // way while its section's segment is replaced may be missed.
  uint64_t ids = 0;
  uint64_t allocations = 0;     // segments granted
  uint64_t store_calls = 0;     // calls that allocated them, failed ones included
  uint64_t store_failures = 0;  // calls that failed
  uint64_t waits = 0;           // calls with a deadline that had to wait
  uint64_t first_uses = 0;      // sections that a caller found without their first segment
  uint64_t starved = 0;         // times that a section in use ran out of sequences
  uint64_t losses = 0;          // losses of the store that this generator's allocations noticed
  uint64_t dropped = 0;         // segments given up: too old, or overtaken by a later one
  // How long the generator can continue without the store at the present rates: the time until the
  // first section runs out. InfiniteDuration while no section is in use.
  absl::Duration autonomy = absl::InfiniteDuration();
  // The largest lead over the floor that an allocation of this generator has reached.
  absl::Duration lead;
  // The largest lead that the space's options allow; the difference is left for bursts.
  absl::Duration most_lead;
  // The offset that is furthest from 0 among the stores.
  absl::Duration clock_offset;
  LatencyHistogram store_latency;
  absl::Status last_store_error;  // OK: the last call to every store succeeded
  // The stats of each store, in the order of the set. The figures above combine them.
  std::vector<StoreStats> stores;
};

// Hands out order IDs that are unique across all processes that share the SegmentStore, under its
// guarantee. IDs of one vnode rise within a process. Those of another process may lag by two
// horizons, plus the length of an outage of the store.
//
// Thread safety: all methods may be called from any thread.
// Cost: TryNext is two hashes and one compare-and-swap, inline; no lock and no allocation while its
// section has a sequence, however many vnodes are in use. The call that uses a segment up also
// wakes the loader. One store round trip per segment, off the caller's thread. About 0.6 MiB of
// memory (64 bytes more a section where sections are smaller than the default).
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction returns at once.
class OrderIdGenerator {
 public:
  struct Options {
    SpaceName space = {};
    // nullopt: use the options that the store has. Otherwise FAILED_PRECONDITION if they differ.
    std::optional<SpaceOptions> space_options = {};
    // Create the space if the store does not have it. The store counts that as a loss.
    bool create_space = false;
    // Continue with 128-bit IDs once a vnode's 47 bits are used up. False: OUT_OF_RANGE then.
    bool wide = false;
    // How long a generator can continue without its store. Longer: bigger segments, more sequences
    // lost at a crash, IDs that lag further. 1 s .. 1 day.
    absl::Duration horizon = absl::Minutes(10);
    // Must outlive the generator.
    Clock* clock = &Clock::System();
    // Runs the loading; must outlive the generator. nullptr: the generator starts one thread for
    // each store when it is first needed, and joins it on destruction. An executor needs one thread
    // more than the number of stores that may stall, so that the others are not held up.
    Executor* executor = nullptr;
    // Called on the loading thread; with several stores, on several threads at once. It must not
    // call the generator. May be empty.
    std::function<void(const GeneratorEvent&)> on_event = {};
  };

  using Deadline = std::chrono::steady_clock::time_point;

  // With default options. The space must exist.
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(
      std::shared_ptr<SegmentStore> store);
  // INVALID_ARGUMENT: bad options. Otherwise the errors of SegmentStore::ReadOptions and Create.
  // Allocates nothing yet.
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(
      std::shared_ptr<SegmentStore> store, Options options);
  // From several stores, each for its own sections: a store that is down or stalls does not stop
  // the others. All must be part of this layout of the set (SegmentStoreSet), with the same
  // options. Options::create_space establishes the layout if nothing is in use in the stores. A
  // store that does not answer (UNAVAILABLE) is checked before its first allocation, provided that
  // another answers.
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(SegmentStoreSet stores);
  static absl::StatusOr<std::unique_ptr<OrderIdGenerator>> Create(SegmentStoreSet stores,
                                                                  Options options);
  // Waits for the store calls that are under way.
  ~OrderIdGenerator();
  OrderIdGenerator(const OrderIdGenerator&) = delete;
  OrderIdGenerator& operator=(const OrderIdGenerator&) = delete;

  // The next ID of the buyer's vnode, without waiting. Errors have no message and allocate nothing:
  // UNAVAILABLE: no sequence is available yet; loading has begun, so retry or use Next. The first
  // call in a section always returns this, unless Warm allocated for it.
  // OUT_OF_RANGE: the vnode's 47 bits (with Options::wide 56 bits) are used up.
  // FAILED_PRECONDITION: this is a forked child, or the section's store refuses until the cause is
  // repaired (see Stats()).
  absl::StatusOr<OrderId> TryNext(BuyerKey buyer) { return TryNext(ShardGene::Of(buyer)); }
  // The same for callers that have the gene already. Not for signal handlers: it may take the
  // sequence without a lock, but where it finds none it allocates and wakes the loader, and
  // absl::Status may allocate. Take IDs before, or set a flag and take them after the handler.
  absl::StatusOr<OrderId> TryNext(ShardGene gene) {
    uint64_t sequence;
    if (hot_.TryTake(gene.value(), sequence)) [[likely]] {
      return internal::OrderIdAssembler::Narrow(gene, sequence);
    }
    return TryNextSlowly(gene);
  }

  // As TryNext, but waits for the store until `deadline`, and every error has a message.
  // DEADLINE_EXCEEDED: the message has the last error of the store. FAILED_PRECONDITION and
  // OUT_OF_RANGE are returned without waiting.
  absl::StatusOr<OrderId> Next(BuyerKey buyer, Deadline deadline) {
    return Next(ShardGene::Of(buyer), deadline);
  }
  absl::StatusOr<OrderId> Next(ShardGene gene, Deadline deadline);
  // Waits for at most `timeout`, by the steady clock.
  absl::StatusOr<OrderId> Next(BuyerKey buyer, Timeout timeout) {
    return Next(ShardGene::Of(buyer), timeout);
  }
  absl::StatusOr<OrderId> Next(ShardGene gene, Timeout timeout) {
    absl::StatusOr<OrderId> id = TryNext(gene);  // without reading the clock
    return id.ok() ? id : Next(gene, internal::DeadlineAfter(timeout));
  }

  // Sets ids[i] = TryNext(buyers[i]) from the front until one fails, and returns how many it set.
  // If the first one fails, returns its error; empty spans give 0. INVALID_ARGUMENT: `ids` is
  // shorter than `buyers`. Cheaper per ID than single calls. After a failure, loading begins for
  // all sections that the rest of the batch needs.
  absl::StatusOr<size_t> NextBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids);
  absl::StatusOr<size_t> NextBatch(std::span<const ShardGene> genes, std::span<OrderId> ids);
  // For buyers in braces: NextBatch({a, b}, ids). Empty braces mean no buyers, not no genes.
  absl::StatusOr<size_t> NextBatch(std::initializer_list<BuyerKey> buyers, std::span<OrderId> ids);
  // The same, but waits for the store until `deadline`. Sets fewer than buyers.size() IDs only if
  // the next one failed as Next would.
  absl::StatusOr<size_t> NextBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids,
                                   Deadline deadline);
  absl::StatusOr<size_t> NextBatch(std::span<const ShardGene> genes, std::span<OrderId> ids,
                                   Deadline deadline);
  absl::StatusOr<size_t> NextBatch(std::span<const BuyerKey> buyers, std::span<OrderId> ids,
                                   Timeout timeout);
  absl::StatusOr<size_t> NextBatch(std::span<const ShardGene> genes, std::span<OrderId> ids,
                                   Timeout timeout);
  absl::StatusOr<size_t> NextBatch(std::initializer_list<BuyerKey> buyers, std::span<OrderId> ids,
                                   Deadline deadline);
  absl::StatusOr<size_t> NextBatch(std::initializer_list<BuyerKey> buyers, std::span<OrderId> ids,
                                   Timeout timeout);

  // Allocates a segment for every section that has none, so that the first callers need not wait.
  // Makes one call to each store for up to 1,024 of its sections. Call it before traffic arrives.
  // It costs up to 64 sequences per section, also in sections that stay unused. Returns the error
  // that Next would return for the first section without a segment; segments that were allocated
  // stay.
  absl::Status Warm(Deadline deadline);
  // Only for the sections of these buyers.
  absl::Status Warm(Deadline deadline, std::span<const BuyerKey> buyers);
  absl::Status Warm(Timeout timeout);
  absl::Status Warm(Timeout timeout, std::span<const BuyerKey> buyers);

  GeneratorStats Stats() const;
  // Order IDs handed out by section, computed from the cursors as GeneratorStats::ids: section i
  // has the 65,536 / size() vnodes from i × that on. Use them to divide the load of this process
  // among shards. Empty in a forked child.
  std::vector<uint64_t> IdsBySection() const;

 private:
  class Rep;
  explicit OrderIdGenerator(Rep* rep);
  absl::StatusOr<OrderId> TryNextSlowly(ShardGene gene);

  const internal::HotCounters hot_;  // a view of rep_, here so that TryNext is inlined
  Rep* rep_;                         // not a unique_ptr: a forked child abandons it
};

}  // namespace locus

#endif  // LOCUS_ORDER_ID_GENERATOR_H_
