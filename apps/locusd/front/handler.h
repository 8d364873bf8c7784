// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_HANDLER_H_
#define LOCUS_APPS_LOCUSD_FRONT_HANDLER_H_

#include <string>

#include "absl/status/status.h"
#include "apps/locusd/front/access.h"
#include "src/http/api/route_table.h"
#include "src/http/server.h"

namespace locus::locusd {

// A part of what locusd answers: IDs, leases, the console. Front asks its handlers in their order,
// and the first that has the path of a request answers it.
// Thread safety: all methods are called by any thread, and must not wait.
class Handler {
 public:
  virtual ~Handler() = default;

  // What it answers. Front refuses other methods of these paths, and tokens that have none of a
  // route's scopes; a token that is sent must be known even where a route needs none.
  virtual const http_api::RouteTable& Routes() const = 0;
  // Answers, now or later; the request is of Routes, and was admitted. The client's name is
  // access.client. Headers have an X-Request-Id; the front also puts it into the answer.
  virtual void Handle(http::ServerRequest request, const Access& access,
                      http::Server::Respond respond) = 0;

  // Whether it takes from Front::rate, counts what is under way and asks Front::Decide by itself.
  virtual bool AdmitsItself() const { return false; }
  // Not OK: why this part cannot do its work now; /readyz says so.
  virtual absl::Status Ready() const { return absl::OkStatus(); }
  // Not OK: it will never do its work again in this process; /healthz says so.
  virtual absl::Status Healthy() const { return absl::OkStatus(); }
  // Appended to /metrics.
  virtual std::string Metrics() const { return ""; }
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_HANDLER_H_
