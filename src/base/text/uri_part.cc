// SPDX-License-Identifier: Apache-2.0
#include "src/base/text/uri_part.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "src/base/text/text.h"

namespace locus::internal {

std::string_view TakeAfter(std::string_view& text, char mark) {
  size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view after = text.substr(at + 1);
  text = text.substr(0, at);
  return after;
}

std::optional<char> PercentByte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return std::nullopt;
  const auto byte = ParseHex(text.substr(1, 2));
  if (!byte) return std::nullopt;
  return static_cast<char>(static_cast<uint8_t>(*byte));
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool escaped = text[0] == '%';
    const std::optional<char> byte = escaped ? PercentByte(text) : text[0];
    if (!byte) return std::nullopt;
    out += *byte;
    text.remove_prefix(escaped ? 3 : 1);
  }
  return out;
}

absl::StatusOr<std::string> DecodePercents(std::string_view part) {
  std::optional<std::string> out = Unescaped(part);
  if (!out) return absl::InvalidArgumentError("has a '%' without two hex digits after it");
  if (out->find('\0') != out->npos) return absl::InvalidArgumentError("has a zero byte");
  return *std::move(out);
}

bool IsOfHost(char c, bool bracketed) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
         (bracketed && (c == ':' || c == '%'));
}

}  // namespace locus::internal
