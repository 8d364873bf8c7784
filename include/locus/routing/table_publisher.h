// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_PUBLISHER_H_
#define LOCUS_ROUTING_TABLE_PUBLISHER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/routing_table.h"

namespace locus {

// One of the tables that a place keeps.
struct PublishedEpoch {
  uint64_t epoch = 0;
  // When it was published, by the clock of the place (of the publisher, where the place has none).
  absl::Time published_at;
};

// Puts routing tables where a TableSource of the same place finds them, and keeps those before.
// Publishing is a compare-and-set on the epoch: of any number of publishers that start from one
// table one succeeds, and nothing is overwritten unseen.
//
// Errors beyond those named: UNAVAILABLE: the place does not answer; a publication may have
// been carried out all the same, and repeating it with the same arguments is harmless.
// FAILED_PRECONDITION: refused until somebody repairs. DATA_LOSS: what is stored contradicts
// itself. Messages name the place, never a password. Thread safety: all methods may be called from
// any thread.
class TablePublisher {
 public:
  virtual ~TablePublisher() = default;

  // The newest table. NOT_FOUND: nothing was published yet. DATA_LOSS: it is no routing table.
  virtual absl::StatusOr<RoutingTable> Current() = 0;

  // Makes `table` the newest where the newest epoch is `expected` (0: nothing was published yet).
  // OK without a change: it is the newest already, equal in every part. ABORTED: the newest is of
  // another epoch, named in the message; read Current() and decide again. INVALID_ARGUMENT: the
  // epoch of `table` is not greater than `expected`.
  virtual absl::Status Publish(const RoutingTable& table, uint64_t expected) = 0;

  // What is kept, the newest first, at most `most` (at least 1, or INVALID_ARGUMENT). At least the
  // last 100 tables are kept. Empty: nothing was published yet.
  virtual absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) = 0;

  // A table that is kept. NOT_FOUND, naming the epochs there are.
  virtual absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) = 0;

  // For messages, without credentials.
  virtual std::string place() const = 0;
};

// The epoch to publish next where the newest is `newest` (0: there is none): the one after the
// highest that is kept, also where the newest table was deleted, or an older one put in its place.
// OUT_OF_RANGE: there is none above it.
absl::StatusOr<uint64_t> NextEpoch(TablePublisher& publisher, uint64_t newest);

// Publishes the shards, ranges and moves of the kept table `epoch` anew, as NextEpoch: routers
// never go back to a lower epoch. Answers what it published. ABORTED: somebody else published
// meanwhile.
absl::StatusOr<RoutingTable> RestoreTable(TablePublisher& publisher, uint64_t epoch);

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_PUBLISHER_H_
