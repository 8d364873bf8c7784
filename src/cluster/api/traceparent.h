// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_TRACEPARENT_H_
#define LOCUS_SRC_CLUSTER_API_TRACEPARENT_H_

#include <string_view>

#include "src/cluster/machine/command.h"

namespace locus::cluster_api {

// The trace ID in the value of a header `traceparent` (W3C Trace Context, level 1, and what later
// versions keep of it); empty where the value is not one.
cluster_machine::TraceId ParseTraceparent(std::string_view value);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_TRACEPARENT_H_
