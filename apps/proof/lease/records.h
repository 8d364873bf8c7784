// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_LEASE_RECORDS_H_
#define LOCUS_APPS_PROOF_LEASE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/proof/linear/lease_model.h"
#include "locus/worker_lease_store.h"
#include "src/base/run/mutex.h"

// The files that a client of a proof leaves behind, whenever it is killed: one of IDs and one of
// calls. Each record is one write, so at most the last one of a file is cut.

namespace locus::proof {

// IDs of consecutive numbers within one millisecond: the whole of what a client was handed out, in
// few bytes.
struct IdRun {
  int64_t first = 0;
  uint64_t token = 0;  // 0: the lease changed meanwhile
  uint64_t count = 0;

  friend bool operator==(const IdRun&, const IdRun&) = default;
};

// Turns IDs into runs, and appends these to a file.
// Thread safety: none.
class IdLog {
 public:
  explicit IdLog(const std::string& path);
  ~IdLog();
  IdLog(const IdLog&) = delete;
  IdLog& operator=(const IdLog&) = delete;

  // `ids`: any, in any order. One write.
  void Add(std::span<const int64_t> ids, uint64_t token);

 private:
  int fd_ = -1;
};

// UNAVAILABLE: cannot be read. A record that was cut at the end is left out.
absl::StatusOr<std::vector<IdRun>> ReadIds(const std::string& path);

// The answer to a call.
struct RecordedAnswer {
  int64_t returned = 0;
  absl::StatusCode code = absl::StatusCode::kOk;
  // Requests of the call without an answer: each may have been carried out.
  uint64_t lost = 0;
  std::optional<WorkerGrant> grant;
  std::optional<WorkerSpaceView> view;
};

// A call of a WorkerLeaseStore.
struct RecordedCall {
  using Kind = linear::LeaseOperation::Kind;
  Kind kind = Kind::kAcquire;
  std::string space;
  // As asked.
  WorkerRange range;    // of an acquire
  uint64_t worker = 0;  // of a renewal or a release
  uint64_t token = 0;
  std::string nonce;
  absl::Time last_used;
  int64_t called = 0;  // CLOCK_MONOTONIC, nanoseconds

  // None: the client was killed before.
  std::optional<RecordedAnswer> answer;
};

// A file of calls.
// Thread safety: all methods may be called from any thread.
class CallLog {
 public:
  explicit CallLog(const std::string& path);
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // Before the call; its number. Sets `call.called`.
  uint64_t Begin(RecordedCall call);
  // After the call, before the answer is used. Sets `answer.returned`.
  void End(uint64_t number, RecordedAnswer answer);

 private:
  void Write(const std::string& line);
  int fd_ = -1;
  internal::Mutex mutex_;
  uint64_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
};

// UNAVAILABLE: cannot be read. DATA_LOSS, naming the line: no record. A line that was cut at the
// end is left out.
absl::StatusOr<std::vector<RecordedCall>> ReadCalls(const std::string& path);

}  // namespace locus::proof

#endif  // LOCUS_APPS_PROOF_LEASE_RECORDS_H_
