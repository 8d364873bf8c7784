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
#include "src/engine/etcd/reply.h"
#include "src/engine/etcd/request.h"
#include "src/engine/etcd/server_clock.h"
#include "src/http/resolve.h"

namespace locus::http {
class HttpConnection;
}

namespace locus::etcd {

using http::TimePoint;

// Where an answer came from.
struct Origin {
  // The TCP connection: counted from 1, no number comes twice in this process. All answers of one
  // link are of one running member: a member that was restored was started again.
  uint64_t link = 0;
  // What the member said of itself when the link was made.
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

// An answer that goes on and on, as of a watch; one line is one JSON object.
// Thread safety: none, but for Interrupt, which any thread may call while the stream lives.
class Stream {
 public:
  Stream(std::unique_ptr<http::HttpConnection> http, Origin origin);
  ~Stream();

  // The next line. CANCELLED: after Interrupt; DEADLINE_EXCEEDED: none came. Neither loses
  // anything. After all else it is of no further use. UNAVAILABLE: it ended; FAILED_PRECONDITION: a
  // line is too long.
  absl::StatusOr<std::string> ReadLine(TimePoint deadline);
  // The ReadLine that waits now, or else the next one, answers CANCELLED.
  void Interrupt();
  const Origin& origin() const { return origin_; }

 private:
  const std::unique_ptr<http::HttpConnection> http_;
  const Origin origin_;
};

// Whether a request that may have been served is sent again, to another member.
enum class Repeat { kAllowed, kNever };

// A cluster by its JSON gateway: its members in turn, links kept open, tokens renewed.
// Thread safety: all methods may be called from any thread. Fork: the caller asks left() first, and
// in a child does not destroy it.
class Connection {
 public:
  // As EtcdSegmentStore::Open. A `store_clock` tells the servers' time instead of their answers.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const EtcdOptions& options,
                                                          Clock* store_clock = nullptr);
  ~Connection();

  // Whether this is a forked child of the process that opened it.
  bool left() const;
  // FAILED_PRECONDITION in a forked child.
  absl::Status RefuseFork() const;

  // When a call that begins now has to end.
  TimePoint Deadline() const;

  // POSTs a JSON object to a path of the gateway ("/v3/kv/txn"). UNAVAILABLE: no member answered by
  // the deadline, or refused for now; with Repeat::kNever the request may have been served.
  // FAILED_PRECONDITION, NOT_FOUND, DATA_LOSS: refused for good, with no effect. Messages name the
  // endpoint.
  absl::StatusOr<Answer> Post(std::string_view path, std::string_view request, Repeat repeat,
                              TimePoint deadline);
  // One that puts is never repeated, one that only reads may be.
  absl::StatusOr<TxnAnswer> Commit(const Txn& txn, TimePoint deadline);
  absl::StatusOr<MemberStatus> Status(TimePoint deadline);
  // POSTs to a path whose answer goes on, over a TCP connection that is the stream's own; to the
  // member that answered last, or another. Fails as Post does.
  absl::StatusOr<std::unique_ptr<Stream>> OpenStream(std::string_view path,
                                                     std::string_view request, TimePoint deadline);

  // The time of the cluster's clock; asks a member where none answered for ten minutes.
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

// Sleeps before the repetition number `round`, counted from 1: a random part of 1 ms, doubled each
// round up to 64 ms. False: the deadline would pass.
bool BackOff(int round, TimePoint deadline);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_CONNECTION_H_
