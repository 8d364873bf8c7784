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
// A change is noticed within milliseconds: a rename over the file, deletion and creation, a write
// in place, a symbolic link on the path that changes (as Kubernetes mounts a ConfigMap), or
// exchanged directories. If the kernel reports no changes (network file systems, a directory that
// may not be watched, no inotify instance left), the file is checked every second, at first more
// often. A file written in place is read 0.1 s after it was closed; Next may exceed its deadline by
// 0.2 s for that.
//
// A file that is being written is read when it is closed or renamed, when it has not changed for a
// second, or as it is after it has been changing for 10 seconds. A file that disappeared is
// NOT_FOUND after a second, or at the deadline. SourcedTable::version depends on the contents only:
// touching the file, or replacing it with equal contents, is not a new version.
//
// FAILED_PRECONDITION: it is not a regular file, longer than kMaxDocumentBytes, or not readable.
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

// Publishes to a file. The newest 1,000 tables, including the present one, are kept as
// PATH.epochs/EPOCH.json, with 20 digits; EPOCH.note holds the publication's note: author, reason,
// and length and digest of the table that it is of, on a line each. A note of another table is not
// shown. History reads each table that has a note. Routers read PATH only, and see either the old
// table or the new one. If PATH is a symbolic link, all of this lies beside the file that it leads
// to.
//
// A process killed at any point leaves the old table or the new one in PATH, durably, and a history
// that contains it. Publishers exclude each other by a lock (flock) on PATH.lock and wait for it
// for up to 10 seconds (UNAVAILABLE); reading takes no lock. A publisher whose lock file was
// deleted stops writing (UNAVAILABLE; the message says if its table is in force already). The
// directory must be writable, and on a local file system unless all publishers are on one host.
//
// The newest table is the one with the highest epoch, in PATH or in the history. If PATH was
// deleted or replaced by an older table, the next publication repairs that. DATA_LOSS: PATH is not
// a routing table. A publication that names that (GuardedChanges::spoiled) starts from the newest
// table of the history, and keeps what PATH has as PATH.spoiled, PATH.spoiled.2 and so on.
// published_at is by the clock of the file system. A replaced file keeps its permissions, and its
// owner and group if the process may set them.
class FileTablePublisher : public TablePublisher {
 public:
  // Opens no file. Errors as for FileTableSource::Open.
  static absl::StatusOr<std::unique_ptr<FileTablePublisher>> Open(const std::string& path);
  ~FileTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override;
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override;
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override;
  std::string place() const override;

 private:
  explicit FileTablePublisher(std::string path) : path_(std::move(path)) {}
  const std::string path_;  // absolute
};

}  // namespace locus

#endif  // LOCUS_ROUTING_FILE_TABLE_H_
