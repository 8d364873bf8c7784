// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_TABLE_FILE_H_
#define LOCUS_ROUTING_SOURCE_TABLE_FILE_H_

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::internal {

// The attributes of a file that change with its contents.
struct FileFacts {
  static FileFacts Of(const struct stat& file);

  uint64_t device = 0, inode = 0, size = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // since 1970
  uint32_t permissions = 0, user = 0, group = 0;

  friend bool operator==(const FileFacts&, const FileFacts&) = default;
};

struct TableFile {
  std::string document;
  FileFacts facts;
};

// The facts of what is at `path`, without its contents. NOT_FOUND; FAILED_PRECONDITION: no regular
// file. Never blocks on a FIFO.
absl::StatusOr<FileFacts> LookAtTableFile(const std::string& path);

// A regular file of at most TableSource::kMaxDocumentBytes that did not change while it was read.
// ABORTED: it did. NOT_FOUND; FAILED_PRECONDITION: no regular file, too long, not readable.
absl::StatusOr<TableFile> ReadTableFile(const std::string& path);

// Length and digest of a document: equal for equal documents only. Stored, so it stays as it is.
std::string VersionOf(std::string_view document);

// The path from the root. INVALID_ARGUMENT: it is empty, or has a zero byte.
absl::StatusOr<std::string> AbsolutePath(const std::string& path);

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_TABLE_FILE_H_
