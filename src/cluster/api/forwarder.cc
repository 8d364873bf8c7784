// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/forwarder.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cluster_api {

using http::HttpAnswer;
using http::ServerAnswer;
using http::ServerRequest;

namespace {

constexpr char kForwarded[] = "Locusd-Forwarded";
constexpr const char* kOfRequest[] = {"Authorization", "Content-Type", "Request-Id", "traceparent",
                                      "tracestate"};
constexpr const char* kOfAnswer[] = {"Content-Type", "Location", "Retry-After", "WWW-Authenticate"};
constexpr size_t kMostAnswerBytes = size_t{4} << 20;

ServerAnswer AnswerOf(HttpAnswer&& from) {
  ServerAnswer answer;
  answer.status = from.status;
  for (const char* name : kOfAnswer) {
    const std::string_view value = from.Header(name);
    if (!value.empty()) answer.headers.emplace_back(name, value);
  }
  answer.headers.emplace_back("Preference-Applied", "forward");
  answer.body = std::move(from.body);
  return answer;
}

}  // namespace

absl::Status ForwardOptions::Check() const {
  if (most > 10'000) {
    return absl::InvalidArgumentError(
        absl::StrCat("requests forwarded at once are ", most, "; they must be 0 to 10000"));
  }
  if (timeout < absl::Milliseconds(10) || timeout > absl::Minutes(1)) {
    return absl::InvalidArgumentError(absl::StrCat("the time limit of a forwarded request is ",
                                                   absl::FormatDuration(timeout),
                                                   "; it must be between 10 ms and 1 min"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Forwarder>> Forwarder::Make(const ForwardOptions& options,
                                                           bool tls) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<http::Fetcher> fetcher, http::Fetcher::Start());
  return std::unique_ptr<Forwarder>(new Forwarder(options, tls, std::move(fetcher)));
}

bool Forwarder::IsForwarded(const ServerRequest& request) {
  return !request.Header(kForwarded).empty();
}

bool Forwarder::IsWanted(const ServerRequest& request) {
  if (IsForwarded(request)) return false;
  for (const auto& [name, value] : request.headers) {
    if (!absl::EqualsIgnoreCase(name, "Prefer")) continue;
    for (absl::string_view preference : absl::StrSplit(value, ',')) {
      preference = absl::StripAsciiWhitespace(preference.substr(0, preference.find(';')));
      if (absl::EqualsIgnoreCase(preference, "forward")) return true;
    }
  }
  return false;
}

bool Forwarder::Forward(const std::string& address, const ApiCallPtr& call,
                        std::function<void(const ApiCallPtr&)> redirect) {
  auto endpoint = http::Endpoint::Parse(address);
  if (!endpoint.ok() || (tls_ && options_.tls == nullptr)) return false;
  if (under_way_->fetch_add(1) >= options_.most) {
    --*under_way_;
    return false;
  }
  const ServerRequest& from = call->request();
  http::FetchRequest request;
  request.endpoint = *std::move(endpoint);
  if (tls_) request.tls = options_.tls;
  request.method = from.method;
  request.target = from.query.empty() ? from.path : absl::StrCat(from.path, "?", from.query);
  for (const char* name : kOfRequest) {
    const std::string_view value = from.Header(name);
    if (!value.empty()) request.headers.emplace_back(name, value);
  }
  request.headers.emplace_back(kForwarded, "1");
  request.body = from.body;
  request.most_body_bytes = kMostAnswerBytes;
  request.timeout = options_.timeout;
  fetcher_->Fetch(
      std::move(request), [call, address, under_way = under_way_,
                           redirect = std::move(redirect)](absl::StatusOr<HttpAnswer> answer) {
        --*under_way;
        if (answer.ok()) return call->Answer(AnswerOf(*std::move(answer)), true);
        if (absl::IsOutOfRange(answer.status())) return redirect(call);
        call->Refuse(absl::UnavailableError(absl::StrCat(
            "the leader ", address,
            " gave no answer, and may have carried the request out: ", answer.status().message())));
      });
  return true;
}

}  // namespace locus::cluster_api
