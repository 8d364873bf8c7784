// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/cluster/api/bodies.h"
#include "src/http/api/traceparent.h"
#include "src/worker/worker_rules.h"

namespace locus::cluster_api {

using http::ServerAnswer;
using http::ServerRequest;

namespace {

// In seconds; clients take no more.
constexpr int64_t kMostRetryAfter = 3600;

}  // namespace

absl::StatusOr<std::optional<cluster_machine::RequestId>> RequestIdOf(
    const ServerRequest& request) {
  const std::string_view text = request.Header("Request-Id");
  if (text.empty()) return std::nullopt;
  const size_t dash = text.find('-');
  std::optional<uint64_t> made;
  std::optional<absl::uint128> number;
  std::optional<uint64_t> serial = 0;
  if (dash != std::string_view::npos) {
    made = internal::ParseDecimal(text.substr(0, dash), 253402300799999);
    std::string_view rest = text.substr(dash + 1);
    if (rest.size() > 33 && rest[32] == '-') {
      serial = internal::ParseDecimal(rest.substr(33), UINT64_MAX);
      rest = rest.substr(0, 32);
    }
    number = internal::ParseHex(rest);
  }
  if (!made || !number || !serial) {
    return absl::InvalidArgumentError(
        absl::StrCat("Request-Id ", internal::Quoted(text),
                     " is not <ms since 1970>-<32 hex digits>[-<serial>]"));
  }
  return cluster_machine::RequestId{absl::FromUnixMillis(static_cast<int64_t>(*made)),
                                    absl::Uint128High64(*number), absl::Uint128Low64(*number),
                                    *serial};
}

ServerAnswer JsonAnswer(unsigned status, std::string body) {
  ServerAnswer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/json");
  answer.body = std::move(body);
  answer.body += '\n';
  return answer;
}

ServerAnswer ProblemAnswer(const absl::Status& status, std::optional<unsigned> http) {
  int64_t wait = 1;
  // Of a space that rests, with the status of a limit: no other node would grant an ID, so clients
  // should not ask them all.
  if (const std::optional<absl::Duration> left = worker::RestLeft(status)) {
    http = 429;
    wait = std::clamp<int64_t>(absl::ToInt64Seconds(*left) + 1, 1, kMostRetryAfter);
  }
  const unsigned code = http.value_or(HttpStatusOf(status));
  ServerAnswer answer = JsonAnswer(code, BodyOf(status, code));
  answer.headers[0].second = "application/problem+json";
  if (absl::IsUnavailable(status)) {
    answer.headers.emplace_back("Retry-After", absl::StrCat(wait));
  }
  return answer;
}

ApiCall::ApiCall(std::shared_ptr<Traffic> traffic, ServerRequest request,
                 http::Server::Respond respond)
    : traffic_(std::move(traffic)),
      request_(std::move(request)),
      respond_(std::move(respond)),
      trace_(http_api::TraceOf(request_)) {
  ++traffic_->under_way;
}

ApiCall::~ApiCall() {
  if (!answered_) Refuse(absl::InternalError("the request was dropped"));
}

void ApiCall::Answer(ServerAnswer answer, bool forwarded) {
  if (answered_.exchange(true)) return;
  --traffic_->under_way;
  const unsigned status = answer.status;
  respond_(std::move(answer));
  if (!traffic_->on_request) return;
  traffic_->on_request({request_.method, request_.path, request_.peer, client_,
                        std::string(request_.Header("X-Request-Id")), ToString(trace_), status,
                        absl::FromChrono(std::chrono::steady_clock::now() - begun_), forwarded});
}

void ApiCall::Refuse(const absl::Status& status, std::optional<unsigned> http) {
  Answer(ProblemAnswer(status, http));
}

}  // namespace locus::cluster_api
