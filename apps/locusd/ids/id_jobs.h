// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_JOBS_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_JOBS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_parts.h"
#include "src/http/api/route_table.h"
#include "src/http/server.h"

namespace locus::locusd {

using Deadline = std::chrono::steady_clock::time_point;

// What a request asks for. The body of the answer; without a deadline it does not wait, and
// UNAVAILABLE means that it would have to. It is then called again with one, and goes on where it
// was. INVALID_ARGUMENT, NOT_FOUND: the request is at fault; ABORTED: it says something else than
// the type that its numbers are counted by; any other error: the service is.
using IdJob = std::function<absl::StatusOr<std::string>(std::optional<Deadline>)>;

// A request that was understood.
struct IdRequest {
  IdJob job;
  bool lines = false;      // the answer is NDJSON
  bool makes_ids = false;  // it takes an Idempotency-Key
};

const http_api::RouteTable& IdRoutes();
// INVALID_ARGUMENT, NOT_FOUND: what is wrong with it; UNAVAILABLE, FAILED_PRECONDITION: a part is
// not there. The job works with `parts`, whatever takes their place meanwhile.
absl::StatusOr<IdRequest> Understand(const http::ServerRequest& request,
                                     const std::shared_ptr<const IdParts>& parts);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_JOBS_H_
