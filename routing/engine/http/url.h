// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_HTTP_URL_H_
#define LOCUS_ROUTING_ENGINE_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "src/http/endpoint.h"

namespace locus::http {

// The parts of an absolute URL.
struct Url {
  static constexpr size_t kLongest = 8192;

  bool tls = false;
  Endpoint endpoint;   // its text without the port where that is the scheme's own
  std::string target;  // path and query, for a request
  std::string shown;   // without the query, which may hold a secret

  // INVALID_ARGUMENT: "url SHOWN: reason"; no message shows a query or the part before an '@'.
  static absl::StatusOr<Url> Parse(std::string_view text);
};

// The part of a text, perhaps not a URL, that messages may show, in quotes: without a query and
// without anything before an '@'.
std::string WithoutSecrets(std::string_view text);

}  // namespace locus::http

#endif  // LOCUS_ROUTING_ENGINE_HTTP_URL_H_
