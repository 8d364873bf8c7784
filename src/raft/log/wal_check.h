// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_LOG_WAL_CHECK_H_
#define LOCUS_SRC_RAFT_LOG_WAL_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace locus::raft {

// Whether SQLite, which takes the first bad frame of a log (PATH-wal) for its end, would drop
// transactions that were synced. Only reads; to be called before SQLite opens the file, which must
// have been written with synchronous=FULL by a process that ends at its first failed write.
//
// DATA_LOSS, with the file, the frame and its offset: a frame is bad, and the end of its
// transaction is followed by a frame of the same log, which was not written before the bad one was
// synced. OK: all frames are good, or only the last transaction is not whole, as a power cut leaves
// it; no such file; a header that is not whole. UNAVAILABLE, FAILED_PRECONDITION: the file cannot
// be read.
//
// Does not notice that frames are missing at the end, nor a bad header.
absl::Status CheckWal(const std::string& path);

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_LOG_WAL_CHECK_H_
