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

// The place of a routing table in an etcd cluster. Its etcd keys are:
//
//   <prefix>/<key>/newest                 the newest table, as a document
//   <prefix>/<key>/epochs/<20 digits>     the document of each epoch that is kept
//   <prefix>/<key>/published/<20 digits>  "<ms since 1970> <bytes>": when the epoch was published,
//                                         and the length of its value
//   <prefix>/<key>/notes/<20 digits>      its author, its reason and the value of published/, a
//                                         line each; a note of another value is not shown
//
// Documents of more than 64 KiB are stored compressed: "zlib <length>\n", then a zlib stream.
// 65,536 ranges over 4,096 shards in random order take 400 kB in this form.
struct EtcdTableOptions {
  // The user of a source needs the right to read the etcd keys above; the user of a publisher, to
  // read and write them.
  EtcdOptions etcd;
  // [a-z0-9_-]{1,64}, except seq, space and heads, which locus uses for other things.
  std::string key = "table";
  // The cluster's limit of one request (--max-request-bytes). A publication writes the table twice.
  // If it does not fit, it is refused before it is sent (FAILED_PRECONDITION). A member takes up to
  // half a second per MB: choose EtcdOptions::request_timeout accordingly. 16 KiB..1 GiB.
  size_t max_request_bytes = 1536 << 10;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Follows the newest table by a watch on its own connection: a newer table arrives within
// milliseconds. If a member fails or loses its leader, another one is used. At the deadline of
// Next, and after LookNow, a linearizable read checks for a newer table; this also detects a silent
// watch, which is then closed. On a new connection the whole table is read, since a restored
// cluster may have another table at a revision that was seen before.
//
// Next may exceed its deadline by EtcdOptions::call_timeout, apart from the system's resolver and
// timers. A value that is not a routing table, such as one written with etcdctl, is returned as it
// is. NOT_FOUND: also if the etcd key was deleted or the cluster was emptied. After an error, the
// next call reads the table again. Fork: in a forked child Next returns FAILED_PRECONDITION, and
// destruction touches no socket.
class EtcdTableSource : public TableSource {
 public:
  // Reads the files of EtcdOptions::tls; contacts no server. INVALID_ARGUMENT:
  // EtcdTableOptions::Check. FAILED_PRECONDITION: a file is missing, unreadable, or readable by
  // others.
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

// Publishes by one transaction that compares the revision of the newest table. Times are by the
// cluster's clock, to a second. It keeps the last 1,000 tables, or fewer if they take more than
// 64 MiB, but at least 100. etcd keeps what was overwritten and deleted until it compacts
// (--auto-compaction-retention).
//
// After the newest table was deleted, a table can be published that expects epoch 0 and is newer
// than all that are kept. Blocks up to EtcdOptions::call_timeout. Fork: in a forked child every
// call returns FAILED_PRECONDITION, and destruction touches no socket.
class EtcdTablePublisher : public TablePublisher {
 public:
  // As EtcdTableSource::Open.
  static absl::StatusOr<std::unique_ptr<EtcdTablePublisher>> Open(const EtcdTableOptions& options);
  ~EtcdTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override;
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
