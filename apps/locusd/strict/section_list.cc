// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/section_list.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::locusd {

absl::Status AddSections(std::string_view text, uint32_t count, std::vector<uint32_t>& sections) {
  const size_t dash = text.find('-');
  const std::optional<uint64_t> first = internal::ParseDecimal(text.substr(0, dash), UINT32_MAX);
  const std::optional<uint64_t> last =
      dash == text.npos ? first : internal::ParseDecimal(text.substr(dash + 1), UINT32_MAX);
  if (!first || !last || *first > *last) {
    return absl::InvalidArgumentError(absl::StrCat(
        internal::Quoted(text), " is neither a section, \"7\", nor a range, \"0-99\""));
  }
  if (*last >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("section ", *last, " is none of the set's, 0 to ", count - 1));
  }
  for (uint64_t section = *first; section <= *last; ++section) {
    sections.push_back(static_cast<uint32_t>(section));
  }
  return absl::OkStatus();
}

void SortSections(std::vector<uint32_t>& sections) {
  std::sort(sections.begin(), sections.end());
  sections.erase(std::unique(sections.begin(), sections.end()), sections.end());
}

std::vector<std::string> SectionTexts(std::span<const uint32_t> sections) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < sections.size();) {
    size_t end = i + 1;
    while (end < sections.size() && sections[end] == sections[end - 1] + 1) ++end;
    texts.push_back(end - i == 1 ? absl::StrCat(sections[i])
                                 : absl::StrCat(sections[i], "-", sections[end - 1]));
    i = end;
  }
  return texts;
}

}  // namespace locus::locusd
