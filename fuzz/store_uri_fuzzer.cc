// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/base/os/check.h"
#include "src/open/store_uri.h"

// What is read has what its engine needs; what is refused is refused without the password.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::internal::StoreUri;
  std::string_view text(reinterpret_cast<const char*>(input), size);
  auto uri = StoreUri::Parse(text);
  if (!uri.ok()) {
    LOCUS_CHECK(uri.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  LOCUS_CHECK(uri->hosts.empty() == uri->engine->is_file);
  for (const StoreUri::Host& host : uri->hosts) LOCUS_CHECK(!host.name.empty() && host.port > 0);
  LOCUS_CHECK(!uri->engine->is_file || !uri->path.empty());
  return 0;
}
