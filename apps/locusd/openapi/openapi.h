// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_
#define LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_

#include <string>
#include <string_view>

namespace locus::locusd {

// What locusd answers, as OpenAPI 3.1. tests/locusd holds locusd to it, in both directions.
std::string_view OpenApiText();

// The methods that the document has for a path, as Allow lists them: "GET, HEAD, OPTIONS". Empty:
// it has no such path. A parameter of a path is one segment, or what stands before its ':'.
// Thread safety: may be called from any thread. Cost: no allocation for paths without parameters.
const std::string& AllowOf(std::string_view path);
// All methods of the document, in the same form.
const std::string& AllowOfAll();
// Whether `allow` lists the method.
bool Allows(std::string_view allow, std::string_view method);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_OPENAPI_OPENAPI_H_
