// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/token.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

constexpr std::string_view kShare = "{\"share\": ", kNonce = ", \"nonce\": ";

}  // namespace

std::string TokenText(uint32_t share, uint64_t nonce) {
  return absl::StrCat(ToAbsl(kShare), share, ToAbsl(kNonce), nonce, "}");
}

// Only the exact form above counts: JSON that another program wrote is no handover.
std::pair<uint32_t, uint64_t> TokenIn(std::string_view text) {
  const size_t comma = text.find(kNonce);
  if (!text.starts_with(kShare) || comma == std::string_view::npos || !text.ends_with("}")) {
    return {0, 0};
  }
  auto share = ParseDecimal(text.substr(kShare.size(), comma - kShare.size()), 10000);
  const size_t at = comma + kNonce.size();
  auto nonce = ParseDecimal(text.substr(at, text.size() - 1 - at), UINT64_MAX);
  if (!share || !nonce || *nonce == 0) return {0, 0};
  return {static_cast<uint32_t>(*share), *nonce};
}

}  // namespace locus::internal
