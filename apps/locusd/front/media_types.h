// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_MEDIA_TYPES_H_
#define LOCUS_APPS_LOCUSD_FRONT_MEDIA_TYPES_H_

#include <optional>

#include "src/http/server.h"

namespace locus::locusd {

// What a path can answer with.
enum class Answers {
  kJson,
  kJsonOrLines,  // NDJSON
};

// The refusal of a request whose client sends a body that is not JSON (415), or takes nothing of
// what there is (406). A body without a Content-Type is JSON, and so is one that has what curl and
// browsers' forms say of a body that nobody named.
// By the weights of Accept (RFC 9110, section 12.5.1), of which the most specific range counts.
// Several fields are not joined: the first counts.
std::optional<http::ServerAnswer> RefuseTypes(const http::ServerRequest& request, Answers answers);

// Whether the client wants NDJSON rather than JSON. At equal weights, whichever it names first.
bool WantsLines(const http::ServerRequest& request);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_MEDIA_TYPES_H_
