// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_ETCD_H_
#define LOCUS_ROUTING_ENGINE_ETCD_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/etcd.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

namespace locus {

// Where in an etcd cluster routing tables are.
//
//   <prefix>/<key>/newest              the newest table, as a document
//   <prefix>/<key>/epochs/<20 digits>  the same of each epoch that is kept
//   <prefix>/<key>/published/<20 digits>  "<ms since 1970> <bytes>": when, and how long its value
//   is
//
// Documents of more than 64 KiB are stored compressed: "zlib <length>\n", then a zlib stream.
// 65,536 ranges over 4,096 shards in no order take 400 kB so.
struct EtcdTableOptions {
  // The user of a source needs to read, that of a publisher to read and write, the keys above.
  EtcdOptions etcd;
  // [a-z0-9_-]{1,64}, but for the names of other things under a prefix: seq, space, heads.
  std::string key = "table";
  // What the cluster takes in one request (its --max-request-bytes). A publication puts the table
  // twice; where that does not fit, it is refused (FAILED_PRECONDITION) before it is sent. A member
  // takes up to half a second for each MB: EtcdOptions::request_timeout covers that.
  // 16 KiB..1 GiB.
  size_t max_request_bytes = 1536 << 10;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Follows the newest table by a watch, over a connection of its own: news arrive within
// milliseconds. When a member dies, or loses its leader, another is asked. By the deadline of Next,
// and after LookNow, a linearizable read tells whether anything is newer; a stream that has gone
// silent is found so, and given up. Over a new connection the whole table is read: a restored
// cluster may be at a revision that was seen before, with another table.
//
// Next may exceed its deadline by EtcdOptions::call_timeout; the system's resolver and timers
// apart. A table that is no document of ours, as put there with etcdctl, is handed out as it is.
// NOT_FOUND also for a key that was deleted and a cluster that was emptied. After Next answered an
// error, the next one reads the table anew. Fork: in a forked child Next answers
// FAILED_PRECONDITION, and destruction touches no socket.
class EtcdTableSource : public TableSource {
 public:
  // Reads the files of EtcdOptions::tls; asks no server. INVALID_ARGUMENT: Check;
  // FAILED_PRECONDITION: a file that is missing, unreadable or open to others.
  static absl::StatusOr<std::unique_ptr<EtcdTableSource>> Open(const EtcdTableOptions& options);
  ~EtcdTableSource() override;

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override;
  void LookNow() override;
  std::string place() const override;

 private:
  class Rep;
  explicit EtcdTableSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Publishes by one transaction that compares the revision of the newest table. Times are of the
// cluster's clock, to a second. Kept are the last 1,000 tables; where they take more than 64 MiB,
// fewer, but never less than 100. etcd itself keeps what was overwritten and deleted until it is
// told to compact (--auto-compaction-retention).
//
// Where somebody deleted the newest table, one may be published that expects epoch 0 and is newer
// than all that are kept. Blocks up to EtcdOptions::call_timeout.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction touches no
// socket.
class EtcdTablePublisher : public TablePublisher {
 public:
  // As EtcdTableSource::Open.
  static absl::StatusOr<std::unique_ptr<EtcdTablePublisher>> Open(const EtcdTableOptions& options);
  ~EtcdTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected,
                       const GuardedChanges& named) override;
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override;
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override;
  std::string place() const override;

 private:
  class Rep;
  explicit EtcdTablePublisher(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_ETCD_H_
