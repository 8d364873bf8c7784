// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_
#define LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/routing/table_publisher.h"
#include "routing/source/table_file.h"
#include "src/base/os/file_lock.h"

namespace locus::internal {

// Puts a file of this text at `path`, whole or not at all, durable on return. The text is first
// written to the file `part`, which belongs to the holder of `lock`; one that a killed process left
// is replaced. UNAVAILABLE, and nothing was replaced: the lock was lost meanwhile. `like`: the file
// whose permissions, and where that is allowed owner, are kept; nullptr: those of a new file.
// `modified_ns`: the modification time that the file gets; 0: now.
absl::Status ReplaceTableFile(const std::string& path, const std::string& part,
                              std::string_view text, const FileFacts* like, int64_t modified_ns,
                              const FileLock& lock);

// A directory of published tables: EPOCH.json, 20 digits, and their notes, EPOCH.note. Writers hold
// the lock of the publication; readers need none.
class KeptEpochs {
 public:
  static constexpr size_t kMost = 1000;

  explicit KeptEpochs(std::string directory) : directory_(std::move(directory)) {}

  // The newest first, at most `most`; empty where the directory is missing.
  absl::StatusOr<std::vector<PublishedEpoch>> List(size_t most) const;
  // NOT_FOUND; DATA_LOSS: the file is not this table.
  absl::StatusOr<RoutingTable> Read(uint64_t epoch) const;
  // The note of the table of this epoch, `document`, or else the one that is kept. Empty: there is
  // no note, it is of another document, or it cannot be read.
  PublicationNote NoteOf(uint64_t epoch, std::optional<std::string> document) const;
  // Keeps the note of `document`, with permissions as `like` has them; an empty one removes that of
  // this epoch. Comes before the table is put in force: a process that is killed between the two
  // leaves a note, which names the document that it is of.
  absl::Status KeepNote(uint64_t epoch, std::string_view document, const PublicationNote& note,
                        const FileFacts* like, const FileLock& lock) const;
  // Keeps the table of this epoch, unless it is kept already.
  absl::Status Keep(uint64_t epoch, const TableFile& file, const FileLock& lock) const;
  // Removes all but the newest kMost.
  absl::Status Prune() const;

 private:
  std::string PathOf(uint64_t epoch) const;
  std::string NotePathOf(uint64_t epoch) const;
  absl::Status MakeDirectory() const;

  const std::string directory_;
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_KEPT_EPOCHS_H_
