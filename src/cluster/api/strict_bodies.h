// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_STRICT_BODIES_H_
#define LOCUS_SRC_CLUSTER_API_STRICT_BODIES_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/strict_store.h"
#include "src/cluster/machine/strict/sets.h"

// Requests and answers about sets of strict sequences as JSON, by the rules of bodies.h. Numbers of
// keys, tokens, instances and versions are decimal texts. Parse refuses what the machine's Check
// refuses. Errors: INVALID_ARGUMENT.

namespace locus::cluster_api {

// PUT /v1/strict_sets/{set}, POST /v1/strict_sets/{set}:take, :extend, :release. All have
// "options": {"first_uid", "uids", "section_size", "step", "ttl_ms"}; creating "first_ever" (false
// where it is missing, as of earlier versions); all but creating "owner": {"name", "address",
// "instance"} and "sections": taking [{"section", "seen"}], extending [{"section", "token",
// "max_seq", "raise_to"}], releasing [{"section", "token", "max_seq"}], and "successor" ("": any
// owner). POST :restored has no member ("{}").
std::string BodyOf(const strict_machine::Call& call);
absl::StatusOr<strict_machine::Create> ParseStrictCreate(std::string_view body);
absl::StatusOr<strict_machine::DeclareRestored> ParseStrictRestored(std::string_view body);
absl::StatusOr<strict_machine::Take> ParseStrictTake(std::string_view body);
absl::StatusOr<strict_machine::Extend> ParseStrictExtend(std::string_view body);
absl::StatusOr<strict_machine::Release> ParseStrictRelease(std::string_view body);

// {"table_version", "loss_noticed", "owners": [{"name", "address", "instance"}], "sections":
// [{"section", "verdict": "granted", "held" or "resting", "owner", "wait_ms"}]}, where granted with
// "token", "start" and "max_seq" instead of "wait_ms". "owner": the place in "owners", from 0 on;
// null: none. An instance of "0": a successor.
std::string BodyOf(const StrictReply<StrictGrant>& reply);
absl::StatusOr<StrictReply<StrictGrant>> ParseStrictGrants(std::string_view body);

// {"table_version", "loss_noticed", "sections": [{"section", "held", "max_seq"}]}
std::string BodyOf(const StrictReply<StrictExtended>& reply);
absl::StatusOr<StrictReply<StrictExtended>> ParseStrictExtended(std::string_view body);

// GET /v1/strict_sets/{set}: {"options", "now_ms", "rest_until_ms", "losses", "table_version",
// "owners", "sections": [{"section", "max_seq", "token", "owner", "ends_at_ms"}]}
std::string BodyOf(const strict_machine::View& view);
absl::StatusOr<StrictSetView> ParseStrictView(std::string_view body);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_STRICT_BODIES_H_
