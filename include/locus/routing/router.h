// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_H_
#define LOCUS_ROUTING_ROUTER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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
#include "locus/order_no.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"

namespace locus {

// Where the orders of a vnode may be.
struct GeneRoute {
  const Shard* owner = nullptr;
  const Shard* target = nullptr;  // nullptr while the vnode does not move
  uint32_t permyriad = 0;         // target owns the cohorts below it

  friend bool operator==(const GeneRoute&, const GeneRoute&) = default;
};

// A shard that may hold orders of a buyer, and which of them: those of cohorts first..end - 1.
struct BuyerRoute {
  const Shard* shard = nullptr;
  uint32_t first_cohort = 0;
  uint32_t end_cohort = 0;

  // By this table the shard has none of the buyer's orders and need not be asked.
  bool empty() const { return first_cohort == end_cohort; }
  bool Holds(const OrderId& id) const {
    return id.cohort() >= first_cohort && id.cohort() < end_cohort;
  }
  friend bool operator==(const BuyerRoute&, const BuyerRoute&) = default;
};

// One shard, or two while the vnode moves, the one with more cohorts (the likelier) first. Their
// bands are disjoint and together all cohorts.
class BuyerRoutes {
 public:
  size_t size() const { return routes_[1].shard == nullptr ? 1 : 2; }
  const BuyerRoute& operator[](size_t i) const { return routes_[i]; }
  const BuyerRoute* begin() const { return routes_.data(); }
  const BuyerRoute* end() const { return routes_.data() + size(); }

 private:
  friend class Router;
  std::array<BuyerRoute, 2> routes_;
};

// The orders of one shard, of those that Router::Group was given, in the order they were given in.
struct ShardOrders {
  const Shard* shard = nullptr;
  std::span<const OrderId> ids;
  std::span<const uint32_t> positions;  // ids[i] stood at positions[i]
};

// What Router::Group fills: one object of its own for each thread that groups. Kept and used again
// it allocates nothing, once it has seen as many orders and shards.
class OrderGroups {
 public:
  OrderGroups() = default;
  // What shards() says moves along; the object moved from holds nothing.
  OrderGroups(OrderGroups&&) = default;
  OrderGroups& operator=(OrderGroups&&) = default;

  // Shards that have any, in the order in which they first came. Good until the next Group into
  // this object, and as long as it and the Router live. Orders that were grouped while a changed
  // description of their shard was installed may stand in two groups, each of one description.
  std::span<const ShardOrders> shards() const { return shards_; }

 private:
  friend class Router;

  void Prepare(size_t orders);
  void SeeUpTo(uint16_t index);

  std::vector<ShardOrders> shards_;
  std::vector<OrderId> ids_;
  std::vector<uint32_t> positions_;
  // The Router's index of each order's shard, then those indexes in the order they first came.
  std::vector<uint16_t> index_of_each_;
  std::vector<uint16_t> indexes_;
  // By that index; 0 between calls.
  std::vector<uint32_t> cursors_;
};

// A table that a Router was given and did not install.
struct TableRefusal {
  uint64_t epoch = 0;   // 0: the document could not be read so far
  std::string version;  // SourcedTable::version
  // INVALID_ARGUMENT: no table; ABORTED: not newer than the one in force, and not equal to it;
  // OUT_OF_RANGE: as Install says.
  absl::Status reason;
  absl::Time at;       // when it was seen last
  uint64_t times = 1;  // in a row
};

struct RouterStats {
  enum class Source {
    kNone,       // the Router has no source
    kFollowing,  // the source answered when it was asked last
    kFailing,    // it did not, or refused, or has no table: source_error says what
  };

  uint64_t epoch = 0;  // of the table in force
  absl::Time installed_at;
  // Since the source was last asked and, to that question, said that it has no newer table than
  // that in force: how old the table may be. InfiniteDuration: it never did.
  absl::Duration age = absl::InfiniteDuration();
  // The table in force comes from the last good file, and the source has not confirmed it yet.
  bool from_last_good_file = false;
  Source source = Source::kNone;
  absl::Status source_error;  // OK: the last answer was good
  absl::Status
      last_good_error;    // OK: the file was written after the last install, or there is none
  uint64_t installs = 0;  // the first table included
  uint64_t refusals = 0;  // all, not only those in last_refusals
  std::vector<TableRefusal> last_refusals;  // at most 8, the newest first
};

// Something an operator may want to know, as it happens.
struct RouterEvent {
  enum class Kind {
    kInstalled,  // a newer table is in force
    kRefused,    // a table was not installed; `status` says why
    // The source did not answer at the start, or had no table to install: the last good table is in
    // force, `status` says why.
    kStartedFromFile,
    kSourceFailed,  // told once; again after it recovered
    kSourceRecovered,
    kLastGoodFileFailed,  // the table in force could not be written to the last good file
  };
  Kind kind;
  uint64_t epoch = 0;  // of the table it is about; 0: unknown
  absl::Status status;
};

// How a Router follows its source.
struct RouterOptions {
  // Runs the following; outlives the Router, and needs a thread for it, which it blocks while it
  // waits for news. nullptr: one thread of the Router's own.
  Executor* executor = nullptr;
  // Outlives the Router.
  Clock* clock = &Clock::System();
  // Where the last good table is kept, so that a service starts while the source is down. Written
  // (atomically, with a checksum) after each install from the source, by one process; a file of
  // each process its own. Empty: not kept, and a Router opens only when its source answers.
  std::string last_good_file = {};
  // How long Open tries the source before it starts from the file, or fails. 0: no longer than one
  // answer takes.
  absl::Duration open_timeout = absl::Seconds(3);
  // How long the source may go without confirming the table in force. Longer: RouterStats::age
  // rises higher in quiet times, to twice as much; shorter: more questions to the source.
  // 100 ms..1 h.
  absl::Duration confirm_every = absl::Seconds(5);
  // The longest pause after failures in a row; they begin at 50 ms and double, and a random part of
  // up to a half is taken off each. 50 ms..1 h.
  absl::Duration longest_pause = absl::Seconds(5);
  // Called on the following thread, during Open on the caller's; must not call into the Router. May
  // be empty.
  std::function<void(const RouterEvent&)> on_event = {};

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Answers which shard an order is on, from the routing table installed last. The table is a hint:
// the fence inside the shard is the truth.
//
// The pointers it answers stay valid, and what they point to unchanged, as long as the Router
// lives: a shard whose description changes gets a new Shard.
//
// Thread safety: all methods may be called from any thread, also while tables are installed.
// Fork: in a forked child everything may be called too; Install and Refresh are refused there,
// Stats knows the epoch alone, and destruction returns at once. Cost: routing is one load of a
// 64-bit word; it takes no lock, allocates nothing, and does not depend on the number of ranges.
// Install rewrites the words that change, and looks at no other. About 0.5 MiB, 16 bytes for each
// range, and 32 for each move.
class Router {
 public:
  // Of a table that changes by Install only.
  explicit Router(const RoutingTable& table);
  // With the newest table of `source`, or the last good one, and every newer one from then on.
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: the system has no thread to give. Where neither has
  // a table: what reading the file said, where there is one (DATA_LOSS: it is damaged;
  // FAILED_PRECONDITION: it cannot be read, or is of a later format), else what the source said,
  // asked again until open_timeout while it says UNAVAILABLE; FAILED_PRECONDITION: what it has is
  // refused.
  static absl::StatusOr<std::unique_ptr<Router>> Open(std::unique_ptr<TableSource> source,
                                                      RouterOptions options = {});
  // Waits for the question to the source that is under way.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // The one shard that the table gives this order to.
  const Shard& Route(const OrderId& id) const {
    uint64_t word = words_[id.gene().value()].load(std::memory_order_acquire);
    if (word < kPermyriadUnit) [[likely]]
      return Description(word);
    return Description(id.cohort() < word / kPermyriadUnit ? word >> kTargetShift : word);
  }
  // Without keys the cohort is unknown: owner and, while the vnode moves, target.
  GeneRoute Route(ShardGene gene) const;
  // The gene of an order_no needs no key; at a public edge decode it first and route the order ID.
  GeneRoute Route(const OrderNo& number) const { return Route(number.gene()); }
  GeneRoute Route(OrderNo64 number) const { return Route(number.gene()); }

  // The shards that may hold orders of this buyer.
  BuyerRoutes RoutesOf(BuyerKey buyer) const;
  BuyerRoutes RoutesOf(ShardGene gene) const;

  // Sorts orders by shard; each is routed once. At most 2^32 - 1 orders. What `groups` held before
  // is gone; it points into itself and this Router only.
  void Group(std::span<const OrderId> ids, OrderGroups& groups) const;

  // Replaces the table. A reader sees each vnode's old or new word, never a mixture.
  // ABORTED: its epoch is not greater than epoch(); OUT_OF_RANGE: more than 65,536 descriptions of
  // shards were seen in this Router's life; FAILED_PRECONDITION: in a forked child. The table in
  // force stays in either case. Of a Router that follows a source the higher epoch wins.
  absl::Status Install(const RoutingTable& table);

  // For callers whom a shard has just refused (ABORTED): returns when a table of at least
  // `min_epoch` is in force, at once where it is already; otherwise the source is asked now, not
  // when its time comes (100 times a second at most, for all callers). DEADLINE_EXCEEDED: naming
  // both epochs and what the source said last. FAILED_PRECONDITION: in a forked child. Without a
  // source it waits for an Install.
  absl::Status Refresh(uint64_t min_epoch, std::chrono::steady_clock::time_point deadline);

  RouterStats Stats() const;

  // Of the table in force. An answer given after epoch() returned E is from table E or a later one.
  uint64_t epoch() const;

 private:
  class Rep;

  // A vnode's word: permyriad | index of target 16 | index of owner 16, the highest first; a vnode
  // that does not move has its owner for target and permyriad 0. An index is that of a Shard in
  // blocks_[index / kBlockSize].
  static constexpr int kTargetShift = 16;
  static constexpr uint64_t kPermyriadUnit = uint64_t{1} << 32;
  static constexpr size_t kBlockSize = 256;

  uint64_t ShardIndexOf(const OrderId& id) const;
  explicit Router(std::unique_ptr<Rep> rep);

  const Shard& Description(uint64_t index) const {
    index &= 0xFFFF;
    return blocks_[index / kBlockSize][index % kBlockSize];
  }

  std::unique_ptr<Rep> rep_;
  const std::atomic<uint64_t>* words_;      // of rep_; here, so that Route is inlined
  const std::unique_ptr<Shard[]>* blocks_;  // of rep_
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_H_
