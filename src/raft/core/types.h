// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_CORE_TYPES_H_
#define LOCUS_SRC_RAFT_CORE_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// The words of Raft, as in the dissertation "Consensus: Bridging Theory and Practice" (Ongaro,
// 2014); section numbers in src/raft/core refer to it.

namespace locus::raft {

// A node, drawn at random when it is made; a node that lost its disk is another one. 0: none.
using NodeId = uint64_t;
using Term = uint64_t;
// Of an entry of the log; the first is 1.
using Index = uint64_t;

// The longest entry that may be proposed; nothing longer is read from a disk or a peer.
inline constexpr size_t kMostEntryBytes = 16 << 20;
inline constexpr size_t kMostMembers = 32;
inline constexpr size_t kMostAddressBytes = 256;
inline constexpr size_t kMostClusterBytes = 64;  // of a cluster's name

struct Member {
  NodeId id = 0;
  bool voter = true;    // false: it gets the log, and does not count
  std::string address;  // where the others reach it; nothing to the core

  friend bool operator==(const Member&, const Member&) = default;
};

// Ascending by id.
using Members = std::vector<Member>;

const Member* FindMember(const Members& members, NodeId id);
inline bool IsVoter(const Members& members, NodeId id) {
  const Member* member = FindMember(members, id);
  return member != nullptr && member->voter;
}

struct Entry {
  enum class Kind : uint8_t {
    kNothing,  // the first of a leader: once committed, all entries before it are
    kCommand,  // `data` is for the state machine
    kMembers,  // the cluster has these members from the moment it is appended
  };
  Term term = 0;
  Kind kind = Kind::kNothing;
  std::string data;
  Members members;

  friend bool operator==(const Entry&, const Entry&) = default;
};

// The state of elections that a node must not forget. Written as one record: a term without its
// vote could give the vote twice.
struct Vote {
  Term term = 0;
  NodeId candidate = 0;  // the node that has this node's vote in the term; 0: none yet

  friend bool operator==(const Vote&, const Vote&) = default;
};

// A snapshot replaces all entries up to its index.
struct SnapshotMark {
  Index index = 0;
  Term term = 0;    // of the entry at the index
  Members members;  // as of the index
  friend bool operator==(const SnapshotMark&, const SnapshotMark&) = default;
};

// --- Messages. The term of each is its sender's, but see VoteRequest.

struct VoteRequest {
  Term term = 0;  // that the candidate stands for; of a pre-vote, its own term + 1
  Index last_index = 0;
  Term last_term = 0;
  bool pre = false;       // asks whether the node would vote, and changes nothing (9.6)
  bool transfer = false;  // the leader asked for it: a leader that is alive is no reason to refuse
  Index members_index = 0;  // of the latest members that the candidate knows

  friend bool operator==(const VoteRequest&, const VoteRequest&) = default;
};
struct VoteReply {
  Term term = 0;  // where granted, that of the request
  bool pre = false;
  bool granted = false;

  friend bool operator==(const VoteReply&, const VoteReply&) = default;
};
// Also the heartbeat, without entries.
struct Append {
  Term term = 0;
  Index prev_index = 0;
  Term prev_term = 0;
  std::vector<Entry> entries;
  Index commit = 0;
  uint64_t round = 0;  // the reply names it (ReadIndex, 6.4)
  Index acked = 0;     // what the receiver has confirmed to this leader in this term

  friend bool operator==(const Append&, const Append&) = default;
};
struct AppendReply {
  Term term = 0;
  bool matches = false;
  Index index = 0;        // matches: the last entry known to be the leader's; not: prev_index
  Index continue_at = 0;  // not: where the leader should try next
  uint64_t round = 0;
  bool forgot = false;  // Core::HasForgotten

  friend bool operator==(const AppendReply&, const AppendReply&) = default;
};
struct InstallSnapshot {
  Term term = 0;
  SnapshotMark mark;
  std::string state;  // of the state machine
  uint64_t round = 0;

  friend bool operator==(const InstallSnapshot&, const InstallSnapshot&) = default;
};
// The receiver shall stand for election at once (3.10).
struct StandNow {
  Term term = 0;
  friend bool operator==(const StandNow&, const StandNow&) = default;
};
// The receiver is no member any more since the members at this index, which are committed.
struct Removed {
  Term term = 0;
  Index members_index = 0;
  friend bool operator==(const Removed&, const Removed&) = default;
};

// From one state machine to another, beside the log: lost where Raft would send it again.
struct Note {
  Term term = 0;
  std::string data;
  friend bool operator==(const Note&, const Note&) = default;
};

using Message = std::variant<VoteRequest, VoteReply, Append, AppendReply, InstallSnapshot, StandNow,
                             Removed, Note>;

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_CORE_TYPES_H_
