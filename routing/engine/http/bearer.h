// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_HTTP_BEARER_H_
#define LOCUS_ROUTING_ENGINE_HTTP_BEARER_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/base/os/secret_bytes.h"

namespace locus::http {

// The value of the header Authorization. No message shows a token.
struct Bearer {
  static constexpr size_t kLongestToken = 64 << 10;

  std::string_view view() const { return memory.view().substr(0, size); }

  // INVALID_ARGUMENT: a token that is too long, or is not visible ASCII.
  static absl::StatusOr<Bearer> Of(std::string_view token);
  // Of the token in a file, without the line break at its end. FAILED_PRECONDITION: there is none,
  // it is open to others, or holds no token.
  static absl::StatusOr<Bearer> Read(const std::string& file);

  internal::SecretBytes memory;
  size_t size = 0;  // 0: there is none
};

}  // namespace locus::http

#endif  // LOCUS_ROUTING_ENGINE_HTTP_BEARER_H_
