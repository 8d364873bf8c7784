// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_LOG_COMMIT_MARK_H_
#define LOCUS_SRC_RAFT_LOG_COMMIT_MARK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/base/os/atomic_file.h"
#include "src/raft/core/types.h"

namespace locus::raft {

// How many transactions a store has committed, in a small file (PATH-mark) beside its own. SQLite
// takes a PATH-wal that lost its end, or was removed, for one that a power cut left; the mark shows
// that more had been committed.
//
// It is written after each commit and never synced: it outlives the process, but a power cut may
// leave an older one, which counts no more than was synced. So a mark beyond the store's own count
// proves a loss, and a lower one, or none, proves nothing.
//
// Thread safety: none.
class CommitMark {
 public:
  // Creates a missing file, of mode 0600.
  static absl::StatusOr<CommitMark> Open(const std::string& path);

  // The count in the file for this node; 0: no file, or none that a CommitMark wrote for this node.
  uint64_t Read(NodeId self) const;
  // A failure leaves an older mark.
  void Write(NodeId self, uint64_t transactions);

 private:
  explicit CommitMark(internal::FileDescriptor file) : file_(std::move(file)) {}

  internal::FileDescriptor file_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_LOG_COMMIT_MARK_H_
