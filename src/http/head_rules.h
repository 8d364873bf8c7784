// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_HEAD_RULES_H_
#define LOCUS_SRC_HTTP_HEAD_RULES_H_

#include <cstddef>
#include <string_view>

// The heads of requests that the server accepts: fewer than RFC 9112 allows, so that a proxy in
// front of it cannot see another request, another end or another path in the same bytes.

namespace locus::http {

struct HeadScan {
  size_t size = 0;        // of the head with its empty line; 0: its end has not come yet
  std::string_view flaw;  // why these bytes begin no head; empty: they may
};
// Looks for the end. The first `seen` bytes had none before. Every line ends with CR LF, no line
// continues in the next one, and there are no control characters but tabs.
HeadScan ScanHead(std::string_view bytes, size_t seen);

// Why a whole head, which ScanHead found, is refused; empty: it is taken. One Host in HTTP/1.1, at
// most one Content-Length, of digits, or one Transfer-Encoding, which is chunked and in HTTP/1.1;
// names without blanks; a target that FlawOfTarget takes.
std::string_view FlawOfHead(std::string_view head);

// A target without the scheme and the authority of its absolute form (RFC 9112, section 3.2.2),
// which no target has that begins with '/' or is '*'. "" for a path that is missing there: "/" is
// meant.
struct TargetParts {
  std::string_view authority;  // empty: not the absolute form
  std::string_view rest;
};
TargetParts SplitTarget(std::string_view target);

// The target is a path with or without a query, the same behind http:// or https:// and a host, or
// '*' with OPTIONS. A path has no segment that is
// empty, '.' or '..', no ';' and no '\', no control character and no %XX that hides one of '.',
// '\' and control characters where it matters.
std::string_view FlawOfTarget(std::string_view method, std::string_view target);

}  // namespace locus::http

#endif  // LOCUS_SRC_HTTP_HEAD_RULES_H_
