// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_NODE_NAME_H_
#define LOCUS_APPS_LOCUSD_STRICT_NODE_NAME_H_

#include <algorithm>
#include <string_view>

namespace locus::locusd {

inline constexpr char kNodeNames[] = "1 to 64 of a-z, 0-9, '_', '.' and '-'";

// Whether it is such a name: of a node of a set, as StrictOwner has it.
inline bool IsNodeName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_NODE_NAME_H_
