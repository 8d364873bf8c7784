// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_
#define LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "src/http/connection.h"

// The meaning of an answer's head for the request for a document.

namespace locus::http {

// The validators with which a later request asks whether a document is still the newest.
struct Validators {
  std::string etag;           // verbatim, with W/ and quotes; empty: none
  std::string last_modified;  // likewise; empty: none that is good for it

  bool empty() const { return etag.empty() && last_modified.empty(); }
};

// Of an answer 200. A date within two seconds of the answer's own is no validator: the document may
// change again in the same second.
Validators ValidatorsOf(const HttpAnswer& head);

// OK: the answer is a 200 with a document whose end is known, or a 304 to a `conditional` request.
// Otherwise the error that HttpTableSource documents, without the place.
absl::Status CheckHead(const HttpAnswer& head, bool conditional);

// A version that differs for every other document.
std::string VersionOf(std::string_view document);

}  // namespace locus::http

#endif  // LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_
