// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_PLAN_H_
#define LOCUS_TESTS_PROOF_PLAN_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace locus::proof {

// A fault of a cluster or its clients.
enum class Fault : uint8_t {
  kKillLeader,    // kill -9, and started again at the end; so are the next two
  kKillFollower,  // one that does not lead when it begins
  kKillAll,
  kStallLeader,       // SIGSTOP until the end
  kLeaderInMajority,  // nodes and clients in two parts that cannot reach each other
  kLeaderInMinority,
  kOneWay,       // what the leader sends to some nodes is lost; or what they send to it
  kFlap,         // one node's ways are cut and healed, again and again
  kClockAhead,   // of one node, by an hour
  kClockBehind,  // of one node, by an hour
  kSlowDisk,     // each sync of one node takes long
  kFullDisk,     // of one node
  kTornWrite,    // of one node: a write to its log is torn, and it dies
  kMemberAdded,  // a new node is added while a part of the others is cut off
  // Of clients, beside the others:
  kStallHolder,       // for longer than its lease
  kKillHolder,        // kill -9, and another one is started
  kHolderClockJumps,  // by an hour, either way
};
inline constexpr int kNodeFaults = static_cast<int>(Fault::kMemberAdded) + 1;
inline constexpr int kFaults = static_cast<int>(Fault::kHolderClockJumps) + 1;
std::string_view ToString(Fault fault);

struct Step {
  Fault fault = Fault::kKillLeader;
  // Since the clients work.
  absl::Duration begin;
  absl::Duration end;
  // Decides what the fault leaves open: which node, how slow, which way.
  uint64_t choice = 0;
};

struct Plan {
  uint64_t seed = 0;
  int nodes = 3;  // 3 or 5
  int clients = 0;
  absl::Duration length;    // after it everything is mended
  std::vector<Step> steps;  // ascending by begin

  std::string Text() const;
};

// The plan of a seed. Longer plans have more faults. Among any 7 seeds in a row each fault of nodes
// is at least once, and among 14 on 3 and on 5 nodes.
Plan PlanOf(uint64_t seed, absl::Duration length = absl::Seconds(24));

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_PLAN_H_
