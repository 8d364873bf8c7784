// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_SECTION_LIST_H_
#define LOCUS_APPS_LOCUSD_STRICT_SECTION_LIST_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace locus::locusd {

// Adds the sections of "7" or "0-99" to `sections`. `count`: of the set's sections.
// INVALID_ARGUMENT: the text is neither, or names a section that the set does not have; nothing is
// added.
absl::Status AddSections(std::string_view text, uint32_t count, std::vector<uint32_t>& sections);

// Ascending, each once.
void SortSections(std::vector<uint32_t>& sections);

// "0-99", "200" for ascending sections; one text for each run of neighbours.
std::vector<std::string> SectionTexts(std::span<const uint32_t> sections);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_SECTION_LIST_H_
