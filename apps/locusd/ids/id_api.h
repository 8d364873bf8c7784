// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_API_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_API_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/front/handler.h"
#include "apps/locusd/ids/answer_memory.h"
#include "apps/locusd/ids/id_parts.h"
#include "src/http/server.h"

namespace locus::locusd {

struct IdApiOptions {
  // How long a request waits for its store. Longer: fewer refusals while a store is slow, more
  // requests that wait when it is down.
  absl::Duration wait = absl::Seconds(2);
  // Threads that wait for stores. A request that finds its numbers in memory needs none of them.
  size_t waiters = 4;
  // Requests that may wait at once; beyond, they get 503.
  size_t most_waiting = 256;
  AnswerMemoryOptions memory = {};
  // Asked once a request's IDs were made, before they are answered. Not OK: why this process may
  // give none any more; they are dropped. Called by any thread.
  std::function<absl::Status()> confirm = nullptr;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// IDs, numbers and routes over HTTP. IDs are texts, because JavaScript's numbers end at 2^53.
//
// - POST /v1/orders/ids with {"buyers": ["12345", ...]}: 200 and
//   {"orders": [{"order_id", "order_no", "shard"}, ...]}, in the order of the buyers; order_no only
//   where the service has keys, shard only where it has a table.
// - GET /v1/sequences/{name}/next[?n=N][&key=KEY]: 200 and {"numbers": ["1", ...]}; with a period
//   of the type of that name also "group".
// - GET /v1/numbers/{type}/next[?count=N][&key=KEY][&field.NAME=VALUE]: 200 and {"numbers":
//   ["2026112500000001", ...]}.
// - GET /v1/snowflake[?n=N]: 200 and {"ids": ["..."]}.
// - GET /v1/uuid[?n=N]: 200 and {"uuids": ["..."]}, of version 7.
// - GET /v1/route?order_id=ID, ?order_no=NUMBER or ?buyer=KEY: 200 and {"epoch", "routes":
//   [{"shard": {"id", "name", "endpoint"}, "first_cohort", "end_cohort"}]}: an order ID has one
//   route, the others may have two while their vnode moves.
// - POST /v1/route with {"items": [{"order_id"}, {"order_no"}, {"buyer"}]}: 200 and {"epoch",
//   "items": [{"routes"}, ...]}.
// - POST /v1/order_no:decode with {"order_nos": ["..."]}: 200 and {"order_ids": ["...", null]};
// null
//   where it is none of this service's keys.
//
// Lists have at most kMost elements. With "Accept: application/x-ndjson" an answer that lists has a
// line for each element instead.
//
// "Idempotency-Key: KEY" (1 to 256 bytes) on a call that makes IDs: a repetition of the same
// request with the same key gets the same IDs for AnswerMemoryOptions::keep, unless the service was
// started anew since, or had to forget (metrics tell). Another request with that key is refused
// with 422.
//
// Refusals are problem details (RFC 9457). 400: the request is wrong; 404: there is no such path,
// sequence, type or part; 412: an option contradicts the sequence type; 503 with Retry-After:
// the store did not answer in time. All or nothing: a request that is refused has no IDs, though it
// may have used some up.
//
// Thread safety: all methods may be called from any thread.
class IdApi : public Handler {
 public:
  static constexpr size_t kMost = 10'000;

  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<IdApi>> Make(std::shared_ptr<const IdParts> parts,
                                                     const IdApiOptions& options);
  // Requests that wait for a store get 503 at once.
  ~IdApi() override;

  // IdRoutes.
  const http_api::RouteTable& Routes() const override;
  // Idempotency keys of two clients are not the same.
  void Handle(http::ServerRequest request, const Access& access,
              http::Server::Respond respond) override;
  // UNAVAILABLE: a part that is configured is not there yet, or gives nothing any more: the worker
  // lease was lost; order IDs are used up, and their store refuses until somebody mends it. A store
  // that does not answer is no reason: those that share it would all be taken out of service.
  absl::Status Ready() const override;
  std::string Metrics() const override;

  // For a process that ends: whoever still waits for a store then gets 503.
  void EndWaiting(absl::Duration within);

  // Requests that come from now on work with these.
  void Replace(std::shared_ptr<const IdParts> parts);
  std::shared_ptr<const IdParts> parts() const;

 private:
  class Rep;
  explicit IdApi(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_API_H_
