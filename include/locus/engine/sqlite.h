// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_SQLITE_H_
#define LOCUS_ENGINE_SQLITE_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/segment_store.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"
#include "locus/strict_store.h"
#include "locus/worker_lease_store.h"

namespace locus {

// A segment store in one SQLite file (WAL, synchronous=FULL), shared by any number of processes on
// one host. The sidecar `<realpath>-locus` beside it holds an identity by which the store notices
// that the file was lost or rewound (docs/run/engines-sqlite.md): back up and restore the database
// file without the sidecar. A file holds at most 4,096 spaces; Create fails with
// FAILED_PRECONDITION beyond that.
//
// SQLite has no clock of its own. caller_now is the store's time, and a caller whose clock is more
// than 60 s behind the newest allocation is refused. DeclareRestored trusts the caller's clock: it
// raises base above everything that the clock of the newest allocation could reach, and allocations
// work again.
//
// A call blocks for a file lock up to Options::busy_timeout, then returns UNAVAILABLE; in addition
// it waits for the disk.
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction closes nothing.
// If its parent had a store open, the child cannot open one of its own.
class SqliteSegmentStore : public SegmentStore {
 public:
  struct Options {
    // How long to wait for a transaction of another process. Shorter: UNAVAILABLE under contention.
    absl::Duration busy_timeout = absl::Seconds(5);
    // Creates a missing file: an empty store without a space.
    bool create = false;
  };

  // NOT_FOUND: there is no such file and Options::create is false. FAILED_PRECONDITION: the file
  // cannot be written, is not an SQLite database, or has another schema version. Messages name the
  // path.
  static absl::StatusOr<std::unique_ptr<SqliteSegmentStore>> Open(const std::string& path,
                                                                  const Options& options);
};

// Counters in the same file: one row per counter, one transaction per call. A counter with a
// ttl is forgotten once the host's clock and the time since its boot have passed (after another
// boot, the clock alone). After an older file was restored, numbers repeat: first Set the counters
// above the numbers that were given out.
//
// Blocks, and behaves in a forked child, as the segment store does.
class SqliteSequencer : public Sequencer {
 public:
  // As SqliteSegmentStore::Open; INVALID_ARGUMENT: SequencerOptions::Check.
  static absl::StatusOr<std::unique_ptr<SqliteSequencer>> Open(
      const std::string& path, const SqliteSegmentStore::Options& options,
      const SequencerOptions& sequencer_options);

 protected:
  explicit SqliteSequencer(const SequencerOptions& options) : Sequencer(options) {}
};

// Sequence types in the same file: one row each, in the table locus_sequence_type. Blocks, and
// behaves in a forked child, as the segment store does.
class SqliteSequenceTypeStore : public SequenceTypeStore {
 public:
  // As SqliteSegmentStore::Open.
  static absl::StatusOr<std::unique_ptr<SqliteSequenceTypeStore>> Open(
      const std::string& path, const SqliteSegmentStore::Options& options);
};

// Worker leases in the same file, for the processes of one host. The store's time is the host's
// clock; a clock that is behind the newest grant by more than max_skew is refused until
// WorkerLeaseStore::Create is called with a rest. A sidecar of its own, `<realpath>-workers-locus`,
// holds the identity by which the store notices that the file was lost or rewound: nothing is then
// granted until the longest lease could have ended.
//
// Blocks, and behaves in a forked child, as the segment store does.
class SqliteWorkerLeaseStore : public WorkerLeaseStore {
 public:
  // As SqliteSegmentStore::Open. `clock` is the host's, and outlives the store.
  static absl::StatusOr<std::unique_ptr<SqliteWorkerLeaseStore>> Open(
      const std::string& path, const SqliteSegmentStore::Options& options,
      Clock& clock = Clock::System());
};

// The sections of strict sequences in the same file, for the processes of one host. The store's
// time is the host's clock. A sidecar of its own, `<realpath>-strict-locus`, holds the identity by
// which the store notices that the file was lost or rewound.
//
// Blocks, and behaves in a forked child, as the segment store does.
class SqliteStrictStore : public StrictStore {
 public:
  // As SqliteSegmentStore::Open. `clock` is the host's, and outlives the store.
  static absl::StatusOr<std::unique_ptr<SqliteStrictStore>> Open(
      const std::string& path, const SqliteSegmentStore::Options& options,
      Clock& clock = Clock::System());
};

}  // namespace locus

#endif  // LOCUS_ENGINE_SQLITE_H_
