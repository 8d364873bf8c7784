// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_
#define LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_

#include <string>

namespace locus::locusd {

// All that locusd answers, as OpenAPI 3.1: paths, methods, scopes and the names of schemas from the
// route tables; what operations and parameters mean, and the schemas, from schemas.json, which is
// written by hand. tests/openapi holds locusd to it, in both directions.
//
// In schemas.json:
//
// - "operations" has each route's `name`: "summary", "tag", "parameters" (names of components),
//   "answer" (of the good answer), "refusals" (statuses that mean the same everywhere), "others"
//   (other statuses: a response, the name of one, or {"problem": DESCRIPTION}), and "public", true
//   where no token is even looked at.
// - "$Name" is the schema of that name.
// - {"object": {"a": SCHEMA, "b?": SCHEMA}} is an object that must have a, may have b, and has
//   nothing else.
// - A response that is a text is problem details with that description.
//
// Aborts where a route lacks its operation or schema, or an operation its route. Made once.
// Thread safety: may be called from any thread.
const std::string& OpenApiText();

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_
