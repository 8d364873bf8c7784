// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_AUDIT_SPILL_H_
#define LOCUS_SRC_AUDIT_SPILL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/audit/batch.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/file_lock.h"

namespace locus::audit {

// Batches in files of a directory, first in, first out, up to a number of bytes; kept across
// restarts and kill -9. A power failure may cost the last of them.
//
// Files are `<number, 20 digits>.spill`, each a run of frames
// "<bytes> <count> <XXH64, 16 hex> <told>\n" and that many bytes of rows. A frame that is not whole
// is left out, and its rows are counted as lost. After a restart a file is read from its beginning:
// a batch may come twice, as AuditWriter allows. Thread safety: none.
class Spill {
 public:
  // Makes a missing directory (0700). FAILED_PRECONDITION: it cannot be used, or another process
  // has it.
  static absl::StatusOr<std::unique_ptr<Spill>> Open(const std::string& directory,
                                                     uint64_t most_bytes);

  // Drops the oldest batches where there is no room. A batch that has no room at all, or cannot be
  // written, is an error and is not kept.
  absl::Status Append(const Batch& batch);
  // The oldest batch; nullopt: there are no batches.
  std::optional<Batch> Front();
  // Forgets the batch that Front returned.
  void Pop();
  // The records dropped or left out since the last call.
  Loss TakeLoss() { return std::exchange(loss_, {}); }

  bool empty() const { return files_.empty(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct File {
    uint64_t number = 0;
    uint64_t bytes = 0;
  };

  Spill(std::string directory, uint64_t most_bytes, internal::FileLock lock)
      : directory_(std::move(directory)), most_bytes_(most_bytes), lock_(std::move(lock)) {}
  std::string PathOf(uint64_t number) const;
  absl::Status ListFiles();
  absl::Status BeginFile();
  absl::Status WriteFrame(const std::string& frame);
  void LoadFront();
  std::optional<Batch> FrameAt(size_t at, size_t& end) const;
  std::optional<Batch> NextFrame();
  void RemoveFront();

  const std::string directory_;
  const uint64_t most_bytes_;
  internal::FileLock lock_;
  std::deque<File> files_;  // ascending; the last one is written to where `writing_` is open
  uint64_t bytes_ = 0;
  internal::FileDescriptor writing_;
  uint64_t next_number_ = 1;
  Loss loss_;

  // Of the front file: the text read from it, and where its next frame begins.
  uint64_t loaded_ = 0;  // its number; 0: none
  bool readable_ = true;
  std::string text_;
  size_t at_ = 0;
  size_t next_ = 0;  // behind the frame that Front returned
};

}  // namespace locus::audit

#endif  // LOCUS_SRC_AUDIT_SPILL_H_
