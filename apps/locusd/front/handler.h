// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_HANDLER_H_
#define LOCUS_APPS_LOCUSD_FRONT_HANDLER_H_

#include <string>

#include "absl/status/status.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/front/scope.h"
#include "src/http/server.h"

namespace locus::locusd {

// A part of what locusd answers: IDs, leases, the console. Front asks its handlers in their order,
// and the first that owns a request answers it.
// Thread safety: all methods are called by any thread, and must not wait.
class Handler {
 public:
  virtual ~Handler() = default;

  // Whether a request of this path is for this handler, whatever its method.
  virtual bool Owns(const http::ServerRequest& request) const = 0;
  // The scopes of which one is enough for it. Empty: nobody needs a token for it, as for a page
  // that is the same for all; a token that is sent must still be known.
  virtual Scopes Needs(const http::ServerRequest& request) const = 0;
  // Answers, now or later; the request was admitted by Needs. The client's name is access.client.
  // Headers have an X-Request-Id, which the front puts into the answer, too.
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
