// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_REFUSALS_H_
#define LOCUS_SRC_STRICT_REFUSALS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "locus/space.h"
#include "locus/strict_store.h"

namespace locus::strict {

// The statuses of an owner of sections that gives no number.
// Thread safety: immutable.
class Refusals {
 public:
  Refusals(const SpaceName& set, const StrictSetOptions& options, std::string owner)
      : set_(set), options_(options), owner_(std::move(owner)) {}

  // INVALID_ARGUMENT.
  absl::Status NoSuchUid(uint64_t uid) const;
  absl::Status NoSuchSection(uint32_t section) const;
  // OUT_OF_RANGE.
  absl::Status OutOfNumbers(uint32_t section) const;
  // ABORTED. `holder`: the section's owner by the table of this version; empty: the table names no
  // owner.
  absl::Status NotOurs(uint32_t section, uint64_t table_version, std::string_view holder) const;
  // UNAVAILABLE.
  absl::Status UsedUp(uint32_t section, uint64_t max_seq) const;
  absl::Status NoMemory(uint32_t section, uint64_t most_bytes) const;
  absl::Status OpenedAnew(uint32_t section) const;  // while the number was drawn
  // `last`: of the last renewal.
  absl::Status Ended(uint32_t section, const absl::Status& last) const;
  // RESOURCE_EXHAUSTED: the system has no addresses for a section's numbers.
  absl::Status NoAddresses(uint32_t section) const;
  // DATA_LOSS: the store noticed a loss by a call for this many sections.
  absl::Status LossNoticed(std::string_view call, size_t sections, uint64_t table_version) const;
  // DATA_LOSS: the store answered for other sections than these.
  absl::Status OtherSections(size_t asked) const;

 private:
  std::string Place(uint32_t section) const;

  const SpaceName set_;
  const StrictSetOptions options_;
  const std::string owner_;
};

// StrictSequencerOptions::most_memory. INVALID_ARGUMENT.
absl::Status CheckMemory(uint64_t most_bytes);

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_REFUSALS_H_
