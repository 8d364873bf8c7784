// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_CALL_H_
#define LOCUS_SRC_CLUSTER_API_CALL_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/cluster/machine/command.h"
#include "src/http/server.h"

namespace locus::cluster_api {

// A request that was answered, for a log.
struct RequestEvent {
  std::string method;
  std::string path;      // as it was sent: up to the header's limit, any bytes; without the query
  std::string peer;      // the client's address
  std::string client;    // the name of its token, where ApiOptions::admit knows one
  std::string id;        // its X-Request-Id; empty: it has none
  std::string trace_id;  // 32 hex digits; empty: the request is of no trace
  unsigned status = 0;
  absl::Duration duration;  // until the answer was handed to the server
  bool forwarded = false;   // the leader answered it, through this node
};

// State that the requests of an API share. Each request holds a reference.
struct Traffic {
  std::function<void(const RequestEvent&)> on_request;
  std::atomic<size_t> under_way = 0;
  std::atomic<size_t> listings = 0;  // of leases, until they are sent
  // Since the start; counts, which publish nothing else.
  std::atomic<uint64_t> limited = 0;    // answered with 429
  std::atomic<uint64_t> overloads = 0;  // refused because too much was under way
  std::atomic<uint64_t> forwarded = 0;
};

// A client's request until it is answered; shared by all that work on the answer. If the last
// reference goes without an answer, the client gets 500.
// Thread safety: all methods may be called from any thread.
class ApiCall {
 public:
  ApiCall(std::shared_ptr<Traffic> traffic, http::ServerRequest request,
          http::Server::Respond respond);
  ~ApiCall();
  ApiCall(const ApiCall&) = delete;
  ApiCall& operator=(const ApiCall&) = delete;

  const http::ServerRequest& request() const { return request_; }
  const cluster_machine::TraceId& trace() const { return trace_; }
  const std::string& client() const { return client_; }
  // Before the call is shared.
  void set_client(std::string client) { client_ = std::move(client); }
  // Once.
  void Answer(http::ServerAnswer answer, bool forwarded = false);
  // With problem details, by default under the status' own HTTP status.
  void Refuse(const absl::Status& status, std::optional<unsigned> http = {});

 private:
  const std::shared_ptr<Traffic> traffic_;
  const http::ServerRequest request_;
  const http::Server::Respond respond_;
  const cluster_machine::TraceId trace_;
  std::string client_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::atomic<bool> answered_ = false;
};
using ApiCallPtr = std::shared_ptr<ApiCall>;

// "<ms since 1970>-<32 hex digits>[-<serial>]" in Request-Id; nullopt: there is none.
absl::StatusOr<std::optional<cluster_machine::RequestId>> RequestIdOf(
    const http::ServerRequest& request);

http::ServerAnswer JsonAnswer(unsigned status, std::string body);
// UNAVAILABLE has Retry-After: 1.
http::ServerAnswer ProblemAnswer(const absl::Status& status, std::optional<unsigned> http = {});

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_CALL_H_
