// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_ENDPOINT_H_
#define LOCUS_SRC_HTTP_ENDPOINT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace locus::http {

using TimePoint = std::chrono::steady_clock::time_point;

struct Endpoint {
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string text;  // "host:port", as given; the value of the header Host

  // A port to listen on may be 0: a free one.
  enum class Port { kNotZero, kMayBeZero };
  // INVALID_ARGUMENT: "endpoint TEXT is not host:port".
  static absl::StatusOr<Endpoint> Parse(std::string_view text, Port port = Port::kNotZero);
};

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_ENDPOINT_H_
