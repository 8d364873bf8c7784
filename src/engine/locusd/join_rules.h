// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_JOIN_RULES_H_
#define LOCUS_SRC_ENGINE_LOCUSD_JOIN_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/engine/locusd_cluster.h"

// Rules for joining, leaving and leading a cluster. Pure functions of the answers of the leader and
// of the new node.
namespace locus::locusd {

// FAILED_PRECONDITION: `node`, asked at `api`, must not become a member. It may if it is one
// already; or if it has no log, or only the log of a cluster in which it never voted: an attempt to
// add it may have been lost with its leader.
absl::Status CheckJoins(const LocusdNode& node, const LocusdNode& leader, const std::string& api);

// FAILED_PRECONDITION: `node` has other addresses than `member`, which has its ID, and `there`,
// which answers at the address of `member`, is another process with the same ID.
absl::Status CheckMoved(const LocusdNode& node, const LocusdMember& member,
                        const LocusdNode& there);

// FAILED_PRECONDITION: `node`, a learner, can no longer become a voter, by its own answer `now`.
absl::Status CheckWaits(const LocusdNode& node, const LocusdNode& now);

// NOT_FOUND, FAILED_PRECONDITION: as LocusdCluster::Remove.
absl::Status CheckLeaves(uint64_t id, const LocusdNode& leader, bool force);

// FAILED_PRECONDITION: without `id`, those `missing`, which do not answer just now, leave no
// majority of the voters.
absl::Status CheckAnswers(uint64_t id, const LocusdNode& leader,
                          const std::vector<LocusdMember>& missing);

// "1 (a:7070), 2 (b:7070)".
std::string ListOf(const std::vector<LocusdMember>& members);

// The voter that the leadership goes to; the leader itself if that is `to`. NOT_FOUND: as
// LocusdCluster::Transfer.
absl::StatusOr<uint64_t> NextLeader(std::optional<uint64_t> to, const LocusdNode& leader);

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_JOIN_RULES_H_
