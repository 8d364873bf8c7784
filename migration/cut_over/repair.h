// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_CUT_OVER_REPAIR_H_
#define LOCUS_MIGRATION_CUT_OVER_REPAIR_H_

#include <optional>
#include <string>
#include <string_view>

namespace locus::internal {

// The repairs of a running move that an operator asked for.
struct Repair {
  // Guards and version triggers are made again where they are missing or wrong. Comes with each of
  // the others.
  bool guards = false;
  // The stream from the source begins again, at the current end of its log, and the orders that the
  // source accepts are copied again.
  bool forth = false;
  bool back = false;  // likewise from the target

  bool any() const { return guards || forth || back; }
  friend bool operator==(const Repair&, const Repair&) = default;
};
// "guards,back"; empty: nothing.
std::string RepairText(const Repair& repair);
std::optional<Repair> RepairIn(std::string_view text);

// In which directions a move copies rows in its phases before the comparison.
struct Seeding {
  bool forth = true;
  bool back = false;
  // False: for the first time, when orders are at the source alone. True: to repair a stream; both
  // streams run meanwhile.
  bool again = false;

  friend bool operator==(const Seeding&, const Seeding&) = default;
};
// "forth", "again,back".
std::string SeedingText(const Seeding& seeding);
std::optional<Seeding> SeedingIn(std::string_view text);

}  // namespace locus::internal

#endif  // LOCUS_MIGRATION_CUT_OVER_REPAIR_H_
