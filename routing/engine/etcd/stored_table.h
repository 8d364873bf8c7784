// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_ETCD_STORED_TABLE_H_
#define LOCUS_ROUTING_ENGINE_ETCD_STORED_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/engine/etcd.h"
#include "src/engine/etcd/reply.h"

// How tables are stored in etcd (locus/routing/engine/etcd.h). Pure functions; their errors name no
// place.

namespace locus::etcd {

class TableKeys {
 public:
  explicit TableKeys(const EtcdTableOptions& options);

  const std::string& newest() const { return newest_; }
  std::string Epoch(uint64_t epoch) const;
  std::string Published(uint64_t epoch) const;
  // All keys of Published begin with it.
  std::string AllPublished() const;

  // All keys of Note begin with it.
  std::string AllNotes() const;
  std::string Note(uint64_t epoch) const;

  // "etcd at h1:p1 key locus/table"
  const std::string& place() const { return place_; }

 private:
  std::string base_;  // ends with '/'
  std::string newest_;
  std::string place_;
};

// The value that stores a document.
std::string PackDocument(const std::string& document);
// FAILED_PRECONDITION: it is longer than TableSource::kMaxDocumentBytes, or begins as a compressed
// one and is none. What does not begin so is the document itself.
absl::StatusOr<std::string> UnpackDocument(std::string_view value);

// One line of the history.
struct KeptEpoch {
  uint64_t epoch = 0;
  absl::Time published_at;
  uint64_t bytes = 0;         // of the value
  PublicationNote note = {};  // has a key of its own

  // The value; the epoch is in the key.
  std::string Text() const;
};
// In the order of epochs, without notes. DATA_LOSS: a key or value that cannot be.
absl::StatusOr<std::vector<KeptEpoch>> ReadHistory(const TableKeys& keys,
                                                   const std::vector<KeyValue>& pairs);

// Gives each epoch of the history the note that is kept of it. A note names its line of the
// history: an earlier version that publishes an epoch whose keys were deleted leaves another line.
void AddNotes(const TableKeys& keys, const std::vector<KeyValue>& pairs,
              std::vector<KeptEpoch>& history);

// `history` is in the order of epochs, the one that is being published included. All from this
// epoch on are kept.
uint64_t FirstKept(std::span<const KeptEpoch> history);

}  // namespace locus::etcd

#endif  // LOCUS_ROUTING_ENGINE_ETCD_STORED_TABLE_H_
