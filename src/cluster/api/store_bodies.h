// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_API_STORE_BODIES_H_
#define LOCUS_SRC_CLUSTER_API_STORE_BODIES_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/cluster/machine/counter/counters.h"
#include "src/cluster/machine/segment/spaces.h"
#include "src/cluster/machine/type/types.h"

// Requests and answers about counters, spaces of order IDs and sequence types as JSON, by the rules
// of bodies.h. Sequences, numbers and versions are decimal texts; names of counters and texts of
// types are hex digits, because they may have any bytes. Durations that may be infinite are
// nanoseconds as texts, or "inf" and "-inf". Parse refuses what the machine's Check refuses.
// Errors: INVALID_ARGUMENT.

namespace locus::cluster_api {

// POST /v1/counters: {"do": "take", "store", "store_new", "load" or "put_back", "name_hex",
// "ttl_ms"}, and except for load "number"; for take "last_of_first", "max_value" and "wraps"; for
// put_back "last" and "version".
std::string BodyOf(const counter_machine::Call& call);
absl::StatusOr<counter_machine::Call> ParseCounterCall(std::string_view body);

// {"done", "value" (null: none), "version"}
std::string BodyOf(const counter_machine::Reply& reply);
absl::StatusOr<counter_machine::Reply> ParseCounterReply(std::string_view body);

// PUT /v1/segments/{space}, POST /v1/segments/{space}:allocate, :restored, :raise. All have
// "caller_now_ms"; create and allocate "section_size", "floor_epoch_ns", "floor_rate" and
// "max_lead"; allocate "requests": [{"section", "length", "seen"}]; raise "to" and "reach".
std::string BodyOf(const segment_machine::Call& call);
absl::StatusOr<segment_machine::Create> ParseSegmentCreate(std::string_view body);
absl::StatusOr<segment_machine::Allocation> ParseSegmentAllocation(std::string_view body);
absl::StatusOr<segment_machine::DeclareRestored> ParseSegmentRestored(std::string_view body);
absl::StatusOr<segment_machine::Raise> ParseSegmentRaise(std::string_view body);

// {"granted_at_ms", "loss_noticed", "grants": [{"first", "length", "wait_ns", "lead_ns",
// "room_ns"}]}
std::string BodyOf(const SegmentReply& reply);
absl::StatusOr<SegmentReply> ParseSegmentReply(std::string_view body);

// {"before", "after"}
std::string BodyOf(const BaseRaise& raised);
absl::StatusOr<BaseRaise> ParseBaseRaise(std::string_view body);

// {"section_size", "floor_epoch_ns", "floor_rate", "max_lead", "base", "losses", "now_ms",
// "sections": [{"section", "head", "lead_ns", "granted_at_ms"}]}
std::string BodyOf(const SpaceView& view);
absl::StatusOr<SpaceView> ParseSpaceView(std::string_view body);

// POST /v1/sequence_types: {"name", "expected", "next": {"version", "text_hex"} (null: none)}
std::string BodyOf(const type_machine::Call& call);
absl::StatusOr<type_machine::Call> ParseTypeCall(std::string_view body);

// {"done"}
std::string BodyOf(const type_machine::Reply& reply);
absl::StatusOr<type_machine::Reply> ParseTypeReply(std::string_view body);

// GET /v1/sequence_types[?name=NAME]: {"rules": [{"name", "version", "text_hex"}]}
std::string BodyOf(const std::map<std::string, type_machine::Type>& types);
absl::StatusOr<std::map<std::string, type_machine::Type>> ParseTypes(std::string_view body);

}  // namespace locus::cluster_api

#endif  // LOCUS_SRC_CLUSTER_API_STORE_BODIES_H_
