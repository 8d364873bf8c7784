// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_TCP_CALLER_PLACES_H_
#define LOCUS_SRC_RAFT_TCP_CALLER_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/raft/core/types.h"

namespace locus::raft {

// Who of those who call a node keeps his connection. Without TLS whoever reaches the port can call
// in any number and under any ID; all the same the cluster's members must get through:
//
//   unnamed    have not said yet who they are. Beyond the limit the oldest one goes of the address
//              that has most: who is quick gets through.
//   members    have places of their own, by ID and kind of connection: two, so that who claims the
//              ID of a member and says nothing does not end the member's connection.
//   strangers  all other IDs share few places: a new node does not know its cluster yet, and
//              nodes that were removed are told so.
//
// Of members and strangers that one goes first which has sent nothing, then that one which was
// silent longest; never the one that has just come.
//
// Thread safety: none. Memory: all limits together.
class CallerPlaces {
 public:
  struct Limits {
    size_t unnamed = 64;
    size_t strangers = 8;
    size_t of_one = 2;  // connections of one kind that claim one ID
  };
  // Of the caller's making, and never used again.
  using Caller = uint64_t;

  explicit CallerPlaces(const Limits& limits) : limits_(limits) {}
  CallerPlaces() : CallerPlaces(Limits()) {}

  // `leaves`: a caller that has lost his place.
  using Leaves = std::function<void(Caller)>;
  void Enter(Caller caller, const std::string& address, const Leaves& leaves);
  // He says who he is. `bulk`: as of Hello.
  void Name(Caller caller, NodeId id, bool bulk, const Leaves& leaves);
  // He has sent a message.
  void Hear(Caller caller);
  void Leave(Caller caller) { places_.erase(caller); }

  void set_members(std::set<NodeId> members) { members_ = std::move(members); }
  size_t size() const { return places_.size(); }

 private:
  struct Place {
    std::string address;
    NodeId id = 0;  // 0: unnamed
    bool bulk = false;
    bool heard = false;
    uint64_t since = 0;  // of the last that was heard of him
  };
  using Of = std::function<bool(const Place&)>;

  bool IsStranger(const Place& place) const {
    return place.id != 0 && !members_.contains(place.id);
  }
  std::string BusiestAddress() const;
  void Keep(size_t most, const Of& of, Caller newest, const Leaves& leaves);

  const Limits limits_;
  std::map<Caller, Place> places_;
  std::set<NodeId> members_;
  uint64_t events_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_TCP_CALLER_PLACES_H_
