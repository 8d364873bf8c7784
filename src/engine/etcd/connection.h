// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_CONNECTION_H_
#define LOCUS_SRC_ENGINE_ETCD_CONNECTION_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/engine/etcd.h"
#include "src/base/run/backoff.h"
#include "src/engine/etcd/reply.h"
#include "src/engine/etcd/request.h"
#include "src/engine/etcd/server_clock.h"
#include "src/http/endpoint.h"

namespace locus::http {
class HttpConnection;
}

namespace locus::etcd {

using http::TimePoint;

// Where an answer came from.
struct Origin {
  // Identifies the TCP connection: counted from 1, unique in this process. All answers of one link
  // come from one run of a member: restoring a member restarts it.
  uint64_t link = 0;
  // The status of the member when the link was made.
  std::shared_ptr<const MemberStatus> greeting;
  std::string endpoint;
};

struct Answer {
  std::string body;
  Origin origin;
};

struct TxnAnswer : TxnReply {
  Origin origin;
};

// An answer without an end, as of a watch; each line is one JSON object.
// Thread safety: none, except Interrupt, which any thread may call while the stream lives.
class Stream {
 public:
  Stream(std::unique_ptr<http::HttpConnection> http, Origin origin);
  ~Stream();

  // The next line. CANCELLED after Interrupt, DEADLINE_EXCEEDED if no line came: call again,
  // nothing is lost. After any other error the stream is of no further use. UNAVAILABLE: it ended;
  // FAILED_PRECONDITION: a line is too long.
  absl::StatusOr<std::string> ReadLine(TimePoint deadline);
  // Makes the ReadLine that waits now, or else the next one, return CANCELLED.
  void Interrupt();
  const Origin& origin() const { return origin_; }

 private:
  const std::unique_ptr<http::HttpConnection> http_;
  const Origin origin_;
};

// Whether a request that one member may have served is sent again to another.
enum class Repeat { kAllowed, kNever };

// Talks to an etcd cluster by its JSON gateway: tries members in turn, keeps links open, renews
// tokens.
//
// The stores of this folder work alike: one connection, requests as JSON (request.h) and strictly
// read answers (reply.h). SpaceStore, WorkerStore and SectionStore read state, decide by
// AllocationPlan or the rules of src/worker and src/strict, and write it in one transaction that
// compares what was read. Vet checks that an answer comes from the recorded cluster; ServerClock
// estimates the cluster's time; a Turn admits one call at a time.
// Thread safety: all methods may be called from any thread. Fork: callers ask forked() first, and
// do not destroy the object in a child.
class Connection {
 public:
  // As EtcdSegmentStore::Open. A `store_clock` replaces the time that the servers' answers carry.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const EtcdOptions& options,
                                                          Clock* store_clock = nullptr);
  ~Connection();

  // Whether this process is a forked child of the one that opened the connection.
  bool forked() const;
  // FAILED_PRECONDITION in a forked child.
  absl::Status RefuseFork() const;

  // When a call that begins now must end.
  TimePoint Deadline() const;

  // POSTs a JSON object to a path of the gateway ("/v3/kv/txn"). UNAVAILABLE: no member answered by
  // the deadline, or refused for now; with Repeat::kNever the request may have been served.
  // FAILED_PRECONDITION, NOT_FOUND, DATA_LOSS: refused, with no effect; a repetition would be
  // refused as well. Messages name the endpoint.
  absl::StatusOr<Answer> Post(std::string_view path, std::string_view request, Repeat repeat,
                              TimePoint deadline);
  // A transaction that writes is never repeated; one that only reads may be.
  absl::StatusOr<TxnAnswer> Commit(const Txn& txn, TimePoint deadline);
  absl::StatusOr<MemberStatus> Status(TimePoint deadline);
  // POSTs to a path whose answer has no end, over a TCP connection of the stream's own; first to
  // the member that answered last. Fails as Post does.
  absl::StatusOr<std::unique_ptr<Stream>> OpenStream(std::string_view path,
                                                     std::string_view request, TimePoint deadline);

  // The cluster's time. Asks a member if none has answered for ten minutes.
  absl::StatusOr<TimeSpan> Now(TimePoint deadline);

  // "etcd at h1:p1,h2:p2"
  const std::string& place() const;

  void CountConflict();
  EtcdStats Stats() const;

 private:
  class Rep;
  explicit Connection(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Pauses between attempts at a transaction whose keys other processes changed meanwhile.
inline constexpr internal::Backoff::Policy kConflictPauses{absl::Milliseconds(1),
                                                           absl::Milliseconds(64), 1};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_CONNECTION_H_
