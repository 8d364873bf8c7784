// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_
#define LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/space.h"
#include "src/cluster/machine/command.h"
#include "src/http/server.h"

// The API's requests and answers about counters, spaces of order IDs, sequence types
// (store_bodies.h) and sets of strict sequences (strict_bodies.h).

namespace locus::cluster_api {

struct StoreCall {
  SpaceName space;
  // nullopt: it shows `shows`.
  std::optional<cluster_machine::Action> action;
  enum class Shows { kOrderSpace, kTypes, kStrictSet };
  Shows shows = Shows::kOrderSpace;
  std::string type = {};  // of kTypes: that one; empty: all
};

bool IsOfStore(std::string_view path);
// Of these paths, those of counters, sequence types and strict sets.
bool IsOfNumbers(std::string_view path);
// For a request whose path IsOfStore. INVALID_ARGUMENT: a bad body or name. NOT_FOUND: there is no
// such method or path.
absl::StatusOr<StoreCall> ParseStoreCall(const http::ServerRequest& request);
// For an answer whose status is OK.
http::ServerAnswer StoreAnswer(const cluster_machine::Answer& answer);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_
