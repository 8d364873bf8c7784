// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "locus/uuid.h"
#include "src/base/os/check.h"

// Of every text or value that is a UUID: print and parse, as text and bytes, are inverse, and a
// text differs from what is printed by its case only.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::Uuid;
  std::string text(reinterpret_cast<const char*>(input), size);
  auto parsed = Uuid::Parse(text);
  LOCUS_CHECK(parsed.ok() || parsed.status().code() == absl::StatusCode::kInvalidArgument);
  if (parsed.ok()) {
    LOCUS_CHECK(parsed->ToString() == absl::AsciiStrToLower(text));
    LOCUS_CHECK(Uuid::Parse(parsed->ToString()).value() == *parsed);
    LOCUS_CHECK(Uuid::FromBytes(parsed->ToBytes()).value() == *parsed);
  }
  auto read = Uuid::FromBytes(text);
  LOCUS_CHECK(read.ok() == (size == Uuid::kBytes));
  if (read.ok()) {
    LOCUS_CHECK(read->ToBytes() == text);
    LOCUS_CHECK(Uuid::Parse(read->ToString()).value() == *read);
  }
  return 0;
}
