// SPDX-License-Identifier: Apache-2.0
// Expressions of a server: read to their end, and a sequence in plain sight is always found.
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "migration/preflight/default_value.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string part = locus::preflight::PartOfOneServer(text);
  if (part.size() > text.size() + 2) std::abort();
  if (part.empty() &&
      locus::preflight::PartOfOneServer(absl::StrCat(text, " + nextval(`s`)")).empty()) {
    std::abort();
  }
  return 0;
}
