// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_NODES_H_
#define LOCUS_SRC_ENGINE_LOCUSD_NODES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/clock.h"
#include "locus/engine/locusd.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/secret_bytes.h"
#include "src/base/run/mutex.h"
#include "src/base/text/most_telling.h"
#include "src/http/connection.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

struct Request {
  std::string_view method;
  std::string target;
  std::string body = {};
  // The HTTP status of success: 204 has no body.
  unsigned good = 204;
  // Whether the request has an ID, by which the cluster recognizes a repetition. kSession: one ID
  // for all requests of this handle, and a serial (src/cluster/machine/sessions.h).
  enum class Id { kNone, kOwn, kSession };
  Id once = Id::kNone;
  // A longer answer is an error.
  size_t most_answer = size_t{64} << 10;
  // Of Ask: no longer than this, where the options allow more.
  absl::Duration longest = absl::InfiniteDuration();
};

// FAILED_PRECONDITION: there is a token, and it would go over the network in plain text.
absl::Status CheckToken(const http::Endpoint& endpoint, bool token, bool tls);
// "Bearer TOKEN"; of no token, nothing. UNAVAILABLE: the kernel gives no memory for secrets.
absl::StatusOr<internal::SecretBytes> AuthorizationOf(std::string_view token);
// The time of Retry-After, and up to half a second more, so that clients do not all return at once.
absl::Duration PauseOf(const http::HttpAnswer& answer);

// Speaks HTTP with the nodes of a cluster of locusd: finds the leader, follows redirections,
// repeats requests that no node answered. The stores of this folder (segments.cc, counters.cc,
// types.cc, workers.cc, strict.cc) each write their requests with src/cluster/api's bodies, send
// them through a Nodes, and check the answers before they use them. LocusdCluster (cluster.cc)
// administers the nodes themselves.
//
// Thread safety: all methods may be called from any thread. Calls of the leader share one
// connection, and wait for each other. Fork: in a forked child every call is FAILED_PRECONDITION,
// and destruction touches no socket.
class Nodes {
 public:
  // Where a redirection may lead.
  enum class Follow {
    kEndpoints,  // to the endpoints of the options
    kAnywhere,   // also to nodes that may get the token
  };

  // Connects nothing. Errors of LocusdOptions::Check and TlsContext::Load.
  static absl::StatusOr<std::unique_ptr<Nodes>> Open(const LocusdOptions& options, Follow follow,
                                                     Clock& clock);
  ~Nodes();

  // The answer's body. The same request goes from node to node until one of them carries it out, or
  // refuses it with an error that a repetition cannot change. UNAVAILABLE: none did within
  // LocusdOptions::timeout.
  absl::StatusOr<std::string> Call(const Request& request);
  // The body that this one node answers, over a connection of its own. UNAVAILABLE: it does not
  // answer, or redirects. FAILED_PRECONDITION: the token must not go there.
  absl::StatusOr<std::string> Ask(std::string_view endpoint, const Request& request) const;

  // The token is made for such a place, or there is none.
  absl::Status CheckPlace(const http::Endpoint& endpoint) const;
  const LocusdOptions& options() const { return options_; }  // without the token
  LocusdStats Stats() const;

 private:
  Nodes(const LocusdOptions& options, Follow follow, std::vector<http::Endpoint> endpoints,
        std::unique_ptr<http::TlsContext> tls, internal::SecretBytes authorization, Clock& clock);

  absl::StatusOr<std::string> RequestId() const;
  absl::StatusOr<std::string> SessionId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<http::HttpAnswer> Send(http::HttpConnection& connection, const Request& request,
                                        const std::string& id, http::TimePoint until) const;
  const http::Endpoint& Here() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return elsewhere_ ? *elsewhere_ : endpoints_[at_];
  }
  // `failed`: set where it is UNAVAILABLE.
  absl::StatusOr<std::string> AskHere(const Request& request, const std::string& id,
                                      http::TimePoint deadline, internal::MostTelling::Kind& failed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void GoOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string GoTo(std::string_view location) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  LocusdOptions options_;
  const Follow follow_;
  const std::vector<http::Endpoint> endpoints_;
  const std::unique_ptr<http::TlsContext> tls_;
  const internal::SecretBytes authorization_;  // "Bearer ..."
  Clock& clock_;
  const internal::ForkGuard home_;

  mutable internal::Mutex mutex_;
  size_t at_ ABSL_GUARDED_BY(mutex_) = 0;  // of the endpoint that is asked first
  // The leader, where it is none of them.
  std::optional<http::Endpoint> elsewhere_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<http::HttpConnection> connection_ ABSL_GUARDED_BY(mutex_);
  absl::Duration pause_ ABSL_GUARDED_BY(mutex_);  // that the last answer asked for
  LocusdStats stats_ ABSL_GUARDED_BY(mutex_);
  std::string session_ ABSL_GUARDED_BY(mutex_);  // 32 hex digits; empty: not drawn yet
  uint64_t serial_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last request
};

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_NODES_H_
