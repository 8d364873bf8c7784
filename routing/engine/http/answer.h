// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_
#define LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "src/http/connection.h"

// What the head of an answer means for whoever asked for a document.

namespace locus::http {

// By what a later request asks whether a document is still the newest.
struct Validators {
  std::string etag;           // as it stands, W/ and quotes included; empty: none
  std::string last_modified;  // likewise; empty: none that is good for it

  bool empty() const { return etag.empty() && last_modified.empty(); }
};

// Of an answer 200. A date within two seconds of the answer's own is no validator: the document may
// change again in the same second.
Validators ValidatorsOf(const HttpAnswer& head);

// OK: the answer is a 200 with a document, of which a part can be told from the whole; or a 304
// where the request was `conditional`. Otherwise what HttpTableSource says of it, without a place.
absl::Status CheckHead(const HttpAnswer& head, bool conditional);

// Another one for every other document.
std::string VersionOf(std::string_view document);

}  // namespace locus::http

#endif  // LOCUS_ROUTING_ENGINE_HTTP_ANSWER_H_
