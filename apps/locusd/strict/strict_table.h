// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_TABLE_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_TABLE_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "locus/space.h"
#include "locus/strict_store.h"

namespace locus::locusd {

// Who owns which section, as this node knows it. A value.
class StrictTable {
 public:
  struct Owner {
    std::string name;
    std::string address;
    friend bool operator==(const Owner&, const Owner&) = default;
  };

  // Of `sections` without owners.
  explicit StrictTable(uint32_t sections) : owner_of_(sections, kNobody) {}
  // Of what the store says. `address_of`: of an owner who is known by his name only, as one to whom
  // a section was handed over; "" where nobody knows it.
  StrictTable(const StrictSetView& view,
              const std::function<std::string(const std::string&)>& address_of);

  uint64_t version() const { return version_; }
  uint32_t sections() const { return static_cast<uint32_t>(owner_of_.size()); }
  // nullptr: nobody, as far as known, or somebody whose address is not. Valid as long as the table.
  const Owner* OwnerOf(uint32_t section) const {
    const uint32_t at = owner_of_[section];
    return at == kNobody ? nullptr : &owners_[at];
  }

  // nullptr: the sections are nobody's from then on. The version never falls.
  void Set(std::span<const uint32_t> sections, const Owner* owner, uint64_t version);

  // The body of GET /v1/strict/table.
  std::string ToJson(const SpaceName& set, const StrictSetOptions& options) const;

 private:
  static constexpr uint32_t kNobody = UINT32_MAX;
  uint32_t IndexOf(const Owner& owner);

  uint64_t version_ = 0;
  std::vector<Owner> owners_;
  std::vector<uint32_t> owner_of_;  // by section: an index of owners_
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_TABLE_H_
