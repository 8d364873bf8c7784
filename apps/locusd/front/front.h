// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_FRONT_H_
#define LOCUS_APPS_LOCUSD_FRONT_FRONT_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "apps/locusd/front/access.h"
#include "apps/locusd/front/handler.h"
#include "src/http/api/rate_limit.h"
#include "src/http/server.h"

namespace locus::locusd {

// A request that was answered, for a log.
struct AnsweredRequest {
  std::string method;
  std::string path;      // as it was sent; without the query
  std::string peer;      // the client's address
  std::string client;    // the name of the token; "": none
  std::string id;        // X-Request-Id
  std::string trace_id;  // of `traceparent`: 32 hex digits; "": the request is of no trace
  unsigned status = 0;
  absl::Duration duration;  // until the answer was handed to the server
};

struct FrontOptions {
  // True: answers only requests whose Host is this machine's loopback: a page of the web that has
  // its own name resolved to 127.0.0.1 gets nothing.
  bool only_loopback_hosts = false;
  // Requests of one address, whichever handler they are for.
  cluster_api::RateLimitOptions rate = {};
  // Requests that are not answered yet; beyond, they get 503.
  size_t most_under_way = 1024;
  // Called once for each request, by the thread that answered it. Must not wait. May be empty.
  std::function<void(const AnsweredRequest&)> on_request = {};
  // Called for a request without a valid token, at most once a second, with the client's address,
  // the request's ID and how many others came since the last call. Must not wait. May be empty.
  std::function<void(const std::string& peer, std::string_view id, uint64_t more)> on_unauthorized =
      {};
  // Asked before each request whether on_request wants it: building the event costs. Empty: yes.
  std::function<bool()> is_logged = {};
  // Appended to /metrics. May be empty.
  std::function<std::string()> metrics = {};
  // /openapi.json: OpenApiText. Empty: {}.
  std::function<std::string()> document = {};
};

// What stands between the HTTP server and the handlers:
//
// - /healthz, /readyz (503 while it drains, or while a handler is not ready; why it is, only to the
//   scope read), /metrics and /openapi.json.
// - 415 for bodies with a Content-Encoding.
// - OPTIONS, HEAD, and 405 for methods that a path does not have, by the routes of the handlers.
// - The limits of addresses, the tokens with their scopes and rates.
// - Request IDs: an X-Request-Id of 1 to 128 letters, digits and ._:-+/= is taken over, otherwise
//   one is made. Handlers find it among the headers; the answer has it, and problem details have it
//   as "request_id".
// - 403 for what another origin's page sends, where no token is asked for.
//
// Thread safety: all methods may be called from any thread; but Add, before the first Handle.
class Front {
 public:
  // `access` may be replaced later.
  Front(std::shared_ptr<AccessControl> access, FrontOptions options);
  ~Front();

  // Of /healthz, /readyz, /metrics and /openapi.json.
  static const http_api::RouteTable& Routes();

  // `handler` outlives the front and all requests.
  void Add(Handler& handler);
  // One thread at a time. `access` goes on from the one before, and nobody else uses it yet.
  void Replace(std::shared_ptr<AccessControl> access);

  // As ServerOptions::reads_body: whether its token lets the request in, and something reads its
  // body.
  bool ReadsBody(const http::ServerRequest& request) const;
  // As ServerOptions::on_refusal: with a request ID, and for the log.
  void Refused(const std::string& peer, http::ServerAnswer& answer) const;
  // As http::Server::Handler.
  void Handle(http::ServerRequest request, http::Server::Respond respond);

  // From now on /readyz answers 503.
  void Drain();
  bool draining() const;
  // Requests that are not answered yet.
  size_t under_way() const;

  // Asks the present AccessControl. For handlers that admit themselves.
  AccessControl::Decision Decide(const http::ServerRequest& request, Scopes any_of) const;
  // The count of addresses, which these take from, too.
  std::shared_ptr<cluster_api::RateLimit> rate() const;

 private:
  class Rep;
  const std::shared_ptr<Rep> rep_;  // held by requests under way
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_FRONT_H_
