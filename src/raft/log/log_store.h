// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_LOG_LOG_STORE_H_
#define LOCUS_SRC_RAFT_LOG_LOG_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/raft/core/core.h"
#include "src/raft/core/types.h"
#include "src/raft/log/commit_mark.h"

namespace locus::raft {

class Database;

// The state that a node must not forget, in one SQLite file (WAL, synchronous=FULL): its ID, term
// and vote in one record, its log, its snapshot. Only one store in one process has the file open.
//
// Each change is one transaction, durable when the call returns OK. A chain of checksums leads from
// the record through all entries, so that what Load returns is exactly the state after one of the
// transactions, whatever happened to the file and its log (PATH-wal), or else DATA_LOSS. A power
// cut loses nothing that was acknowledged. Damage in PATH-wal is DATA_LOSS if a whole transaction
// follows it (CheckWal), and so is a state with fewer transactions than PATH-mark counts
// (CommitMark): PATH-wal or its end was lost or damaged, or a copy was put back beside a newer
// mark. Not noticed: an older copy of all files or without PATH-mark, and a loss that includes the
// mark. A node never starts from such a file; it starts anew, as another member (Create).
//
// A write that failed (a full disk, an input or output error) may or may not be on the disk, and
// after a failed fsync the kernel may take pages for clean that are not on the disk. So nothing is
// tried again: the store refuses all further calls with FAILED_PRECONDITION, and the process must
// end and start anew. Open then writes all that it finds once more, and syncs that.
//
// Thread safety: none, except InPlace.
class LogStore {
 public:
  // A new node: an ID is drawn at random, so that a node that lost its disk comes back as another
  // one. The file has mode 0600. If the process ends meanwhile, call it again: the file is then
  // either no node yet, or one that Open opens. ALREADY_EXISTS: there is a node, or another file
  // that is not empty. FAILED_PRECONDITION: there is none, but a PATH-wal: a node lost its file.
  // UNAVAILABLE: no randomness, no space. INVALID_ARGUMENT: `cluster` is empty or too long.
  static absl::StatusOr<std::unique_ptr<LogStore>> Create(const std::string& path,
                                                          std::string_view cluster);
  // NOT_FOUND: no such file, or it is empty, and no PATH-wal; or a Create that did not end.
  // FAILED_PRECONDITION: no such file,
  // but a PATH-wal; it is open elsewhere, of another cluster, of another version, no log of a Raft
  // node, or cannot be written. DATA_LOSS.
  static absl::StatusOr<std::unique_ptr<LogStore>> Open(const std::string& path,
                                                        std::string_view cluster);
  ~LogStore();
  LogStore(const LogStore&) = delete;
  LogStore& operator=(const LogStore&) = delete;

  NodeId self() const { return record_.self; }
  const std::string& path() const { return path_; }

  // UNAVAILABLE: the file or PATH-wal was removed or replaced since it was opened, so that what is
  // written is lost with the process. Any thread may call it.
  absl::Status InPlace() const;

  // For each first node of a new cluster: its log begins with these members. FAILED_PRECONDITION:
  // it has a log or a term already. INVALID_ARGUMENT: CheckMembers, or this node is none of them.
  absl::Status Begin(const Members& members);

  struct Stored {
    Remembered remembered;
    std::string state;  // of the state machine, as of the snapshot
  };
  // DATA_LOSS: an entry or the snapshot is missing or altered; names the place.
  absl::StatusOr<Stored> Load();

  // All of the writes in one transaction, in their order.
  absl::Status Apply(std::span<const Write> writes);
  // The snapshot replaces the one before, and the entries up to it.
  absl::Status Compact(const SnapshotMark& mark, std::string_view state);
  // Call it after each write that has been acknowledged: now and then it moves the content of
  // PATH-wal into the file. Its failure is a failed write.
  absl::Status Tidy();

 private:
  // The one record. Whatever else is stored is checked against it.
  struct Record {
    NodeId self = 0;
    std::string cluster;
    Vote vote;
    Index base = 0;  // of the snapshot
    uint64_t base_chain = 0;
    Index last = 0;  // of the log
    uint64_t last_chain = 0;
    uint64_t snapshot_sum = 0;
    uint64_t transactions = 0;  // ever committed
    uint64_t Sum() const;
  };
  LogStore(std::string path, std::unique_ptr<Database> database);
  static absl::StatusOr<std::unique_ptr<LogStore>> OpenFile(const std::string& path);
  absl::StatusOr<bool> IsBlank();
  absl::Status MakeSchema(std::string_view cluster);
  absl::Status CountTransactions();
  absl::Status ReadRecord(std::string_view cluster);
  absl::Status CheckMark();
  absl::Status Transact(const std::function<absl::Status(Record&)>& body);
  absl::Status StoreRecord(const Record& record);
  absl::Status StoreSnapshot(const SnapshotMark& mark, std::string_view state, Record& record);
  absl::Status Do(const Write& write, Record& record);
  absl::StatusOr<uint64_t> ChainAt(Index index, const Record& record);
  absl::Status Lost(std::string_view what) const;
  absl::Status Failed(const absl::Status& status);

  const std::string path_;
  std::unique_ptr<Database> database_;
  std::optional<CommitMark> mark_;
  Record record_;  // as it was committed last
  absl::Status failed_;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_LOG_LOG_STORE_H_
