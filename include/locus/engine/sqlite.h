// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_SQLITE_H_
#define LOCUS_ENGINE_SQLITE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/sequencer.h"

namespace locus {

// A segment store in one SQLite file (WAL, synchronous=FULL), shared by any number of processes of
// one host. Beside it lies the sidecar `<realpath>-locus`, by whose identity a lost or rewound file
// is noticed (docs/operations.md): back up and restore the database file without it. One file holds
// at most 4,096 spaces; Create beyond that is FAILED_PRECONDITION.
//
// SQLite has no clock of its own: caller_now is the store's time, and a caller more than 60 s
// behind the newest lease is refused. DeclareRestored takes the caller's word that its clock is
// right: it raises base above all that the newest lease's clock could reach, and leases go on.
//
// Blocks for a file lock up to Options::busy_timeout, then UNAVAILABLE; a disk may take its time.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction closes nothing;
// nor can the child open a store of its own while its parent had one open.
class SqliteSegmentStore : public SegmentStore {
 public:
  struct Options {
    // How long to wait for another process's transaction. Shorter: UNAVAILABLE under contention.
    absl::Duration busy_timeout = absl::Seconds(5);
    // Whether a missing file is created (an empty store, no space in it yet).
    bool create = false;
  };

  // NOT_FOUND: there is no such file and Options::create is false. FAILED_PRECONDITION: it cannot
  // be written, is no SQLite database, or has a schema of another version. Messages name the path.
  static absl::StatusOr<std::unique_ptr<SqliteSegmentStore>> Open(const std::string& path,
                                                                  const Options& options);
};

// Numbers per key, in the same file: a row a key, one transaction a call. The clock of ttl is the
// host's. A file that was put back repeats the numbers since: Set the keys above them first.
//
// Blocks, and behaves in a forked child, as the segment store.
class SqliteSequencer : public Sequencer {
 public:
  // As SqliteSegmentStore::Open; INVALID_ARGUMENT: SequencerOptions::Check.
  static absl::StatusOr<std::unique_ptr<SqliteSequencer>> Open(
      const std::string& path, const SqliteSegmentStore::Options& options,
      const SequencerOptions& sequencer_options);

 protected:
  explicit SqliteSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

}  // namespace locus

#endif  // LOCUS_ENGINE_SQLITE_H_
