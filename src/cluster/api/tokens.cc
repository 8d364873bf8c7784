// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/tokens.h"

#include <openssl/crypto.h>

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/cluster/api/call.h"

namespace locus::cluster_api {

using http::ServerAnswer;
using http::ServerRequest;
using internal::SecretBytes;

namespace {

constexpr std::string_view kBearer = "Bearer ";

absl::Status KeepIn(std::vector<SecretBytes>& kept, const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) {
    if (token.empty()) return absl::InvalidArgumentError("a token is empty");
    LOCUS_ASSIGN_OR_RETURN(SecretBytes bytes, SecretBytes::Allocate(token.size()));
    internal::CopySecret(token.data(), bytes.data(), token.size());
    kept.push_back(std::move(bytes));
  }
  return absl::OkStatus();
}

bool IsOneOf(const std::vector<SecretBytes>& tokens, const ServerRequest& request) {
  const std::string_view header = request.Header("Authorization");
  if (!absl::StartsWithIgnoreCase(internal::ToAbsl(header), internal::ToAbsl(kBearer))) {
    return false;
  }
  const std::string_view given = header.substr(kBearer.size());
  bool found = false;
  for (const SecretBytes& token : tokens) {
    found |= given.size() == token.size() &&
             CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
  }
  return found;
}

}  // namespace

bool IsForOperators(const ServerRequest& request) {
  const std::string_view path = request.path;
  if (request.method == "GET") return false;
  if (path.starts_with("/v1/members") || path.starts_with("/v1/time") ||
      path.starts_with("/v1/spaces/"))
    return true;
  if (path.starts_with("/v1/strict_sets/")) {
    return !path.ends_with(":take") && !path.ends_with(":extend") && !path.ends_with(":release");
  }
  return path.starts_with("/v1/segments/") && !path.ends_with(":allocate");
}

absl::Status Tokens::Keep(const std::vector<std::string>& clients,
                          const std::vector<std::string>& operators) {
  LOCUS_RETURN_IF_ERROR(KeepIn(clients_, clients));
  return KeepIn(operators_, operators);
}

std::optional<ServerAnswer> Tokens::Refuse(const ServerRequest& request) const {
  if (IsOneOf(operators_, request)) return std::nullopt;
  const bool for_operators = !operators_.empty() && IsForOperators(request);
  const bool is_client = IsOneOf(clients_, request);
  if (!for_operators && (is_client || clients_.empty())) return std::nullopt;
  if (is_client) {
    return ProblemAnswer(absl::PermissionDeniedError(
        "only operators may do this: one of the node's operator tokens is needed"));
  }
  const char* const why = !request.Header("Authorization").empty()
                              ? "the bearer token is none of this node's"
                          : for_operators ? "an operator token is needed, and none was sent"
                                          : "a bearer token is needed, and none was sent";
  ServerAnswer answer = ProblemAnswer(absl::UnauthenticatedError(why));
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

}  // namespace locus::cluster_api
