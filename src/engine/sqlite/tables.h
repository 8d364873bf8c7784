// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_TABLES_H_
#define LOCUS_SRC_ENGINE_SQLITE_TABLES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/engine/sqlite/connection.h"
#include "src/engine/sqlite/sidecar.h"
#include "src/segment/plan.h"

namespace locus::sqlite {

// A row of locus_space.
struct SpaceRow : segment::Space {
  std::string name;
  uint64_t head_sum_high = 0;
  uint64_t head_sum_low = 0;
};

// The one row of locus_store.
struct StoreRow {
  Identity identity;
  absl::Time newest_grant;  // of any section of any space
};

// The tables of a store, row by row. Values that cannot be are DATA_LOSS.
// Thread safety: none. Every call belongs into a transaction of the connection.
class Tables {
 public:
  explicit Tables(Connection& connection) : connection_(connection) {}

  // In an empty file, with this identity.
  absl::Status Create(const Identity& identity);

  absl::StatusOr<StoreRow> ReadStore();
  absl::Status WriteStore(const StoreRow& row);

  absl::StatusOr<std::optional<SpaceRow>> Find(const SpaceName& name);
  absl::StatusOr<std::vector<SpaceRow>> AllSpaces();
  absl::Status Insert(const SpaceRow& space);
  // base, losses and sums.
  absl::Status Update(const SpaceRow& space);

  // 0 where the section never allocated.
  absl::StatusOr<uint64_t> HeadOf(const SpaceRow& space, uint16_t section);
  absl::Status StoreHead(const SpaceRow& space, uint16_t section, uint64_t head, absl::Time now);
  // In order; without their leads.
  absl::StatusOr<std::vector<SpaceView::Section>> Sections(const SpaceRow& space);

  // Whether the heads of every space add up to the sums in its row. They do not if only some pages
  // of the file are old.
  absl::StatusOr<bool> HeadSumsAgree();
  // Computes the sums again.
  absl::Status SumHeads(SpaceRow& space);

 private:
  absl::StatusOr<SpaceRow> FromRow(Query& row, int first_column) const;

  Connection& connection_;
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_TABLES_H_
