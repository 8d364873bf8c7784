// SPDX-License-Identifier: Apache-2.0
#include "routing/table/refusal.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {

absl::Status RefusedAt(std::string_view pointer, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat(ToAbsl(pointer), pointer.empty() ? "" : ": ", ToAbsl(reason)));
}

std::string PointerTo(std::string_view parent, std::string_view member) {
  std::string pointer(parent);
  pointer += '/';
  for (char c : member) {
    bool control = static_cast<unsigned char>(c) < ' ' || c == 0x7F;
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else if (control) {
      pointer += "\\x" + HexOf({&c, 1});
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::string PointerTo(std::string_view parent, size_t index) {
  return absl::StrCat(ToAbsl(parent), "/", index);
}

}  // namespace locus::internal
