// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_ID_BUYER_H_
#define LOCUS_APPS_LOCUS_ID_BUYER_H_

#include <optional>
#include <string_view>

#include "locus/buyer_key.h"
#include "src/base/text/text.h"

namespace locus::cli {

// The type of a buyer key that is given as text.
enum class BuyerType { kUint64, kText };

// A uint64 is canonical decimal: no sign, space, leading zero or point; nullopt otherwise. A text
// key is the text's exact bytes, and does not own them.
inline std::optional<BuyerKey> ParseBuyer(BuyerType type, std::string_view text) {
  if (type == BuyerType::kText) return BuyerKey::Text(text);
  std::optional<uint64_t> number = internal::ParseDecimal(text, UINT64_MAX);
  if (!number) return std::nullopt;
  return BuyerKey::Uint64(*number);
}

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_ID_BUYER_H_
