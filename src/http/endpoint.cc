// SPDX-License-Identifier: Apache-2.0
#include "src/http/endpoint.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::http {

using internal::ParseDecimal;
using internal::Quoted;

absl::StatusOr<Endpoint> Endpoint::Parse(std::string_view text, Port zero) {
  auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat("endpoint ", Quoted(text), " is not host:port"));
  };
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return refuse();
  std::optional<uint64_t> port = ParseDecimal(text.substr(colon + 1), 65535);
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  bool plain = host.find_first_of("[]/@?# \t\r\n") == std::string_view::npos &&
               (bracketed || host.find(':') == std::string_view::npos);
  if (!port || (*port == 0 && zero == Port::kNotZero) || host.empty() || !plain) return refuse();
  return Endpoint{std::string(host), static_cast<uint16_t>(*port), std::string(text)};
}

}  // namespace locus::http
