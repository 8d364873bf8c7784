// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_FRONT_ACCESS_H_
#define LOCUS_APPS_LOCUSD_FRONT_ACCESS_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/base/os/private_file.h"
#include "src/http/api/rate_limit.h"
#include "src/http/api/scope.h"
#include "src/http/server.h"

namespace locus::locusd {

using http_api::ParseScope;
using http_api::Scope;
using http_api::Scopes;

// The time of a clock that nobody sets.
inline absl::Duration SteadyNow() {
  return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Who sent a request, and what he may do.
struct Access {
  std::string client;  // the name of his token, for logs and metrics; "": he sent none
  Scopes scopes;
};

// A token and what it allows.
struct TokenRule {
  std::string name;  // unique; the only thing of it that logs and metrics show
  internal::PrivateText token;
  Scopes scopes;
  absl::Time expires = absl::InfiniteFuture();
  double per_second = 0;  // requests; 0: no limit
  double burst = 100;     // requests at once after a pause
};

// Decides who may send what. One table of tokens; a reload makes another, which goes on from it.
//
// Tokens are kept in memory that core dumps leave out, and are compared in constant time. No answer
// says of a token more than that it is unknown, expired or not enough.
// Thread safety: all methods but GoOnFrom may be called from any thread.
class AccessControl {
 public:
  // `without_token`: what may be done by whoever sends no token; all of it where there are no
  // tokens at all. INVALID_ARGUMENT: two rules of one name or of one token, a rate beyond
  // RateLimitOptions::Check.
  static absl::StatusOr<std::shared_ptr<AccessControl>> Make(std::vector<TokenRule> rules,
                                                             Scopes without_token);

  // Shares the counts of `before`, and what tokens have used of their rates: a reload gives nobody
  // a burst once more. Tokens are those of the same name; one of another rate or burst begins it
  // anew. Before anybody else uses this object.
  void GoOnFrom(const AccessControl& before);

  struct Decision {
    Access access;
    // What to answer instead of what the request asks for: 401 where a token is needed and none, an
    // unknown one or an expired one was sent; 403 where it lacks the scope; 429 with Retry-After
    // where its rate is exceeded.
    std::optional<http::ServerAnswer> refusal;
  };
  // `any_of`: one of these scopes is enough; empty: whoever sends no token may come, and a token
  // must be a known one. `wall` is compared with expiries, `steady` counts rates.
  Decision Decide(const http::ServerRequest& request, Scopes any_of, absl::Time wall,
                  absl::Duration steady);

  // Whether Decide would let the request in, but for rates. Counts nothing.
  bool Admits(const http::ServerRequest& request, Scopes any_of, absl::Time wall) const;

  size_t tokens() const { return rules_.size(); }

  // For Prometheus: requests, and refusals by reason, for each token's name.
  std::string Metrics() const;

 private:
  struct Rule;
  struct Strangers;
  AccessControl();
  Rule* Find(std::string_view token) const;

  std::vector<std::unique_ptr<Rule>> rules_;
  Scopes without_token_;
  std::shared_ptr<Strangers> strangers_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_FRONT_ACCESS_H_
