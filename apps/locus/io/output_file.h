// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_IO_OUTPUT_FILE_H_
#define LOCUS_APPS_LOCUS_IO_OUTPUT_FILE_H_

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/signals.h"

namespace locus::cli {

// A file that appears complete or not at all. It is written under another name in the same
// directory, renamed by Commit(), and removed on destruction and by signals that end the command.
// If it replaces a file, it takes over its mode, owner and group; if that is a symbolic link, it
// replaces the file that the link leads to.
// "-" is stdout. That and anything else that is not a regular file (a device, a pipe) is written
// directly.
class OutputFile {
 public:
  // FAILED_PRECONDITION or NOT_FOUND, naming the path; also where owner and mode of the file to be
  // replaced cannot be kept.
  static absl::StatusOr<std::unique_ptr<OutputFile>> Create(const std::string& path);
  ~OutputFile();

  ByteSink& sink() { return *sink_; }
  // Writes out what is buffered; a file becomes durable and takes its name. Once.
  absl::Status Commit();

 private:
  OutputFile() = default;
  absl::Status OpenDirectly(const std::string& path);
  absl::Status OpenTemporary(const std::string& path);
  absl::Status TakeOver(const std::string& path, const struct stat& replaced);

  std::string path_;
  std::string temporary_;  // empty: written directly, or committed
  std::optional<DoomedFile> doomed_;
  int fd_ = -1;
  std::optional<ByteSink> sink_;
};

// `text` as the whole content of the file at `path`, as OutputFile writes it.
absl::Status WriteWhole(const std::string& path, std::string_view text);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_IO_OUTPUT_FILE_H_
