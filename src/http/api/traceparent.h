// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_HTTP_API_TRACEPARENT_H_
#define LOCUS_SRC_HTTP_API_TRACEPARENT_H_

#include <string_view>

#include "src/base/text/trace_id.h"
#include "src/http/server.h"

namespace locus::http_api {

// The trace ID in the value of a header `traceparent` (W3C Trace Context, level 1, and what later
// versions keep of it); empty where the value is not one.
internal::TraceId ParseTraceparent(std::string_view value);
// That of a request. Empty where it has the header twice: nobody knows which of them is right.
internal::TraceId TraceOf(const http::ServerRequest& request);

}  // namespace locus::http_api

#endif  // LOCUS_SRC_HTTP_API_TRACEPARENT_H_
