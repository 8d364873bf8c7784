// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_API_H_
#define LOCUS_SRC_CLUSTER_API_API_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/cluster/api/call.h"
#include "src/cluster/api/forwarder.h"
#include "src/cluster/node/cluster_node.h"
#include "src/cluster/node/member_address.h"
#include "src/http/api/rate_limit.h"
#include "src/http/api/route_table.h"
#include "src/http/server.h"

namespace locus::cluster_api {

// The sender of a request, and whether it is let in.
struct Admission {
  std::string client;                         // its name, for RequestEvent
  std::optional<http::ServerAnswer> refusal;  // the answer of one that is not let in
};

struct ApiOptions {
  // Decides whether a request is let in that needs one of these scopes. Must not wait. Empty: all
  // are let in.
  std::function<Admission(const http::ServerRequest&, http_api::Scopes any_of)> admit = {};
  // Serves counters, spaces of order IDs, rules and strict sets. Only once all nodes of the cluster
  // know them: an older node stops at the first request about them that it has to apply.
  bool keeps_store = false;
  // Of the clients' addresses, for redirections.
  bool tls = false;
  // GET /v1/status shows these: the cluster's name, and the addresses for other nodes and for
  // clients. An operator's tool reads them there when it adds the node to a cluster.
  std::string cluster = {};
  cluster_node::MemberAddress address = {};
  // It also says which other nodes this one does not reach, and why; "": it reaches all. Must not
  // wait. May be empty.
  std::function<std::string()> unreached = {};
  ForwardOptions forward = {};
  RateLimitOptions rate = {};
  // A limit that these requests share with other servers of this process; it has the options
  // `rate`. nullptr: a limit of their own.
  std::shared_ptr<RateLimit> shared_rate = nullptr;
  // Requests that are not answered yet; beyond, they get 503. More: more memory when the cluster
  // has no leader, for each may have a body.
  size_t most_under_way = 1024;
  // Called when an operator has advanced the cluster's time; `client` names the token. Must not
  // wait.
  std::function<void(const std::string& client, const cluster_node::ClusterNode::TimeView& before)>
      on_advance = {};
  // Called once for each request, by the thread that answered it. Must not wait, nor call the API.
  // May be empty.
  std::function<void(const RequestEvent&)> on_request = {};

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// The HTTP API of a cluster node. A request becomes an ApiCall (call.h), passes the rate limit and
// ApiOptions::admit, is parsed (bodies.h, store_bodies.h, strict_bodies.h, type_bodies.cc) and goes
// to the ClusterNode; the ApiCall answers when the node does. The Forwarder takes it instead where
// another node leads. Pages are the bodies about the node itself.
//
// Routes() lists its paths; apps/locusd/openapi/schemas.json describes them.
//
// If another node leads, requests get 307 and its address in Location; if no leader is known, 503.
// With "Prefer: forward" this node asks the leader itself, once, and returns its answer
// (forwarder.h). A header "Request-Id: <ms since 1970>-<32 hex digits>" lets PUT /v1/spaces, POST
// and DELETE change something once: a repetition gets the first answer for 2 minutes, and another
// request under the same ID is INVALID_ARGUMENT. Counters and spaces of order IDs take "-<serial>"
// behind it: the ID names a session, of which only the last request is remembered, and whose
// requests are sent one by one, each with a greater serial. Refusals are problem details (RFC
// 9457). `traceparent` (W3C) is taken into the facts of the request, and so into the audit.
//
// An address that sends too much gets 429 with Retry-After, and code UNAVAILABLE (rate_limit.h); a
// node with too much under way answers 503, and so does one that already has 32 listings of leases
// or strict sets to send. A request from a member's IP address that claims to be forwarded has a
// limit of its own, ten times as high.
//
// Thread safety: may be called by any thread. The node must outlive it and the requests that it
// still answers.
class Api {
 public:
  static const http_api::RouteTable& Routes();

  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no thread.
  static absl::StatusOr<std::shared_ptr<Api>> Make(cluster_node::ClusterNode& node,
                                                   const ApiOptions& options);
  ~Api();

  void Handle(http::ServerRequest request, http::Server::Respond respond);

  // As /healthz and /readyz say: UNAVAILABLE where the node does not work, or is not ready.
  absl::Status Health(bool ready) const;
  // As /metrics.
  std::string Metrics() const;

 private:
  class Rep;
  explicit Api(std::shared_ptr<Rep> rep);
  std::shared_ptr<Rep> rep_;
};

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_API_H_
