// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_FILE_TABLE_H_
#define LOCUS_ROUTING_FILE_TABLE_H_

#include <memory>
#include <string>

#include "locus/routing/table_source.h"

namespace locus {

// The routing table in a file, as an operator or a configuration service puts it there.
//
// A change is told within milliseconds, however it comes about: the file replaced by rename,
// deleted and made again, written in place, reached by symbolic links one of which is turned to
// another place (as Kubernetes mounts a ConfigMap), directories exchanged. Where the kernel tells
// nothing (network file systems, a directory that may not be watched) it is looked at every second,
// at first more often.
//
// A document that somebody is writing is not handed out before the file is closed or renamed; where
// neither comes, once it was left alone for a second, or was being written for 10 seconds: then as
// it is. A file that vanished is NOT_FOUND after a second, or at the deadline.
// SourcedTable::version is of the contents alone: a file that was touched, or replaced by its
// equal, is no news.
//
// FAILED_PRECONDITION: no regular file; longer than kMaxDocumentBytes; not readable.
class FileTableSource : public TableSource {
 public:
  // The file need not be there yet. A relative path is one of the working directory of now.
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

}  // namespace locus

#endif  // LOCUS_ROUTING_FILE_TABLE_H_
