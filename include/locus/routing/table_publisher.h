// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_PUBLISHER_H_
#define LOCUS_ROUTING_TABLE_PUBLISHER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_change.h"

namespace locus {

// One of the tables that a place keeps.
struct PublishedEpoch {
  uint64_t epoch = 0;
  // When it was published, by the clock of the place (of the publisher, where the place has none).
  absl::Time published_at;
};

// Puts routing tables where a TableSource of the same place finds them, and keeps the earlier ones.
// Publishing is a compare-and-set on the epoch: of any number of publishers that start from one
// table one succeeds, and no table is overwritten unseen.
//
// Errors beyond those named: UNAVAILABLE: the place does not answer; the table may have been
// published all the same, and publishing it again with the same arguments is harmless.
// FAILED_PRECONDITION: refused until somebody repairs the cause. DATA_LOSS: what is stored
// contradicts itself. Messages name the place, never a password. Thread safety: all methods may be
// called from any thread.
class TablePublisher {
 public:
  virtual ~TablePublisher() = default;

  // The newest table. NOT_FOUND: nothing was published yet. DATA_LOSS: it is no routing table.
  virtual absl::StatusOr<RoutingTable> Current() = 0;

  // Makes `table` the newest where the newest epoch is `expected` (0: nothing was published yet).
  // OK without a change: it is the newest already, equal in every part. Refused as
  // JudgePublication says; the guarded changes in `named` are allowed, and no others.
  virtual absl::Status Publish(const RoutingTable& table, uint64_t expected,
                               const GuardedChanges& named) = 0;
  absl::Status Publish(const RoutingTable& table, uint64_t expected) {
    return Publish(table, expected, {});
  }

  // What is kept, the newest first, at most `most` (at least 1, or INVALID_ARGUMENT). At least the
  // last 100 tables are kept. Empty: nothing was published yet.
  virtual absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) = 0;

  // A table that is kept. NOT_FOUND, naming the epochs there are.
  virtual absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) = 0;

  // For messages, without credentials.
  virtual std::string place() const = 0;
};

// What a publisher finds at its place before it writes.
struct PublishedState {
  const RoutingTable* newest = nullptr;  // nullptr: there is none, or it was deleted
  uint64_t highest = 0;                  // the highest epoch that is kept; 0: none
};
enum class Publication {
  kNeeded,
  kIsNewest,  // the table is the newest already: nothing is to be written
};

// "needed", "is_newest".
std::string_view ToString(Publication publication);
template <typename Sink>
void AbslStringify(Sink& sink, Publication publication) {
  sink.Append(ToString(publication));
}

// The one rule of every publisher. Its caller holds off other publishers between reading `state`
// and writing; messages do not name the place.
//
// INVALID_ARGUMENT: the epoch of `table` is not greater than `expected`, or `named` has a change
// that `table` does not make. FAILED_PRECONDITION: the newest table has another table_id, or has
// one and `table` none; or `table` makes a guarded change that `named` leaves out: the message
// lists all of them. ABORTED: the newest epoch is not `expected`, or an epoch that is kept is not
// below that of `table`: compare with the newest table and decide again.
absl::StatusOr<Publication> JudgePublication(const PublishedState& state, const RoutingTable& table,
                                             uint64_t expected, const GuardedChanges& named);

// The epoch to publish next where the newest is `newest` (0: there is none): the one after the
// highest that is kept, also where the newest table was deleted or replaced by an older one.
// OUT_OF_RANGE: there is none above it.
absl::StatusOr<uint64_t> NextEpoch(TablePublisher& publisher, uint64_t newest);

// How a kept table is published again.
struct RestoreOptions {
  // The highest epoch that any running router has (RouterStats::epoch). The table is published
  // above it, since routers refuse a lower epoch. 0: the place has seen every epoch.
  uint64_t above = 0;
  // Required where `above` is higher than every epoch that the place has: then the place was put
  // back to an older state and has lost tables that routers use. Its highest epoch, which says that
  // its caller knows. What routers have is in their last good files; publishing that loses nothing.
  std::optional<uint64_t> lost_after = std::nullopt;
  // As for TablePublisher::Publish: a restored table makes guarded changes like any other, for
  // instance where it drops a move that is in progress now, or where `above` jumps: a mistyped
  // epoch would end the place's epochs for good.
  GuardedChanges named = {};
};

// A table to publish, and the newest one that it was made for.
struct PreparedTable {
  std::optional<RoutingTable> newest;  // nullopt: there is none
  RoutingTable table;

  uint64_t expected() const { return newest ? newest->epoch() : 0; }
};

// The shards, ranges and moves of the kept table `epoch` as the table to publish next; publishes
// nothing. It keeps the place's table_id. FAILED_PRECONDITION: lost_after is needed, or is not the
// highest epoch of the place. INVALID_ARGUMENT: lost_after is given and not needed.
absl::StatusOr<PreparedTable> PrepareRestore(TablePublisher& publisher, uint64_t epoch,
                                             const RestoreOptions& options = {});

// Publishes what PrepareRestore answers, and returns it. ABORTED: somebody else published
// meanwhile.
absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch,
                                          const RestoreOptions& options = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_PUBLISHER_H_
