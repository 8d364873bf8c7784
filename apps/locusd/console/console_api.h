// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_API_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_API_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/console/event_hub.h"
#include "apps/locusd/front/handler.h"
#include "apps/locusd/ids/id_parts.h"
#include "locus/engine/locusd_cluster.h"
#include "locus/routing/table_publisher.h"
#include "locus/space.h"
#include "locus/worker_lease_store.h"
#include "src/http/server.h"

namespace locus::locusd {

// What there is to be shown. What is nullptr or empty is not offered. Functions may be called by
// any thread, several at once; those that open something may wait.
struct ConsoleParts {
  // The ID service: its counters, and the table that its router follows.
  std::function<std::shared_ptr<const IdParts>()> ids = nullptr;
  SpaceName order_space = {};  // of its order_nos, for messages
  // Where that table comes from, without credentials.
  std::string table_place = {};
  // The same place, to read earlier tables from and to publish to. Opened when it is first needed,
  // and again after an error.
  std::function<absl::StatusOr<std::unique_ptr<TablePublisher>>()> open_publisher = nullptr;
  // The worker leases that the ID service takes part in, and their space.
  std::function<absl::StatusOr<std::shared_ptr<WorkerLeaseStore>>()> open_leases = nullptr;
  SpaceName lease_space = {};
  // The cluster of lease nodes, where the leases are in one.
  std::function<absl::StatusOr<std::unique_ptr<LocusdCluster>>()> open_cluster = nullptr;
  // The path of a move file, whose moves are of that table.
  std::string move_file = {};
  // What the page calls this installation ("production"), and the colour of that name.
  std::string environment = {};
  std::string colour = {};
};

// A routing table that a client published, or tried to.
struct ConsolePublication {
  std::string client = {};  // the name of the token; "": none
  std::string peer = {};    // the client's address
  std::string request_id = {};
  absl::StatusOr<std::string> answer = std::string();  // JSON with the epoch and the diff
  bool already = false;     // that table was in force before: this request published nothing
  uint64_t epoch = 0;       // of that table; 0: none was published
  std::string place = {};   // that keeps it
  std::string reason = {};  // that the client gave
  std::string change = {};  // the diff in words
};

struct ConsoleOptions {
  // Nobody is asked for a token.
  bool laptop = false;
  std::vector<std::string> roles = {"id-service"};
  // Another handler answers GET /v1/leases and /v1/members.
  bool leases_elsewhere = false;
  // Another handler answers GET /v1/strict/status.
  bool strict_elsewhere = false;
  // Threads that wait for places, and requests that may wait for one of them; beyond, they get 503.
  size_t waiters = 2;
  size_t most_waiting = 64;
  EventHubOptions events = {};
  // Called once for each request to publish that was admitted, after it, by any thread. May be
  // empty.
  std::function<void(const ConsolePublication&)> on_publication = {};

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// The operator's console: its page, which is built in, and what the page asks. web/src/api.ts says
// what each path takes and answers.
//
// /v1/inspect tells the order ID behind an order_no only with kDecode.
// What a page sends to change something needs a JSON content type and the header Locus-Console,
// which no page of another origin can send; its Origin and Sec-Fetch-Site are compared, too.
//
// Cost: counters are read every 2 s, with or without readers. Events are written once for all
// streams. Shards of a move file are asked each second while somebody watches, and not at all
// otherwise.
// Thread safety: all methods may be called from any thread.
class ConsoleApi : public Handler {
 public:
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no thread. FAILED_PRECONDITION and others: the move
  // file.
  static absl::StatusOr<std::unique_ptr<ConsoleApi>> Make(ConsoleParts parts,
                                                          const ConsoleOptions& options);
  // Ends the streams, and waits for the requests that wait for a place.
  ~ConsoleApi() override;

  // All or nothing: after an error of Make the parts stay as they were.
  absl::Status Replace(ConsoleParts parts);

  static const http_api::RouteTable& Table();
  const http_api::RouteTable& Routes() const override { return Table(); }
  void Handle(http::ServerRequest request, const Access& access,
              http::Server::Respond respond) override;
  std::string Metrics() const override;

 private:
  class Rep;
  explicit ConsoleApi(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_API_H_
