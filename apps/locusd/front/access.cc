// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/front/access.h"

#include <openssl/crypto.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"
#include "src/metrics/metrics.h"

namespace locus::locusd {

using cluster_api::ProblemAnswer;
using cluster_api::RateLimit;
using http::ServerAnswer;
using http::ServerRequest;

namespace {

constexpr std::string_view kBearer = "Bearer ";

// nullopt: the request has no bearer token.
std::optional<std::string_view> TokenOf(const ServerRequest& request) {
  const std::string_view header = request.Header("Authorization");
  if (!absl::StartsWithIgnoreCase(internal::ToAbsl(header), internal::ToAbsl(kBearer))) {
    return header.empty() ? std::nullopt : std::optional<std::string_view>("");
  }
  return header.substr(kBearer.size());
}

ServerAnswer Unauthorized(std::string_view why) {
  ServerAnswer answer = ProblemAnswer(absl::UnauthenticatedError(internal::ToAbsl(why)));
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

ServerAnswer TooMany(const std::string& client, double per_second, absl::Duration wait) {
  ServerAnswer answer = ProblemAnswer(
      absl::UnavailableError(absl::StrCat("more than ", per_second,
                                          " requests a second come with the token ", client)),
      429);
  for (auto& [name, value] : answer.headers) {
    if (name == "Retry-After") value = absl::StrCat(absl::ToInt64Seconds(wait) + 1);
  }
  return answer;
}

}  // namespace

struct AccessControl::Rule {
  // They publish nothing else.
  struct Counts {
    std::atomic<uint64_t> requests = 0;
    std::atomic<uint64_t> limited = 0;
    std::atomic<uint64_t> forbidden = 0;
    std::atomic<uint64_t> expired = 0;
  };

  explicit Rule(TokenRule from, const cluster_api::RateLimitOptions& options)
      : rule(std::move(from)), rate(std::make_shared<RateLimit>(options)) {}

  const TokenRule rule;
  // Shared with the rule of this name before and after a reload.
  std::shared_ptr<RateLimit> rate;
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
};

// Requests of nobody. Counts, which publish nothing else.
struct AccessControl::Strangers {
  std::atomic<uint64_t> unknown = 0;
  std::atomic<uint64_t> missing = 0;  // they needed a token, and had none
};

AccessControl::AccessControl() : strangers_(std::make_shared<Strangers>()) {}

absl::StatusOr<std::shared_ptr<AccessControl>> AccessControl::Make(std::vector<TokenRule> rules,
                                                                   Scopes without_token) {
  std::shared_ptr<AccessControl> made(new AccessControl);
  made->without_token_ = rules.empty() ? Scopes::All() : without_token;
  for (TokenRule& rule : rules) {
    cluster_api::RateLimitOptions rate;
    rate.per_second = rule.per_second;
    rate.burst = rule.burst;
    rate.addresses = 1;
    LOCUS_RETURN_IF_ERROR(rate.Check());
    for (const auto& other : made->rules_) {
      if (other->rule.name == rule.name) {
        return absl::InvalidArgumentError(
            absl::StrCat("two tokens are named ", internal::Quoted(rule.name)));
      }
      if (other->rule.token.view() == rule.token.view()) {
        return absl::InvalidArgumentError(absl::StrCat(internal::Quoted(other->rule.name), " and ",
                                                       internal::Quoted(rule.name),
                                                       " have the same token"));
      }
    }
    made->rules_.push_back(std::make_unique<Rule>(std::move(rule), rate));
  }
  return made;
}

void AccessControl::GoOnFrom(const AccessControl& before) {
  strangers_ = before.strangers_;
  for (const auto& old : before.rules_) {
    for (const auto& rule : rules_) {
      if (rule->rule.name != old->rule.name) continue;
      rule->counts = old->counts;
      if (rule->rule.per_second == old->rule.per_second && rule->rule.burst == old->rule.burst) {
        rule->rate = old->rate;
      }
    }
  }
}

AccessControl::Rule* AccessControl::Find(std::string_view token) const {
  Rule* found = nullptr;
  for (const auto& rule : rules_) {
    const std::string_view known = rule->rule.token.view();
    if (known.size() == token.size() &&
        CRYPTO_memcmp(known.data(), token.data(), known.size()) == 0) {
      found = rule.get();
    }
  }
  return found;
}

AccessControl::Decision AccessControl::Decide(const ServerRequest& request, Scopes any_of,
                                              absl::Time wall, absl::Duration steady) {
  const std::optional<std::string_view> token = TokenOf(request);
  // Where there are no tokens, one that is sent is nobody's concern.
  if (!token || rules_.empty()) {
    Decision decision{{"", without_token_}, std::nullopt};
    if (any_of.empty() || without_token_.HasAnyOf(any_of)) return decision;
    ++strangers_->missing;
    decision.refusal = Unauthorized("a bearer token is needed, and none was sent");
    return decision;
  }
  Rule* const rule = Find(*token);
  if (rule == nullptr) {
    ++strangers_->unknown;
    return {{}, Unauthorized("the bearer token is none of this node's")};
  }
  const TokenRule& of = rule->rule;
  ++rule->counts->requests;
  if (wall >= of.expires) {
    ++rule->counts->expired;
    return {{},
            Unauthorized(absl::StrCat(
                "the token ", of.name, " expired at ",
                absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", of.expires, absl::UTCTimeZone())))};
  }
  Decision decision{{of.name, of.scopes}, std::nullopt};
  if (const absl::Duration wait = rule->rate->Take("", steady); wait > absl::ZeroDuration()) {
    ++rule->counts->limited;
    decision.refusal = TooMany(of.name, of.per_second, wait);
  } else if (!any_of.empty() && !of.scopes.HasAnyOf(any_of)) {
    ++rule->counts->forbidden;
    decision.refusal = ProblemAnswer(absl::PermissionDeniedError(
        absl::StrCat("the token ", of.name, " has the scopes ", of.scopes.ToString(),
                     "; this needs ", absl::StrReplaceAll(any_of.ToString(), {{", ", " or "}}))));
  }
  return decision;
}

bool AccessControl::Admits(const ServerRequest& request, Scopes any_of, absl::Time wall) const {
  const std::optional<std::string_view> token = TokenOf(request);
  if (!token || rules_.empty()) return any_of.empty() || without_token_.HasAnyOf(any_of);
  const Rule* const rule = Find(*token);
  if (rule == nullptr || wall >= rule->rule.expires) return false;
  return any_of.empty() || rule->rule.scopes.HasAnyOf(any_of);
}

std::string AccessControl::Metrics() const {
  metrics::MetricsText text;
  text.Add(metrics::locusd_unauthorized_total, strangers_->missing, {{"reason", "missing"}});
  text.Add(metrics::locusd_unauthorized_total, strangers_->unknown, {{"reason", "unknown"}});
  for (const auto& rule : rules_) {
    const std::string& token = rule->rule.name;
    text.Add(metrics::locusd_token_requests_total, rule->counts->requests, {{"token", token}});
    for (const auto& [reason, count] :
         {std::pair("rate", &rule->counts->limited), std::pair("scope", &rule->counts->forbidden),
          std::pair("expired", &rule->counts->expired)}) {
      text.Add(metrics::locusd_token_refused_total, *count, {{"token", token}, {"reason", reason}});
    }
  }
  return text.ToString();
}

}  // namespace locus::locusd
