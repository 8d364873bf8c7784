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
#include "locus/str.h"

namespace locus {

// The author and the reason of a publication. A place keeps it beside the table, whose format has
// no room for it. Either text may be empty; both are for tables that a place got without a note.
struct PublicationNote {
  std::string author;
  std::string reason;

  static constexpr size_t kMostBytes = 512;  // of each text
  // INVALID_ARGUMENT: a text is longer, is not UTF-8, has a URI with a password, or has a character
  // that is a control character, is invisible or changes the direction. Joiners (U+200C, U+200D)
  // and variation selectors (U+FE0E, U+FE0F) are accepted, because words and emoji need them.
  absl::Status Check() const;
  friend bool operator==(const PublicationNote&, const PublicationNote&) = default;
};

// One of the tables that a place keeps.
struct PublishedEpoch {
  uint64_t epoch = 0;
  // When it was published, by the clock of the place (of the publisher, where the place has none).
  absl::Time published_at;
  // Safe to print on one line, even if another program wrote it.
  PublicationNote note = {};
};

// Publishes routing tables at a place, where a TableSource finds them, and keeps the earlier ones.
// Publishing is a compare-and-set on the epoch: of several publishers that start from the same
// table one succeeds, and no table is overwritten unseen.
//
// Errors of every method: UNAVAILABLE: the place does not answer. The table may have been published
// nevertheless; publishing it again with the same arguments is harmless. FAILED_PRECONDITION: the
// place refuses until the cause is repaired. DATA_LOSS: the stored state contradicts itself.
// Messages name the place, never a password. Thread safety: all methods may be called from any
// thread.
class TablePublisher {
 public:
  virtual ~TablePublisher() = default;

  // The newest table. NOT_FOUND: nothing was published yet. DATA_LOSS: it is not a routing table.
  virtual absl::StatusOr<RoutingTable> Current() = 0;

  // Makes `table` the newest if the newest epoch is `expected` (0: nothing was published yet).
  // Returns OK without a change if the newest table is equal already. Allows the guarded changes in
  // `named`, and no others. Errors as for JudgePublication, and of note.Check().
  virtual absl::Status Publish(const RoutingTable& table, uint64_t expected,
                               const GuardedChanges& named, const PublicationNote& note) = 0;
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named) {
    return Publish(table, expected, named, {});
  }
  absl::Status Publish(const RoutingTable& table, uint64_t expected) {
    return Publish(table, expected, {}, {});
  }

  // The tables that are kept, the newest first, at most `most`. A place keeps at least the last
  // 100. Empty: nothing was published yet. INVALID_ARGUMENT: `most` is 0.
  virtual absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) = 0;

  // The kept table of an epoch. NOT_FOUND: it is not kept; the message lists the epochs that are.
  virtual absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) = 0;

  // The place, for messages; without credentials.
  virtual std::string place() const = 0;
};

// The state of a place before a publisher writes.
struct PublishedState {
  const RoutingTable* newest = nullptr;  // nullptr: there is none, or it was deleted
  uint64_t highest = 0;                  // the highest epoch that is kept; 0: none
};
enum class Publication {
  kNeeded,
  kIsNewest,  // the table is the newest already; nothing needs to be written
};

// "needed", "is_newest".
std::string_view ToString(Publication publication);
template <typename Sink>
void AbslStringify(Sink& sink, Publication publication) {
  sink.Append(std::string(ToString(publication)));
}

// Decides whether a table may be published; every publisher uses it. The caller keeps other
// publishers out between reading `state` and writing. Messages do not name the place.
//
// INVALID_ARGUMENT: the newest epoch is `expected`, and that of `table` is not greater; or `named`
// has a change that `table` does not make. FAILED_PRECONDITION: the newest table has a table_id and
// `table` has another or none; or `table` makes guarded changes that are not in `named`, which the
// message lists. ABORTED: the newest epoch is not `expected`, or a kept epoch is not below that of
// `table`: compare with the newest table and decide again.
absl::StatusOr<Publication> JudgePublication(const PublishedState& state, const RoutingTable& table,
                                             uint64_t expected, const GuardedChanges& named);

// The epoch to publish next if the newest is `newest` (0: there is none). It is one above the
// highest epoch that is kept, even if the newest table was deleted or replaced by an older one.
// OUT_OF_RANGE: no epoch is left.
absl::StatusOr<uint64_t> NextEpoch(TablePublisher& publisher, uint64_t newest);

// How a kept table is published again.
struct RestoreOptions {
  // The highest epoch of any running router (RouterStats::epoch). The table is published above it,
  // since routers refuse a lower epoch. 0: no router has a higher epoch than the place.
  uint64_t above = 0;
  // The highest epoch of the place. Required if `above` is higher than that, to confirm that the
  // place was restored to an older state and has lost tables that routers use. Publishing a table
  // from a router's last-good file instead loses nothing.
  std::optional<uint64_t> lost_after = std::nullopt;
  // As for TablePublisher::Publish. A restored table makes guarded changes like any other: it may
  // drop a move in progress, or jump far ahead because of `above`, where a typing error would use
  // up the epochs of the place.
  GuardedChanges named = {};
};

// A table to publish, and the newest table that it was prepared for.
struct PreparedTable {
  std::optional<RoutingTable> newest;  // nullopt: there is none
  RoutingTable table;

  uint64_t expected() const { return newest ? newest->epoch() : 0; }
};

// The next table to publish, with the shards, ranges and moves of the kept table `epoch` and the
// place's table_id. Publishes nothing. DATA_LOSS: the newest table is not a routing
// table, and named.spoiled does not say so. FAILED_PRECONDITION: lost_after is required, or is not
// the highest epoch of the place. INVALID_ARGUMENT: lost_after is given but not required.
absl::StatusOr<PreparedTable> PrepareRestore(TablePublisher& publisher, uint64_t epoch,
                                             const RestoreOptions& options = {});

// Publishes the table of PrepareRestore and returns it. ABORTED: another publisher was faster.
absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch,
                                          const RestoreOptions& options = {},
                                          const PublicationNote& note = {});

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_PUBLISHER_H_
