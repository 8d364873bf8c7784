// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_SPACE_ROWS_H_
#define LOCUS_SRC_ENGINE_MYSQL_SPACE_ROWS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/engine/mysql/connection.h"
#include "src/segment/plan.h"

// The rows of a space, and the statements that read and write them. Nothing here decides.
namespace locus::mysql {

// Of a space's row in locus_space.
struct SpaceRow : segment::Space {
  std::string identity;  // the server's, as recorded at the last loss
};

// Of a section's row in `sequence`. Where there is a row, its head is at or above the base.
struct SectionRow {
  uint64_t head = 0;
  uint64_t version = 0;  // 0: there is no row yet
  absl::Time granted_at;
};

// A space as a transaction read it.
struct SpaceState {
  std::optional<SpaceRow> space;
  std::map<uint16_t, SectionRow> sections;  // of those asked for, the ones that have a row
  absl::Time now;                           // the server's time
  std::string identity;                     // the server's
  bool half_restored = false;               // see HalfRestoredExpression
};

// `bytes` as a literal: X'00FF'.
std::string Literal(std::string_view bytes);
// The present time in us since 1970: the server's, or `told` if a test controls the time.
std::string NowExpression(std::optional<absl::Time> told);
// A DATETIME(6) of an expression in us since 1970, and back.
std::string DateTimeOf(std::string_view us_expression);
std::string MicrosecondsOf(std::string_view date_time_expression);
// The identity of a store, as an SQL expression. Of a cluster: its state UUID. Of a
// server: its IDs and when the locus tables were made (locus_birth), then " files " and the time at
// which the files of `sequence` last changed owner, mode or place.
std::string IdentityExpression(const ServerFacts& facts);

// Whether the tables are those of a dump that is still being put back, as an SQL expression.
// locus_birth is the first of them that a dump drops and makes anew, and sequence_type the last.
// While tables older than locus_birth exist, the dump will soon drop all that an allocation writes,
// even the base that it raised.
std::string HalfRestoredExpression(const ServerFacts& facts);

// How the identity differs from the one recorded with a space. kOther: it is another server, or the
// tables were made from a dump. kFiles: only the files' time differs. They were copied back, or
// chown, chmod, ALTER or OPTIMIZE changed that time: a server cannot tell these apart. Also where
// version 1 of the tables recorded the identity, which lacks the tables' birth, on the same server.
enum class IdentityChange { kNone, kFiles, kOther };
IdentityChange Compare(std::string_view recorded, std::string_view found);

std::string TypeOf(const SpaceName& space);
std::string GroupOf(uint16_t section);

// Locks the space, then the sections in their order, then reads time and identity. An empty span
// with `all`: every section.
enum class Lock { kForUpdate, kNone };
std::string ReadStatements(const SpaceName& space, std::span<const SegmentRequest> requests,
                           Lock lock, const std::string& now, const ServerFacts& facts);
// Every section, the space and the time, all of one moment.
std::string ReadAllStatements(const SpaceName& space, const std::string& now,
                              const ServerFacts& facts);
// The results of either: the space, its sections, then time, identity and half_restored.
constexpr Shape kStateShapes[] = {AtMostOneRow(7), Rows(4, 65536), OneRow(3)};
// Of such results. DATA_LOSS: an impossible stored value.
absl::StatusOr<SpaceState> ParseState(std::span<const Result> results, const std::string& place);

// Writes sections that were read with SectionRow::version; fails with kOutOfRange, before anything
// is committed, if another process wrote one meanwhile.
struct SectionWrite {
  uint16_t section = 0;
  uint64_t head = 0;
  uint64_t version_read = 0;
};
std::string WriteSections(const SpaceName& space, std::span<const SectionWrite> writes,
                          absl::Time now);
std::string InsertSpace(const SpaceName& space, const SpaceRow& row, absl::Time now);
// base, losses and identity; and lifts every section to the base, so that no allocation of a
// section can be under way beside it.
std::string WriteBase(const SpaceName& space, const SpaceRow& row);
// Makes a transaction conflict with any other that writes the space.
std::string TouchSpace(const SpaceName& space);

// One section's allocation in one statement, where it fits in full below the lead and nothing is
// wrong: affected is 1 then and insert_id the end; otherwise nothing is changed. Its results: of
// two SETs, of the UPDATE, and the time in us.
std::string AllocateAtOnce(const SpaceName& space, const SpaceRow& known,
                           const SegmentRequest& request, absl::Time caller_now,
                           const std::string& now, const ServerFacts& facts);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_SPACE_ROWS_H_
