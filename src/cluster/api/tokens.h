// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_TOKENS_H_
#define LOCUS_SRC_CLUSTER_API_TOKENS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "src/base/os/secret_bytes.h"
#include "src/http/server.h"

namespace locus::cluster_api {

// Whether the request is for operators: it changes members, hands the leadership over, creates or
// deletes a space, or raises the base of one.
bool IsForOperators(const http::ServerRequest& request);

// The bearer tokens of an API, and their rights. Kept in memory that core dumps leave out, and
// compared in constant time.
// Thread safety: after Keep, all methods may be called from any thread.
class Tokens {
 public:
  // Call it once. `clients` empty: requests without a token are allowed as clients'. `operators`
  // empty: clients may do all that operators may. INVALID_ARGUMENT: a token is empty. UNAVAILABLE:
  // no memory for them.
  absl::Status Keep(const std::vector<std::string>& clients,
                    const std::vector<std::string>& operators);

  // The refusal: 401 if a token is needed and the request has none of them, 403 if it needs an
  // operator's token and has a client's. nullopt: it is allowed.
  std::optional<http::ServerAnswer> Refuse(const http::ServerRequest& request) const;

 private:
  std::vector<internal::SecretBytes> clients_;
  std::vector<internal::SecretBytes> operators_;
};

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_TOKENS_H_
