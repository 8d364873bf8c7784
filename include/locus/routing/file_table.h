// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_FILE_TABLE_H_
#define LOCUS_ROUTING_FILE_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

namespace locus {

// A routing table in a file that an operator, a configuration service or FileTablePublisher writes.
//
// A change is noticed within milliseconds, whether the file is replaced by rename, deleted and
// created again, written in place, reached through a symbolic link that changes (as Kubernetes
// mounts a ConfigMap), or its directories are exchanged. Where the kernel reports no changes
// (network file systems, a directory that may not be watched, no inotify instance left) the file is
// checked every second, at first more often. A file written in place is read a tenth of a second
// after it was closed; Next may exceed its deadline by 0.2 s for that.
//
// A file that is being written is not read until it is closed or renamed, has not changed for a
// second, or has been changing for 10 seconds; then it is read as it is. A file that disappeared is
// NOT_FOUND after a second, or at the deadline. SourcedTable::version depends on the contents only:
// touching the file, or replacing it with the same contents, is not news.
//
// FAILED_PRECONDITION: not a regular file; longer than kMaxDocumentBytes; not readable.
class FileTableSource : public TableSource {
 public:
  // The file need not exist yet. A relative path is resolved against the working directory at once.
  // INVALID_ARGUMENT: an empty path, or one with a zero byte.
  static absl::StatusOr<std::unique_ptr<FileTableSource>> Open(const std::string& path);
  ~FileTableSource() override;

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override;
  void LookNow() override;
  std::string place() const override;

 private:
  class Rep;
  explicit FileTableSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Publishes to a file. Every table, also the newest, is kept as PATH.epochs/EPOCH.json, 20 digits,
// up to the newest 1,000. Routers read PATH only, and see the table before or the one after. Where
// PATH is a symbolic link, all of this is beside the file that it leads to.
//
// A process killed at any point leaves the table before or the one after, durably, and a history
// that has it. Publishers exclude each other by a lock (flock) of PATH.lock and wait for it at most
// 10 seconds (UNAVAILABLE); reading takes no lock. A publisher whose lock file was deleted stops
// writing (UNAVAILABLE; the message says where its table is in force already). The directory must
// be writable, and on a local file system unless all publishers are on one host.
//
// The newest table is that of the highest epoch, in PATH or kept: where PATH was deleted or
// replaced by an older table, the next publication puts that right. DATA_LOSS: PATH is no routing
// table; once it is removed, the newest kept one counts. published_at is by the clock of the file
// system. A file that is replaced keeps its permissions, and its owner and group where the process
// may set them.
class FileTablePublisher : public TablePublisher {
 public:
  // Touches nothing. As FileTableSource::Open.
  static absl::StatusOr<std::unique_ptr<FileTablePublisher>> Open(const std::string& path);
  ~FileTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected,
                       const GuardedChanges& named) override;
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override;
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override;
  std::string place() const override;

 private:
  explicit FileTablePublisher(std::string path) : path_(std::move(path)) {}
  const std::string path_;  // absolute
};

}  // namespace locus

#endif  // LOCUS_ROUTING_FILE_TABLE_H_
