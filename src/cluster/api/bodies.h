// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_BODIES_H_
#define LOCUS_SRC_CLUSTER_API_BODIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/worker_lease_store.h"

// Requests and answers of the API of worker leases as JSON, for its server and its client. Times
// are milliseconds since 1970, null where they are infinite; tokens are strings, because
// JavaScript's numbers end at 2^53; durations are milliseconds. An unknown, repeated or missing
// member is refused, and so is a number with a fraction.
//
// Errors of Parse: INVALID_ARGUMENT, naming the member.

namespace locus::cluster_api {

// A wish about a space.
template <typename Wish>
struct OfSpace {
  SpaceName space;
  Wish wish;
};
struct CreateWish {
  absl::Duration rest;
  absl::Time caller_now;
};

// PUT /v1/spaces/{space}: {"rest_ms", "caller_now_ms"}
std::string BodyOf(const CreateWish& wish);
absl::StatusOr<CreateWish> ParseCreate(std::string_view body);

// POST /v1/leases: {"space", "first", "last", "preferred" (or null), "start", "ttl_ms",
// "max_skew_ms", "nonce", "holder", "caller_now_ms"}
std::string BodyOf(const OfSpace<WorkerAcquire>& of);
absl::StatusOr<OfSpace<WorkerAcquire>> ParseAcquire(std::string_view body);

// PUT /v1/leases/{worker}: {"space", "token", "ceiling_ms", "ttl_ms", "max_skew_ms", "nonce",
// "holder", "caller_now_ms"}
std::string BodyOf(const OfSpace<WorkerRenew>& of);
absl::StatusOr<OfSpace<WorkerRenew>> ParseRenew(uint64_t worker, std::string_view body);

// DELETE /v1/leases/{worker}: {"space", "token", "last_used_ms" (null: not known), "nonce"
// (missing: as clients before it send it)}
std::string BodyOf(const OfSpace<WorkerRelease>& of);
absl::StatusOr<OfSpace<WorkerRelease>> ParseRelease(uint64_t worker, std::string_view body);

// {"worker", "token", "floor_ms" (null: none), "ceiling_ms", "granted_at_ms", "loss_noticed"}
std::string BodyOf(const WorkerGrant& grant);
absl::StatusOr<WorkerGrant> ParseGrant(std::string_view body);

// Some leases of a space, by rising worker ID.
struct ViewPage {
  WorkerSpaceView view;
  std::optional<uint64_t> next;  // a worker ID at which more follow
};

// {"now_ms", "rest_until_ms", "losses", "workers": [{"worker", "token", "floor_ms", "ceiling_ms",
// "granted_at_ms", "renewed_at_ms", "nonce" (internal::NonceMark it), "holder"}], "next" (null: no
// more follow)}
std::string BodyOf(const ViewPage& page);
absl::StatusOr<ViewPage> ParsePage(std::string_view body);

// Problem details (RFC 9457): {"title", "status", "detail", "code"}; `code` is the status code's
// name: "ABORTED".
unsigned HttpStatusOf(const absl::Status& status);
std::string BodyOf(const absl::Status& status, unsigned http_status);
// Reads the status from problem details. UNAUTHENTICATED and PERMISSION_DENIED are read as
// FAILED_PRECONDITION, which clients of all engines say of a refused token or password. Without a
// known code: UNAVAILABLE for 5xx and 429, and otherwise FAILED_PRECONDITION.
absl::Status ParseProblem(unsigned http_status, std::string_view body);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_BODIES_H_
