// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_
#define LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "locus/space.h"
#include "src/base/os/check.h"
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

// Reads a request. `name`: the parameter of its path. INVALID_ARGUMENT: a bad body, query or name.
using StoreParser = absl::StatusOr<StoreCall> (*)(std::string_view name,
                                                  const http::ServerRequest& request);
absl::StatusOr<StoreCall> CallCounter(std::string_view, const http::ServerRequest& request);
absl::StatusOr<StoreCall> ShowTypes(std::string_view, const http::ServerRequest& request);
absl::StatusOr<StoreCall> ChangeType(std::string_view, const http::ServerRequest& request);
absl::StatusOr<StoreCall> ShowSegments(std::string_view name, const http::ServerRequest&);
absl::StatusOr<StoreCall> ShowStrictSet(std::string_view name, const http::ServerRequest&);
absl::StatusOr<StoreCall> CreateStrictSet(std::string_view name,
                                          const http::ServerRequest& request);

// The same of calls whose body is all that is read: `Parse` reads it, for the machine that takes
// `Call`.
template <typename Call, auto Parse>
absl::StatusOr<StoreCall> CallOf(std::string_view name, const http::ServerRequest& request) {
  LOCUS_ASSIGN_OR_RETURN(SpaceName space, SpaceName::Parse(name));
  LOCUS_ASSIGN_OR_RETURN(auto call, Parse(request.body));
  return StoreCall{std::move(space), Call(std::move(call))};
}
template <auto Parse>
constexpr StoreParser CallSegments = &CallOf<segment_machine::Call, Parse>;
template <auto Parse>
constexpr StoreParser CallStrictSet = &CallOf<strict_machine::Call, Parse>;

// Of an answer whose status is OK.
http::ServerAnswer StoreAnswer(const cluster_machine::Answer& answer);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_STORE_CALLS_H_
