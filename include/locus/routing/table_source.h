// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_SOURCE_H_
#define LOCUS_ROUTING_TABLE_SOURCE_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

// A document as a source has it, not checked yet.
struct SourcedTable {
  std::string document;  // should be the JSON of a RoutingTable
  // Tells this document from those before and after it (a revision, an ETag). Only the source
  // understands it. Never empty.
  std::string version;
};

// Where routing tables come from: a file, etcd, MariaDB, HTTP (locus/routing/file_table.h and
// locus/routing/engine/). Router::Open follows one: it asks for the current document and then for
// every newer one. A document that was replaced before it was fetched may be skipped.
//
// A source returns whatever it finds, even an older table or no table at all: the follower decides
// what is installed. Sources never back off after a failure; the follower does.
//
// Thread safety: Next is called by one thread at a time; LookNow, and everything const, from any.
// Fork: a forked child must not call a source or destroy it.
class TableSource {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // What RoutingTable::ToJson writes of the largest legal table fits, with little to spare. A
  // longer document is refused (FAILED_PRECONDITION, naming both lengths) before it is held in
  // memory.
  static constexpr size_t kMaxDocumentBytes = size_t{32} << 20;

  virtual ~TableSource() = default;

  // Returns the source's document as soon as its version is not `known` (empty: none is known).
  // nullopt: during this call the source confirmed that `known` is its newest; at the deadline, or
  // after LookNow. The last question may exceed the deadline by as much as the engine documents.
  //
  // UNAVAILABLE: the source does not answer; the next call tries again. NOT_FOUND: it answers, but
  // has no table (it may have been emptied). FAILED_PRECONDITION: it refuses until somebody repairs
  // rights, certificates or what is stored there. Messages name the place, never a password.
  virtual absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                           TimePoint deadline) = 0;

  // Has the Next() under way, or if there is none the next one, ask the source once more and return
  // at once. For callers that know of a newer table, and for shutting down.
  virtual void LookNow() = 0;

  // The place of the table, for messages and last-good files: "etcd at h1:2379 key locus/table".
  // Without credentials. Sources of one place have the same text.
  virtual std::string place() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_SOURCE_H_
