// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_FORWARDER_H_
#define LOCUS_SRC_CLUSTER_API_FORWARDER_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/cluster/api/call.h"
#include "src/http/fetcher.h"

namespace locus::cluster_api {

struct ForwardOptions {
  // Requests that are being forwarded at once; beyond, and with 0, clients are redirected.
  size_t most = 64;
  // For the leader's answer. Longer: a client waits longer for a leader that has just died, and
  // still has to repeat its request afterwards.
  absl::Duration timeout = absl::Seconds(5);
  // By which the leader's API is reached where ApiOptions::tls is set; must outlive the API.
  // nullptr there: clients are redirected.
  const http::TlsContext* tls = nullptr;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Hands requests on to the leader for clients that ask for it by "Prefer: forward" (RFC 7240), and
// its answers back. Token, Request-Id, trace and body go along, and a header that keeps the request
// from being forwarded again: if that node no longer leads, its redirection is the answer. Each
// request has a connection of its own.
// Thread safety: all methods may be called from any thread; none waits.
class Forwarder {
 public:
  // UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<Forwarder>> Make(const ForwardOptions& options, bool tls);

  // Whether the client asks for it, and no node has forwarded the request yet.
  static bool IsWanted(const http::ServerRequest& request);
  // Whether a node says that it has forwarded the request.
  static bool IsForwarded(const http::ServerRequest& request);

  // False: it must be redirected. Otherwise it will be answered: with 503 if no answer comes, and
  // by `redirect` if the answer is too long to be handed on. `address`: the leader's API.
  bool Forward(const std::string& address, const ApiCallPtr& call,
               std::function<void(const ApiCallPtr&)> redirect);

 private:
  Forwarder(const ForwardOptions& options, bool tls, std::unique_ptr<http::Fetcher> fetcher)
      : options_(options), tls_(tls), fetcher_(std::move(fetcher)) {}

  const ForwardOptions options_;
  const bool tls_;
  const std::shared_ptr<std::atomic<size_t>> under_way_ = std::make_shared<std::atomic<size_t>>(0);
  const std::unique_ptr<http::Fetcher> fetcher_;
};

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_FORWARDER_H_
