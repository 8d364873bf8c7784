// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "routing/uri/store_uri.h"
#include "src/base/os/check.h"

// What is read has what its engine needs; what is refused is refused without the password.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using locus::internal::StoreUri;
  std::string_view text(reinterpret_cast<const char*>(input), size);
  auto uri = StoreUri::Parse(text);
  if (!uri.ok()) {
    LOCUS_CHECK(uri.status().code() == absl::StatusCode::kInvalidArgument);
    return 0;
  }
  bool is_file = uri->engine == StoreUri::Engine::kSqlite;
  LOCUS_CHECK(uri->hosts.empty() == is_file);
  for (const StoreUri::Host& host : uri->hosts) LOCUS_CHECK(!host.name.empty() && host.port > 0);
  bool needs_path = is_file || uri->engine == StoreUri::Engine::kMysql ||
                    uri->engine == StoreUri::Engine::kRedisSentinel;
  LOCUS_CHECK(!needs_path || !uri->path.empty());
  return 0;
}
