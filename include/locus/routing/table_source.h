// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_SOURCE_H_
#define LOCUS_ROUTING_TABLE_SOURCE_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "locus/internal/cxx20.h"

namespace locus {

// A document from a source, not checked yet.
struct SourcedTable {
  std::string document;  // should be the JSON of a RoutingTable
  // Distinguishes this document from earlier and later ones (a revision, an ETag). Opaque to others
  // than the source. Never empty.
  std::string version;
};

// A source of routing tables: a file, etcd, MariaDB, HTTP (locus/routing/file_table.h and
// locus/routing/engine/). Router::Open follows one: it fetches the current document and then every
// newer one. A document that is replaced before it was fetched may be skipped.
//
// A source returns the document that it finds, even an older table or an invalid one; the follower
// decides what is installed. Sources never back off after a failure; the follower does.
//
// Thread safety: Next is called by one thread at a time; LookNow, and everything const, from any.
// Fork: a forked child must not call a source or destroy it.
class TableSource {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Slightly more than RoutingTable::ToJson writes for the largest legal table. A longer document
  // is refused before it is held in memory (FAILED_PRECONDITION; the message has both lengths).
  static constexpr size_t kMaxDocumentBytes = size_t{32} << 20;

  virtual ~TableSource() = default;

  // Returns the source's document as soon as its version is not `known` (empty: none is known).
  // nullopt, at the deadline or after LookNow: the source confirmed during this call that `known`
  // is its newest. The last question may exceed the deadline by as much as the engine documents.
  //
  // UNAVAILABLE: the source does not answer; the next call tries again. NOT_FOUND: it answers, but
  // has no table (it may have been emptied). FAILED_PRECONDITION: it refuses until an operator
  // repairs rights, certificates or what is stored there. Messages name the place, never a
  // password.
  virtual absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                           TimePoint deadline) = 0;

  // Makes the Next() under way ask the source once more and return at once; if none is under way,
  // the next one does. For callers that know of a newer table, and for shutdown.
  virtual void LookNow() = 0;

  // The place of the table, for messages and last-good files: "etcd at h1:2379 key locus/table".
  // Without credentials. Sources of one place have the same text.
  virtual std::string place() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_SOURCE_H_
