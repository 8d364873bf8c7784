// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_LOCUSD_CLUSTER_H_
#define LOCUS_ENGINE_LOCUSD_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/engine/locusd.h"

namespace locus {

// A member of a cluster of locusd, as one of its nodes knows it.
struct LocusdMember {
  uint64_t id = 0;
  std::string raft;     // "host:port" where the other nodes reach it
  std::string api;      // "host:port" where clients reach it
  bool voter = false;   // false: a learner, which gets the log and does not count
  bool leader = false;  // in the view of the node that was asked
  // The last entry of the log that the member has confirmed. Only the leader knows it; 0 elsewhere.
  uint64_t match = 0;
  // It lacks entries that it had confirmed: its data is an older copy. It does not vote or count;
  // replace it by a node with an empty data directory. Only the leader and the node itself know it.
  bool forgot = false;
  // Since its last message to the node that was asked; nullopt: there was none. Voters speak to
  // their leader all the time, and to each other only at elections.
  std::optional<absl::Duration> silent_for;

  // Not heard for LocusdCluster::kSilent.
  bool IsSilent() const;
};

// A node's report about itself.
struct LocusdNode {
  enum class Role { kFollower, kCandidate, kLeader };

  uint64_t id = 0;
  std::string cluster;  // its name; empty: the node did not report it
  std::string version;  // of locusd
  std::string raft;     // as in LocusdMember; empty: the node did not report it
  std::string api;
  Role role = Role::kFollower;
  bool leads_for_sure = false;  // a leader that has committed something, and can change members
  uint64_t term = 0;
  uint64_t leader = 0;   // its ID; 0: the node knows no leader
  bool removed = false;  // from its cluster; the node ends
  // Entries of the log: committed, applied to the state, stored.
  uint64_t commit = 0;
  uint64_t applied = 0;
  uint64_t last = 0;
  uint64_t workers = 0;      // worker IDs that were ever granted
  uint64_t held = 0;         // worker IDs that have a holder
  absl::Duration clock_off;  // the node's clock less the cluster's time; 0: not known
  std::string failure;       // not empty: the node has stopped working
  std::string unreached;     // nodes that it has no connection to, and why; empty: none
  std::vector<LocusdMember> members;

  const LocusdMember* Find(uint64_t member_id) const;
};
// "follower", "candidate", "leader".
std::string_view ToString(LocusdNode::Role role);

// All nodes at one time.
struct LocusdClusterView {
  struct Row {
    std::string endpoint;  // that was asked
    absl::StatusOr<LocusdNode> node;
  };
  // The endpoints in their order, then the members that no endpoint reached, also where another
  // node answered at their address.
  std::vector<Row> rows;

  // The row of the leader with the highest term that leads for sure; nullptr: no leader answers.
  const LocusdNode* Leader() const;
  // The members that the leader knows; without a leader, those that the node with the longest log
  // knows.
  const std::vector<LocusdMember>& Members() const;
  // Whether the member counts as failed: it has forgotten entries that it had confirmed, or it is
  // silent, or it was not heard for LocusdCluster::kFresh and did not answer here.
  bool IsMissing(const LocusdMember& member) const;
  // OK: there is a leader that hears a majority of the voters, every node that answers is a member
  // of its cluster, once, with the addresses that the members have, and no member has forgotten
  // entries that it had confirmed. UNAVAILABLE: the message says which of these does not hold.
  absl::Status Health() const;
};

struct LocusdAddOptions {
  // How far the new node is.
  struct Progress {
    uint64_t id = 0;
    uint64_t match = 0;  // of the entries up to `commit`
    uint64_t commit = 0;
    std::optional<absl::Duration> silent_for;  // nullopt: the leader has not heard it yet
  };
  // False: it stays a learner.
  bool promote = true;
  // How long it may take to get the log. Longer: the call waits longer for a node that cannot be
  // reached.
  absl::Duration patience = absl::Minutes(10);
  // Called now and then while the node gets the log. False: no longer waits (CANCELLED).
  std::function<bool(const Progress&)> on_progress = nullptr;
};

struct LocusdRemoveOptions {
  // Removes the member even if a majority of the remaining voters is silent. The cluster then stops
  // until they are back.
  bool force = false;
};

// The time of a cluster: leases of worker IDs and the ownership of strict sections end by it.
struct LocusdTime {
  absl::Time time;
  std::optional<absl::Time> agreed;  // the clock on which a majority of the nodes agrees
  uint64_t ending = 0;               // leases and ownerships that end between these two
};

// Shows and changes the members of a cluster of locusd. Changes go to the leader, which is one of
// the endpoints or is named by them. The token is sent to it under the condition of
// LocusdOptions::token. UNAVAILABLE calls are repeated until LocusdOptions::timeout.
//
// Every change may be repeated after an error, and continues where it stopped. Errors, besides
// those named: UNAVAILABLE: no leader answered in time. FAILED_PRECONDITION also: the token or a
// certificate was refused. DATA_LOSS: an answer that no locusd gives.
//
// Thread safety: all methods may be called from any thread. Fork: in a forked child every call
// returns FAILED_PRECONDITION.
class LocusdCluster {
 public:
  // Connects nothing. `clock` names requests, and outlives the cluster.
  static absl::StatusOr<std::unique_ptr<LocusdCluster>> Open(const LocusdOptions& options,
                                                             Clock& clock = Clock::System());
  virtual ~LocusdCluster() = default;

  // A member that was not heard for so long counts as silent.
  static constexpr absl::Duration kSilent = absl::Seconds(5);
  // One that was heard so recently is alive.
  static constexpr absl::Duration kFresh = absl::Seconds(1);

  // Asks every endpoint, then the members that are not among them; each once, all at the same time.
  virtual LocusdClusterView Show() = 0;
  // Asks one node, of this cluster or of none. INVALID_ARGUMENT: `api` is not host:port.
  virtual absl::StatusOr<LocusdNode> Ask(const std::string& api) = 0;
  // The leader's report about itself and the members.
  virtual absl::StatusOr<LocusdNode> Leader() = 0;

  // Makes the node whose API is at `api` a member: asks it for its ID and addresses, adds it as a
  // learner, waits until it has the log, and lets it vote. Returns the member.
  // FAILED_PRECONDITION: it belongs to another cluster, was a member before, or was removed; or it
  // is a member with other addresses, and another process with its ID answers there. UNAVAILABLE
  // also: it stayed silent for kSilent while the call waited for it. DEADLINE_EXCEEDED: it does not
  // have the log after options.patience; CANCELLED: on_progress asked for it. In both cases it is a
  // learner.
  virtual absl::StatusOr<LocusdMember> Add(const std::string& api,
                                           const LocusdAddOptions& options = {}) = 0;
  // Removes a member, after handing its leadership over, and returns the remaining ones. NOT_FOUND:
  // no such member. FAILED_PRECONDITION: it is the last voter; or the leader does not hear a
  // majority of the remaining voters, or they do not answer now, unless options.force. UNAVAILABLE:
  // it may be in the log, and take effect later.
  virtual absl::StatusOr<std::vector<LocusdMember>> Remove(
      uint64_t id, const LocusdRemoveOptions& options = {}) = 0;
  // Hands the leadership to this voter, or to the one with the longest log; returns the new leader.
  // NOT_FOUND: no such voter, or no other one.
  virtual absl::StatusOr<LocusdMember> Transfer(std::optional<uint64_t> to = std::nullopt) = 0;

  virtual absl::StatusOr<LocusdTime> ShowTime() = 0;
  // Sets the cluster's time to the agreed clock, if it is behind by more than a second: leases and
  // ownerships end early. Returns what it was before. FAILED_PRECONDITION: the clocks do not agree,
  // or it is behind by more than `most`.
  virtual absl::StatusOr<LocusdTime> AdvanceTime(absl::Duration most) = 0;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_LOCUSD_CLUSTER_H_
