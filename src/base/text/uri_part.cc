// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/uri_part.h"

#include <cstdint>

#include "src/base/text/text.h"

namespace locus::internal {

std::string_view TakeAfter(std::string_view& text, char mark) {
  size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view after = text.substr(at + 1);
  text = text.substr(0, at);
  return after;
}

absl::StatusOr<std::string> DecodePercents(std::string_view part) {
  std::string out;
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      out += part[i];
      continue;
    }
    std::string_view digits = part.substr(i + 1, 2);
    auto byte = ParseHex(digits);
    if (digits.size() != 2 || !byte) {
      return absl::InvalidArgumentError("has a '%' without two hex digits after it");
    }
    out += static_cast<char>(static_cast<uint8_t>(*byte));
    i += 2;
  }
  if (out.find('\0') != std::string::npos) return absl::InvalidArgumentError("has a zero byte");
  return out;
}

}  // namespace locus::internal
