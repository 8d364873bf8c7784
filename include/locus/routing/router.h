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
#include <string_view>
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
#include "locus/str.h"

namespace locus {

// Where the orders of a vnode may be.
struct GeneRoute {
  const RoutedShard* owner = nullptr;
  const RoutedShard* target = nullptr;  // nullptr while the vnode does not move
  uint32_t permyriad = 0;               // `target` owns the cohorts below this

  friend bool operator==(const GeneRoute&, const GeneRoute&) = default;
};

// A shard that may hold orders of a buyer: those in the cohorts first_cohort..end_cohort - 1.
struct BuyerRoute {
  const RoutedShard* shard = nullptr;
  uint32_t first_cohort = 0;
  uint32_t end_cohort = 0;

  // The shard has none of the buyer's orders by this table and need not be asked.
  bool empty() const { return first_cohort == end_cohort; }
  bool Holds(const OrderId& id) const {
    return id.cohort() >= first_cohort && id.cohort() < end_cohort;
  }
  friend bool operator==(const BuyerRoute&, const BuyerRoute&) = default;
};

// One shard, or two while the vnode moves: first the one with more cohorts, which is the likelier
// one. Their cohorts are disjoint and together complete.
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

// The orders on one shard, in the order in which Router::Group got them.
struct ShardOrders {
  const RoutedShard* shard = nullptr;
  std::span<const OrderId> ids;
  std::span<const uint32_t> positions;  // ids[i] stood at positions[i]
};

// The result of Router::Group. Each thread needs its own. Reuse it: it allocates only to hold more
// orders or shards than before.
class OrderGroups {
 public:
  OrderGroups() = default;
  // The spans of shards() stay valid; the object moved from is empty.
  OrderGroups(OrderGroups&&) = default;
  OrderGroups& operator=(OrderGroups&&) = default;

  // The shards that have any of the orders, in the order of each shard's first one. Valid until the
  // next Group into this object, and while this object and the Router exist. While a shard's new
  // endpoint is being installed, its orders may be in two groups, one for each endpoint.
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

// A table that a Router refused to install.
struct TableRefusal {
  uint64_t epoch = 0;   // 0: the document could not be read far enough to know
  std::string version;  // SourcedTable::version
  // INVALID_ARGUMENT: the document is not a routing table. ABORTED: its epoch is not greater than
  // that of the table in force, and the tables differ. FAILED_PRECONDITION: it has another
  // table_id. OUT_OF_RANGE: the Router has no room for its shards (Router::Install).
  absl::Status reason;
  absl::Time at;       // when it was last refused
  uint64_t times = 1;  // how often it was refused in a row
};

// A snapshot of one Router. Counters start at 0 when it is made and never fall.
struct RouterStats {
  enum class Source {
    kNone,       // the Router has no source
    kFollowing,  // the last answer was good, and the source's newest table is in force
    kRefused,    // the source answered, but its table was refused: see last_refusals.front()
    kFailing,    // the source did not answer, returned an error, or has no table: see source_error
  };

  // The table in force.
  uint64_t epoch = 0;
  absl::Time installed_at;
  uint64_t installs = 0;  // tables installed, the first one included
  // How old the table in force may be: the time since the beginning of the last question that the
  // source answered by confirming the table as its newest. InfiniteDuration: it never has.
  absl::Duration age = absl::InfiniteDuration();
  // The table in force comes from the last-good file, and the source has not confirmed it yet.
  bool from_last_good_file = false;

  // The source.
  Source source = Source::kNone;
  absl::Status source_error;   // OK: the last answer was good
  uint64_t reads = 0;          // questions to the source that ended, failed ones included
  uint64_t read_failures = 0;  // of these, those that failed
  uint64_t refusals = 0;       // tables refused; all of them, not only those in last_refusals
  std::vector<TableRefusal> last_refusals;  // at most 8, the newest first

  // Calls of Refresh.
  uint64_t refreshes = 0;         // those that had to wait
  uint64_t refresh_timeouts = 0;  // of these, those that ended with DEADLINE_EXCEEDED
  uint64_t refreshing = 0;        // those that wait now

  // Distinct shards (id, name, endpoint) that this Router has ever routed to, and their limit. At
  // the limit it refuses tables with further ones, and the process must be restarted.
  uint64_t descriptions = 0;
  uint64_t max_descriptions = 0;

  // The last-good file; all 0 and OK without one.
  uint64_t last_good_writes = 0;    // tables written
  uint64_t last_good_failures = 0;  // attempts that failed
  uint64_t last_good_epoch = 0;     // of the table in the file; 0: unknown
  absl::Status last_good_error;     // OK: the last attempt succeeded, or there was none
};

// "none", "following", "refused", "failing".
std::string_view ToString(RouterStats::Source source);
template <typename Sink>
void AbslStringify(Sink& sink, RouterStats::Source source) {
  sink.Append(std::string(ToString(source)));
}

// An event of a Router, for logs and alarms.
struct RouterEvent {
  enum class Kind {
    kInstalled,  // a newer table is in force
    kRefused,    // a table was not installed; `status` says why
    // The Router was opened while the source did not answer or had no table to install. The
    // last-good table is in force; `status` is the source's.
    kStartedFromFile,
    kLastGoodFileIgnored,  // the file belongs to another table or place; `status` says why
    kSourceFailed,         // the source fails; reported again only after it recovered
    kSourceRecovered,
    kLastGoodFileFailed,      // the table in force could not be written to the last-good file
    kDescriptionsNearlyFull,  // RouterStats::descriptions passed nine tenths of the limit
  };
  Kind kind;
  uint64_t epoch = 0;  // of the table that the event is about; 0: unknown
  absl::Status status;
};

// "installed", "refused", "started_from_file", "last_good_file_ignored", "source_failed",
// "source_recovered", "last_good_file_failed", "descriptions_nearly_full".
std::string_view ToString(RouterEvent::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, RouterEvent::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

// How a Router follows its source.
struct RouterOptions {
  // Runs the task that follows the source, which blocks a thread while it waits for the source.
  // Must outlive the Router. nullptr: the Router starts a thread of its own.
  Executor* executor = nullptr;
  // Must outlive the Router.
  Clock* clock = &Clock::System();
  // A local file that keeps the newest table, so that a service can start while its source is down.
  // It is rewritten after each install from the source, atomically and with a checksum, on a thread
  // of its own. Each process needs its own file; a file of other contents is not replaced. It is
  // used only for the source that it was written from (TableSource::place), and only if the source
  // has no table with another table_id. Empty: no file; Open then fails if its source does not
  // answer.
  std::string last_good_file = {};
  // How long Open waits for the source before it starts from the file or fails. 0: it asks once.
  absl::Duration open_timeout = absl::Seconds(3);
  // The longest time between confirmations that the table in force is the source's newest. Longer:
  // RouterStats::age rises to twice as much in quiet times. Shorter: more questions to the source.
  // 100 ms..1 h.
  absl::Duration confirm_every = absl::Seconds(5);
  // The longest wait between questions to a source that fails. Waits begin at 50 ms and double;
  // each is shortened by a random part of up to a half. 50 ms..1 h.
  absl::Duration longest_pause = absl::Seconds(5);
  // Calls never overlap. They come from the following thread, from the thread that writes the file,
  // and during Open from the caller's. Must not call into the Router. May be empty.
  std::function<void(const RouterEvent&)> on_event = {};

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Says which shard an order is on, by the routing table that was installed last. The table is a
// hint; the fence inside the shard is authoritative.
//
// The shards that it returns stay valid and unchanged while the Router exists. A shard whose name
// or endpoint changes gets a new RoutedShard; one whose weight or labels change keeps it. They are
// never freed, so their number is limited (kMaxDescriptions).
//
// Thread safety: all methods may be called from any thread, also while tables are installed. Cost:
// routing is one load of a 64-bit word, for any number of ranges; no lock, no allocation. Install
// rewrites only the words that change. About 0.5 MiB of memory and the table itself. Fork: a forked
// child can still route. Install and Refresh fail there, Stats has the epoch only, Table returns
// nullptr, and destruction returns at once.
class Router {
 public:
  // Distinct shards (id, name, endpoint) in a Router's life. A table has at most as many.
  static constexpr size_t kMaxDescriptions = 65536;

  // Routes by `table` until another one is passed to Install.
  explicit Router(RoutingTable table);
  // Routes by the newest table of `source`, or by the last-good one, and follows the source.
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no thread can be started. If there is no table to
  // start from, returns the error of the last-good file if there is one: DATA_LOSS: it is damaged;
  // FAILED_PRECONDITION: it cannot be read, is of another place, or has an earlier or later format.
  // Otherwise returns the error of the source, which is asked until open_timeout while it is
  // UNAVAILABLE; FAILED_PRECONDITION: its table is refused.
  static absl::StatusOr<std::unique_ptr<Router>> Open(std::unique_ptr<TableSource> source,
                                                      RouterOptions options = {});
  // Waits for the question to the source under way, and up to 5 s for the last-good file. A disk
  // that stalls for longer delays no caller: a thread of the library continues the write.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // The one shard that the table gives this order to.
  const RoutedShard& Route(const OrderId& id) const {
    uint64_t word = words_[id.gene().value()].load(std::memory_order_acquire);
    if (word < kPermyriadUnit) [[likely]]
      return Description(word);
    return Description(id.cohort() < word / kPermyriadUnit ? word >> kTargetShift : word);
  }
  // The owner and, while the vnode moves, the target: the cohort is unknown without the order ID.
  GeneRoute Route(ShardGene gene) const;
  // The gene of an order_no needs no key; at a public edge decode it first and route the order ID.
  GeneRoute Route(const OrderNo& number) const { return Route(number.gene()); }
  GeneRoute Route(OrderNo64 number) const { return Route(number.gene()); }

  // The shards that may hold orders of this buyer.
  BuyerRoutes RoutesOf(BuyerKey buyer) const;
  BuyerRoutes RoutesOf(ShardGene gene) const;

  // Groups orders by shard and routes each of them once. At most 2^32 - 1 orders. Replaces the
  // contents of `groups`, whose spans point into it and into this Router.
  void Group(std::span<const OrderId> ids, OrderGroups& groups) const;

  // Replaces the table. A reader sees the old route or the new route of each vnode, never a
  // mixture. ABORTED: the epoch is not greater than epoch(). FAILED_PRECONDITION: the table has
  // another table_id, or this is a forked child. OUT_OF_RANGE: with its shards the Router would
  // hold more than kMaxDescriptions. After an error the table in force stays. A Router that follows
  // a source keeps the table with the higher epoch.
  absl::Status Install(RoutingTable table);

  // Waits until a table of at least `min_epoch` is in force. Call it after a shard has refused a
  // write (ABORTED). The source is asked one question at a time for any number of callers: at once
  // for the first one, then after waits that grow from 10 ms to 1 s, with jitter. A caller wakes
  // only when its epoch is in force or at its deadline. DEADLINE_EXCEEDED: the message has both
  // epochs and the source's last answer. FAILED_PRECONDITION: this is a forked child. A Router
  // without a source waits for an Install.
  absl::Status Refresh(uint64_t min_epoch, std::chrono::steady_clock::time_point deadline);

  // Waits for the table that shows a change of a move. Call it after the fence of a shard has named
  // a shard that the table in force does not have. OK: the table in force has a move of the gene's
  // vnode with at least `step`, or has none because a table newer than that at the call is in
  // force. Asks, wakes and fails as Refresh does.
  absl::Status RefreshMove(ShardGene gene, uint64_t step,
                           std::chrono::steady_clock::time_point deadline);

  RouterStats Stats() const;

  // The table in force, with weights and labels; nullptr only in a forked child. It takes a lock:
  // do not call it for each request.
  std::shared_ptr<const RoutingTable> Table() const;

  // The epoch of the table in force. A route taken after epoch() returned E is from E or a later
  // one.
  uint64_t epoch() const;

 private:
  class Rep;

  // A vnode's word: permyriad | index of target 16 | index of owner 16, the highest first; a vnode
  // that does not move has its owner for target and permyriad 0. An index i is that of
  // blocks_[i / kBlockSize][i % kBlockSize].
  static constexpr int kTargetShift = 16;
  static constexpr uint64_t kPermyriadUnit = uint64_t{1} << 32;
  static constexpr size_t kBlockSize = 256;

  uint64_t ShardIndexOf(const OrderId& id) const;
  explicit Router(std::unique_ptr<Rep> rep);

  const RoutedShard& Description(uint64_t index) const {
    index &= 0xFFFF;
    return blocks_[index / kBlockSize][index % kBlockSize];
  }

  std::unique_ptr<Rep> rep_;
  const std::atomic<uint64_t>* words_;            // of rep_; here, so that Route is inlined
  const std::unique_ptr<RoutedShard[]>* blocks_;  // of rep_
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_H_
