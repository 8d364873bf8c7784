// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_
#define LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/routing/table_publisher.h"
#include "routing/source/table_file.h"
#include "src/base/file_lock.h"

namespace locus {

// Puts a file of this text at `path`, whole or not at all, durable on return, by way of the file
// `part`, which is of who has `lock`; what a killed process left of that is replaced. UNAVAILABLE,
// and nothing was replaced: the lock was lost meanwhile. The permissions, and where that is allowed
// the owner, are those of `like`; nullptr: a new file's. `modified_ns`: when it is to say that it
// was modified; 0: now.
absl::Status ReplaceTableFile(const std::string& path, const std::string& part,
                              std::string_view text, const FileFacts* like, int64_t modified_ns,
                              const FileLock& lock);

// A directory of tables that were published: EPOCH.json, 20 digits. Those who write hold the lock
// of the publication; reading needs none.
class KeptEpochs {
 public:
  static constexpr size_t kMost = 1000;

  explicit KeptEpochs(std::string directory) : directory_(std::move(directory)) {}

  // The newest first, at most `most`; empty where the directory is missing.
  absl::StatusOr<std::vector<PublishedEpoch>> List(size_t most) const;
  // NOT_FOUND; DATA_LOSS: what is there is not this table.
  absl::StatusOr<RoutingTable> Read(uint64_t epoch) const;
  // Where it is not kept already. `file` is what says so.
  absl::Status Keep(uint64_t epoch, const TableFile& file, const FileLock& lock) const;
  // All but the newest kMost go.
  absl::Status Prune() const;

 private:
  std::string PathOf(uint64_t epoch) const;

  const std::string directory_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_
