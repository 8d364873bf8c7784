// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "locus/order_id.h"
#include "src/base/os/check.h"

// Of every text that is an order ID: print and parse, by text, bytes and number, are inverse; text
// has one form but for the case of hex digits.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::OrderId;
  std::string_view text(reinterpret_cast<const char*>(input), size);
  if (auto of_bytes = OrderId::FromBytes(text); of_bytes.ok()) {
    LOCUS_CHECK(of_bytes->ToBytes() == text);
    LOCUS_CHECK(OrderId::Parse(of_bytes->ToString()).value() == *of_bytes);
  }
  auto id = OrderId::Parse(text);
  if (!id.ok()) {
    LOCUS_CHECK(id.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  LOCUS_CHECK(id->ToString() == lower);
  LOCUS_CHECK(OrderId::FromBytes(id->ToBytes()).value() == *id);
  LOCUS_CHECK(OrderId::FromParts(id->gene(), id->sequence()).value() == *id);
  LOCUS_CHECK(id->is_wide() || OrderId::FromInt64(id->ToInt64().value()).value() == *id);
  return 0;
}
