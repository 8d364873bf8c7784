// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_OPENAPI_SCHEMAS_H_
#define LOCUS_APPS_LOCUSD_OPENAPI_SCHEMAS_H_

#include <string_view>

namespace locus::locusd {

// schemas.json; its source is made by CMake.
extern const std::string_view kSchemas;

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_OPENAPI_SCHEMAS_H_
