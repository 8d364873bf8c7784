// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_STRICT_ROWS_H_
#define LOCUS_SRC_ENGINE_MYSQL_STRICT_ROWS_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/engine/mysql/connection.h"
#include "src/strict/strict_rules.h"

// The statements of strict sequences, and their answers.

namespace locus::mysql {

// The state that a call reads first; under a lock of the set's row if it writes.
struct StrictState {
  std::optional<strict::Set> set;
  std::string recorded;  // the identity that the set was stored with
  absl::Time now;        // the server's
  std::string identity;  // the server's, as IdentityExpression but of the strict sequences' tables

  bool exists() const { return set.has_value(); }
};

// Of the account that the tables are made with: CREATE, SELECT and INSERT.
absl::Status CreateStrictSchema(Connection& connection);
// NOT_FOUND: there are no tables. FAILED_PRECONDITION: they have another version.
absl::Status CheckStrictSchema(Connection& connection);

// Answered in the shapes of kStrictStateShapes.
std::string ReadStrictState(const SpaceName& set, bool lock, const std::string& now,
                            const ServerFacts& facts);
inline constexpr std::array kStrictStateShapes = {AtMostOneRow(10), OneRow(2)};
absl::StatusOr<StrictState> ParseStrictState(std::span<const Result> results,
                                             const std::string& place);

// Only the holder of this lock creates sets; AtMostOneRow(1). The row is not written.
inline constexpr char kLockNewSets[] =
    "SELECT one FROM locus_strict_birth WHERE one = 1 FOR UPDATE";

// For LockedRows.
struct StrictSetRow {
  using State = StrictState;
  static constexpr const auto& kShapes = kStrictStateShapes;
  static constexpr const char* kLockNew = kLockNewSets;
  static std::string Read(const SpaceName& set, bool lock, const std::string& now,
                          const ServerFacts& facts) {
    return ReadStrictState(set, lock, now, facts);
  }
  static absl::StatusOr<State> Parse(std::span<const Result> results, const std::string& place) {
    return ParseStrictState(results, place);
  }
};

// The records of some sections, at least one of them; and those from `first` on, ascending. Both at
// most kMostSectionsAtOnce; kSectionShape.
std::string ReadStrictSections(const SpaceName& set, std::span<const uint32_t> sections);
std::string ReadStrictSectionsFrom(const SpaceName& set, uint64_t first);
inline constexpr Shape kSectionShape = Rows(9, kMostSectionsAtOnce);
// Adds what was read to `records`.
absl::Status ParseStrictSections(const Result& result, const SpaceName& set,
                                 const std::string& place,
                                 std::map<uint32_t, strict::Record>& records);

std::string WriteStrictSet(const SpaceName& name, const strict::Set& set,
                           const std::string& identity);
// Of batch.changed, of which there is one at least.
std::string WriteStrictSections(const SpaceName& set, const strict::Batch& batch);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_STRICT_ROWS_H_
