// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RAFT_CORE_NET_H_
#define LOCUS_TESTS_RAFT_CORE_NET_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "src/raft/core/core.h"

namespace locus::raft {

// Cores whose writes are durable at once, and a network that a test opens and closes by hand.
class Net {
 public:
  explicit Net(std::vector<NodeId> voters) {
    for (NodeId id : voters) members_.push_back({id, true, ""});
    for (NodeId id : voters) Add(FirstNode(id, members_));
  }
  void Add(Remembered remembered) {
    const NodeId id = remembered.self;
    cores_.insert_or_assign(id, Core::Restore(std::move(remembered)).value());
  }
  Core& operator[](NodeId id) { return cores_.at(id); }
  const Members& members() const { return members_; }

  void Do(NodeId id, Actions actions) {
    for (Send& send : actions.sends) parcels_.push_back({id, send.to, std::move(send.message)});
    for (const ReadAnswer& answer : actions.reads) reads.push_back(answer);
    snapshots_for.insert(actions.snapshots_for.begin(), actions.snapshots_for.end());
    if (actions.write) Do(id, cores_.at(id).Written(actions.write->number));
  }
  void Do(NodeId id, absl::StatusOr<Actions> actions) {
    ASSERT_TRUE(actions.ok()) << actions.status();
    Do(id, *std::move(actions));
  }
  // Delivers between these nodes until nothing is under way; what others sent or get is lost.
  void DeliverAmong(const std::set<NodeId>& nodes, bool leader_is_alive = false) {
    DeliverUntil(
        nodes, [] { return false; }, leader_is_alive);
  }
  // The same until `done`; the remaining messages are lost.
  void DeliverUntil(const std::set<NodeId>& nodes, const std::function<bool()>& done,
                    bool leader_is_alive = false) {
    while (!parcels_.empty()) {
      if (done()) return parcels_.clear();
      Parcel parcel = std::move(parcels_.front());
      parcels_.pop_front();
      if (!nodes.contains(parcel.from) || !nodes.contains(parcel.to)) continue;
      const auto to = cores_.find(parcel.to);
      if (to == cores_.end()) continue;
      Do(parcel.to, to->second.Receive(parcel.from, parcel.message, leader_is_alive));
    }
  }
  // Until the node leads among these.
  void Elect(NodeId id, const std::set<NodeId>& among) {
    Do(id, cores_.at(id).ElectionTimeout());
    DeliverAmong(among);
    ASSERT_EQ(cores_.at(id).role(), Role::kLeader);
  }
  // The same, and nothing that it sends as a leader arrives.
  void ElectSilently(NodeId id, const std::set<NodeId>& among) {
    // A node that was away learns the term first.
    for (int attempt = 0; attempt < 2 && cores_.at(id).role() != Role::kLeader; ++attempt) {
      Do(id, cores_.at(id).ElectionTimeout());
      DeliverUntil(among, [&] { return cores_.at(id).role() == Role::kLeader; });
    }
    ASSERT_EQ(cores_.at(id).role(), Role::kLeader);
  }
  std::set<NodeId> all() const {
    std::set<NodeId> ids;
    for (const auto& [id, core] : cores_) ids.insert(id);
    return ids;
  }

  std::vector<ReadAnswer> reads;
  std::set<NodeId> snapshots_for;

 private:
  struct Parcel {
    NodeId from = 0;
    NodeId to = 0;
    Message message;
  };
  Members members_;
  std::map<NodeId, Core> cores_;
  std::deque<Parcel> parcels_;
};

}  // namespace locus::raft

#endif  // LOCUS_TESTS_RAFT_CORE_NET_H_
