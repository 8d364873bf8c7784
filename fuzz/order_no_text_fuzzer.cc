// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "locus/order_no.h"
#include "src/base/os/check.h"

namespace {

template <typename Number>
void CheckRefusal(const absl::StatusOr<Number>& number) {
  LOCUS_CHECK(number.ok() || number.status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace

// Of every text or value that is an order_no: print and parse, in base 32, hex, decimal and bytes,
// are inverse.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::OrderNo, locus::OrderNo64;
  std::string_view text(reinterpret_cast<const char*>(input), size);
  for (const auto& number : {OrderNo::Parse(text), OrderNo::FromBytes(text)}) {
    CheckRefusal(number);
    if (!number.ok()) continue;
    LOCUS_CHECK(OrderNo::Parse(number->ToString()).value() == *number);
    LOCUS_CHECK(OrderNo::Parse(number->ToHex()).value() == *number);
    LOCUS_CHECK(OrderNo::FromBytes(number->ToBytes()).value() == *number);
  }
  auto number64 = OrderNo64::Parse(text);
  CheckRefusal(number64);
  if (number64.ok()) {
    LOCUS_CHECK(number64->ToString() == text);
    LOCUS_CHECK(OrderNo64::FromInt64(number64->ToInt64()).value() == *number64);
  }
  return 0;
}
