// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_API_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_API_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/front/handler.h"
#include "apps/locusd/strict/strict_node.h"
#include "src/http/server.h"

namespace locus::locusd {

struct StrictApiOptions {
  // How long a request waits for numbers that are used up just now, until it gets 503. Less than
  // clients wait for an answer (StrictClientOptions::request_timeout).
  absl::Duration wait = absl::Milliseconds(700);
  // Requests that may wait at once; beyond, they get 503.
  size_t most_waiting = 256;

  // What somebody with the scope `strict` asks for; both are called by threads that may wait.
  //
  // Hands these over, nullopt: all, after which the node takes none; empty `to`: to whom the spread
  // says.
  std::function<absl::StatusOr<StrictNode::Change>(std::optional<std::vector<uint32_t>> sections,
                                                   const std::string& to)>
      hand_over;
  // The node takes sections again.
  std::function<void()> come_back;
  // Something is known that the next round takes into account. Must not wait.
  std::function<void()> on_news;
  // A node that called was refused. Must not wait. May be empty.
  std::function<void(const absl::Status&)> on_refused = {};
};

// Strict sequences over HTTP.
//
// - POST /v1/strict/next with {"uids": ["7", ...]} or {"texts": ["alice", ...]}, and "count", the
//   numbers for each key (1): 200 and {"table_version", "numbers": ["1", ...]}, those of a key next
//   to each other and rising. At most StrictNextRequest::kMost numbers. 421: sections of the
//   request are not this node's; problem details with "table_version" and "sections": [{"section",
//   "owner": {"name", "address"} or null}]. 503: numbers are used up for the moment, or a lease was
//   not renewed in time. All or nothing: a request that is refused has no numbers.
// - GET /v1/strict/table: 200 and the table, StrictTable::ToJson.
// - GET /v1/strict/status: 200 and what this node knows of the set, ToJson(StrictStatus).
// - POST /v1/strict/sections:hand_over with {"sections": ["0-99"], "to": "node-2"}, both if wanted:
//   200 and {"table_version", "sections": how many}. Without sections: all, and the node takes none
//   from then on.
// - POST /v1/strict/sections:take with {"sections": ["0-99"]}: takes those that nobody has, or were
//   handed over to this node. Without sections: the node takes part in the spread again.
// - POST /v1/strict/nodes with StrictNews: the same of this node.
//
// Bodies are JSON (415), and so are answers (406).
//
// Thread safety: all methods may be called from any thread.
class StrictApi : public Handler {
 public:
  // The node outlives the API. UNAVAILABLE: no threads.
  static absl::StatusOr<std::unique_ptr<StrictApi>> Make(StrictNode& node,
                                                         StrictApiOptions options);
  // Requests that wait get 503 at once.
  ~StrictApi() override;

  static const http_api::RouteTable& Table();
  const http_api::RouteTable& Routes() const override { return Table(); }
  void Handle(http::ServerRequest request, const Access& access,
              http::Server::Respond respond) override;
  // UNAVAILABLE: the set is not open yet.
  absl::Status Ready() const override;
  std::string Metrics() const override;

 private:
  class Rep;
  explicit StrictApi(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_API_H_
