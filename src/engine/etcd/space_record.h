// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_SPACE_RECORD_H_
#define LOCUS_SRC_ENGINE_ETCD_SPACE_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/engine/etcd/words.h"
#include "src/segment/plan.h"

// The values of a space in etcd, and their text. A space S has, under PREFIX/:
//
//   space/S         its SpaceRecord, JSON
//   heads/S/GG      the SectionRows of a group of neighbouring sections, GG two hex digits
//
// A space has at most 32 groups, so that an allocation of all its sections fits into one
// transaction of 128 operations and 1.5 MB.

namespace locus::etcd {

// Distinguishes a cluster from the one that it was restored from. `surplus` is the index of the
// Raft log less the revision. It only rises in a cluster's life, because each log entry makes at
// most one revision. A restored snapshot keeps its revision, but its log begins anew.
struct ClusterIdentity {
  uint64_t cluster_id = 0;
  int64_t surplus = 0;  // at least this much when it was recorded
  friend bool operator==(const ClusterIdentity&, const ClusterIdentity&) = default;
};

// The cluster in which a space was created or its last loss was noticed, as stored with the space.
struct Life {
  absl::Time raised_at;  // when that was
  ClusterIdentity identity;
  std::string life;  // 32 random hex digits, new ones after each loss

  // Once the loss itself was noted.
  void BeginLife(absl::Time now, const ClusterIdentity& found);
};

// "raised_at_ns cluster surplus life".
std::string TextOf(const Life& life);
void ReadLife(Words& words, Life& life);

// 32 random hex digits.
std::string RandomMark();

struct SpaceRecord : segment::Space, Life {
  // Raises base for a loss that was noticed at `now` in the cluster `found`.
  void NoteLoss(absl::Time now, const ClusterIdentity& found);

  std::string Text() const;
  // FAILED_PRECONDITION: it has another schema version. DATA_LOSS: it is invalid.
  static absl::StatusOr<SpaceRecord> Parse(std::string_view text);
};

struct SectionRow {
  uint64_t head = 0;  // 0: never allocated
  absl::Time granted_at = absl::UnixEpoch();
};

uint32_t SectionsPerGroup(const SpaceOptions& options);

// The value of a group: a mark, then 16 bytes per row: head, and the time of the grant in ns since
// 1970, big-endian. Each write has a new mark of 16 random bytes. A transaction compares the mark
// instead of the whole value, and instead of the revision, which occurs again with another value
// after a rewind.
struct SectionGroup {
  std::string mark;  // empty: the key does not exist
  std::vector<SectionRow> rows;

  void Renew();  // a mark for the next write
  std::string Text() const;
  // An empty text gives `count` rows that never allocated. DATA_LOSS: there are not `count` valid
  // rows.
  static absl::StatusOr<SectionGroup> Parse(std::string_view text, uint32_t count);
};

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_SPACE_RECORD_H_
