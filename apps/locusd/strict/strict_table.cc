// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/text/json_text.h"

namespace locus::locusd {

StrictTable::StrictTable(const StrictSetView& view,
                         const std::function<std::string(const std::string&)>& address_of)
    : version_(view.table_version), owner_of_(view.options.sections(), kNobody) {
  for (const StrictSectionView& section : view.sections) {
    if (section.section >= owner_of_.size()) continue;  // of no use to anybody
    if (section.owner) {
      owner_of_[section.section] = IndexOf({section.owner->name, section.owner->address});
    } else if (!section.successor.empty()) {
      owner_of_[section.section] = IndexOf({section.successor, address_of(section.successor)});
    }
  }
}

uint32_t StrictTable::IndexOf(const Owner& owner) {
  if (owner.address.empty()) return kNobody;  // nobody could go there
  const auto at = std::find(owners_.begin(), owners_.end(), owner);
  if (at != owners_.end()) return static_cast<uint32_t>(at - owners_.begin());
  owners_.push_back(owner);
  return static_cast<uint32_t>(owners_.size() - 1);
}

void StrictTable::Set(std::span<const uint32_t> sections, const Owner* owner, uint64_t version) {
  const uint32_t index = owner == nullptr ? kNobody : IndexOf(*owner);
  for (const uint32_t section : sections) {
    if (section < owner_of_.size()) owner_of_[section] = index;
  }
  version_ = std::max(version_, version);
}

std::string StrictTable::ToJson(const SpaceName& set, const StrictSetOptions& options) const {
  std::string text =
      absl::StrCat("{\"set\":\"", set.str(), "\",\"table_version\":\"", version_,
                   "\",\"first_uid\":\"", options.first_uid, "\",\"uids\":\"", options.uids,
                   "\",\"section_size\":", options.section_size, ",\"step\":\"", options.step,
                   "\",\"ttl_ms\":", absl::ToInt64Milliseconds(options.ttl), ",\"owners\":[");
  for (size_t i = 0; i < owners_.size(); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ",", "{\"name\":", internal::JsonQuoted(owners_[i].name),
                    ",\"address\":", internal::JsonQuoted(owners_[i].address), "}");
  }
  text += "],\"ranges\":[";
  bool is_first = true;
  for (size_t section = 0; section < owner_of_.size();) {
    size_t end = section + 1;
    while (end < owner_of_.size() && owner_of_[end] == owner_of_[section]) ++end;
    if (owner_of_[section] != kNobody) {
      absl::StrAppend(&text, is_first ? "" : ",", "{\"first\":", section, ",\"last\":", end - 1,
                      ",\"owner\":", owner_of_[section], "}");
      is_first = false;
    }
    section = end;
  }
  text += "]}";
  return text;
}

}  // namespace locus::locusd
