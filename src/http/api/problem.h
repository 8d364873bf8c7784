// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_PROBLEM_H_
#define LOCUS_SRC_HTTP_API_PROBLEM_H_

#include <boost/json/object.hpp>

#include "src/http/server.h"

namespace locus::http_api {

// Whether the answer is problem details (RFC 9457).
bool IsProblem(const http::ServerAnswer& answer);

// Adds members to its JSON object. Another answer stays as it is.
void AddToProblem(http::ServerAnswer& answer, const boost::json::object& members);

}  // namespace locus::http_api

#endif  // LOCUS_SRC_HTTP_API_PROBLEM_H_
