// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_TABLE_SOURCE_H_
#define LOCUS_ROUTING_TABLE_SOURCE_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace locus {

// A document as a source has it; nobody has checked it yet.
struct SourcedTable {
  std::string document;  // the JSON of a RoutingTable, if all is well
  // How the source tells this document from those before and after it (a revision, an ETag); opaque
  // to everybody else, never empty.
  std::string version;
};

// Where routing tables come from: a file, etcd, MariaDB, HTTP (locus/routing/file_table.h and
// locus/routing/engine/). Router::Open follows one: it asks for the current document and then for
// every newer one. A document that was overtaken before it was fetched may be passed over.
//
// A source reports what it finds, also what is older or no table at all: what may be installed is
// decided in one place, by the follower. It waits between failures nowhere: that is the follower's
// part too.
//
// Thread safety: Next is called by one thread at a time; LookNow, and everything const, from any.
// Fork: a forked child calls nothing of it and does not destroy it.
class TableSource {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // A document of the largest table that there may be fits well within. What is longer is refused
  // (FAILED_PRECONDITION, naming both lengths) before it is held in memory.
  static constexpr size_t kMaxDocumentBytes = size_t{64} << 20;

  virtual ~TableSource() = default;

  // Answers as soon as the source has a document whose version is not `known` (empty: none is
  // known), with that document. nullopt: the source answered, and said within this call that
  // `known` is still its newest; by `deadline` at the latest, or after LookNow. One late look may
  // exceed the deadline by what an engine says.
  //
  // UNAVAILABLE: the source does not answer; the next call begins anew. NOT_FOUND: it answers, and
  // has no table (it may have been emptied). FAILED_PRECONDITION: it refuses until somebody repairs
  // (rights, certificates, what is there is no table of ours). Messages name the place, never a
  // password.
  virtual absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                           TimePoint deadline) = 0;

  // A Next() that is waiting for news asks its source once more and answers at once; where none is
  // under way, the next one does. For callers that heard of a newer table, and for shutting down.
  virtual void LookNow() = 0;

  // For messages: "etcd at h1:2379 key locus/table", without credentials.
  virtual std::string place() const = 0;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_TABLE_SOURCE_H_
