// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_AUDIT_H_
#define LOCUS_AUDIT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/str.h"
#include "locus/timeout.h"

namespace locus {

// One thing that happened to a lease, a segment, a strict section, a sequence type or a routing
// table. Members that do not apply stay empty or 0.
//
// A row of the table is identified by kind, time, space, worker, section and id: records that are
// equal in these count once, also if several processes wrote them.
struct AuditRecord {
  enum class Kind {
    kGranted,  // a worker ID went to a holder
    kRenewed,
    kExpired,      // it was not renewed in time
    kReleased,     // its holder gave it back
    kLost,         // its holder has noticed that it is lost
    kRefused,      // `detail` says why
    kMembers,      // the members of a cluster changed; `detail` names them
    kSegment,      // a process allocated the sequences [first, end) of a section
    kGap,          // `first` records before this one were lost; `detail` says why
    kCreated,      // a space of worker IDs
    kUnhealthy,    // a holder was found unhealthy and is not renewed; `detail` says why
    kHealthy,      // the holder is healthy and renewed again
    kLossNoticed,  // a store had forgotten what it granted: it grants nothing for a while
    kDeleted,      // a space of worker IDs
    // Of strict sequences: `space` is the set, `holder` the owner.
    kSectionTaken,     // its numbers start above the stored max_seq
    kSectionReleased,  // handed over
    kSectionLost,      // its ownership ended, or the store forgot it
    // Of sequence types: `token` is the version, `detail` names the type and says how it counts, or
    // how it changed.
    kTypeCreated,
    kTypeAltered,
    kTypeDropped,
    // A routing table was published: `place` keeps it, `token` is its epoch, `holder` the name of
    // the client's token, or of the command's user and host, `detail` the client's address and its
    // request's ID, the reason, and what changed.
    kTablePublished,
  };
  Kind kind = Kind::kGranted;
  absl::Time time = absl::InfinitePast();  // InfinitePast: when it is recorded
  std::string space;
  std::string place;     // the store or cluster, under the name that its user gave it
  std::string trace_id;  // of W3C trace context: 32 hex digits
  std::string detail;    // at most kMostDetailBytes; the rest is cut off
  uint64_t worker = 0;
  uint64_t token = 0;
  absl::Time floor = absl::InfinitePast();
  absl::Time ceiling = absl::InfinitePast();
  uint32_t section = 0;
  uint64_t first = 0;
  uint64_t end = 0;
  std::string nonce;   // a mark of the holder's nonce, which is a secret
  std::string holder;  // WorkerLeaseOptions::holder; at most kMostDetailBytes
  // Empty: a new one, a UUIDv7. Give records of the same thing the same id.
  std::string id;

  static constexpr size_t kMostDetailBytes = 1024;
};
// "granted", "renewed", "expired", "released", "lost", "refused", "members", "segment", "gap",
// "created", "unhealthy", "healthy", "loss_noticed", "deleted", "section_taken",
// "section_released", "section_lost", "type_created", "type_altered", "type_dropped",
// "table_published".
std::string_view ToString(AuditRecord::Kind kind);
std::optional<AuditRecord::Kind> ParseAuditKind(std::string_view text);
template <typename Sink>
void AbslStringify(Sink& sink, AuditRecord::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

// Where an AuditSink writes: ClickHouseAudit (locus/engine/clickhouse.h).
// Thread safety: none; the sink calls it from one thread.
class AuditWriter {
 public:
  virtual ~AuditWriter() = default;
  // Writes rows, one JSON object a line (docs/inside/audit.md), all of them or none. A row
  // whose id was written before counts once. INVALID_ARGUMENT: these rows are refused for good.
  // Other errors: they may be written later. Blocks, up to a bound that the writer states.
  virtual absl::Status Write(std::string_view rows) = 0;
};

struct AuditSinkOptions {
  // The name of the recording process. Empty: its host name and process ID.
  std::string process = {};
  // Records in memory that are not written yet. More: the oldest are dropped and counted.
  size_t queue = 65536;
  // A batch is written when so many records wait, or the oldest of them for so long.
  size_t batch = 1000;
  absl::Duration longest_wait = absl::Seconds(5);
  // A directory of this process' own, made if it is missing: batches that could not be written are
  // kept there, also across a restart, and written in order later. Empty: they wait in memory, and
  // the oldest are dropped once `queue` is full.
  std::string spill_directory = {};
  // The most bytes in the directory, 1 MiB or more. More: the oldest batches are dropped and
  // counted.
  uint64_t spill_bytes = uint64_t{256} << 20;
  // How long destruction tries to write waiting records before it leaves them in the directory.
  absl::Duration linger = absl::Seconds(2);
  // Gives the times of records. Outlives the sink.
  Clock* clock = &Clock::System();

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Counts are since the sink was opened.
struct AuditSinkStats {
  uint64_t recorded = 0;
  uint64_t written = 0;   // records that the writer took
  uint64_t dropped = 0;   // records lost: no room in memory or on disk, or refused by the writer
  uint64_t failures = 0;  // writes that failed
  uint64_t waiting = 0;   // records in memory
  uint64_t spilled = 0;   // bytes in the directory
  absl::Status last_failure;
};

// Takes records and writes them in batches from a thread of its own: a failing or slow writer never
// makes Record fail or wait. Records are written in the order in which they were recorded; each
// carries an id, by which a batch that was written twice counts once. Lost records leave one record
// of kind kGap behind, which holds their number.
//
// Thread safety: all methods may be called from any thread. In a forked child Record drops.
// Cost of Record: a lock that is never held across I/O, and a move of the record.
class AuditSink {
 public:
  // INVALID_ARGUMENT: bad options. FAILED_PRECONDITION: the spill directory cannot be used, or
  // another process has it.
  static absl::StatusOr<std::unique_ptr<AuditSink>> Open(std::unique_ptr<AuditWriter> writer,
                                                         const AuditSinkOptions& options);
  ~AuditSink();
  AuditSink(const AuditSink&) = delete;
  AuditSink& operator=(const AuditSink&) = delete;

  void Record(AuditRecord record);
  // Waits until all earlier records are written. DEADLINE_EXCEEDED: some are not written yet.
  absl::Status Flush(Timeout timeout);
  AuditSinkStats Stats() const;

 private:
  class Rep;
  explicit AuditSink(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_AUDIT_H_
