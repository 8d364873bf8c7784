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

// Limits incoming connections. Without TLS, any process that reaches the port can open any number
// of them under any ID. The cluster's members must get through all the same:
//
//   unnamed    have not sent their ID yet. Beyond the limit, the oldest connection of the address
//              that has most of them is closed: a quick caller gets through.
//   members    have places of their own, by ID and kind of connection: two, so that a silent
//              impostor under a member's ID does not end the member's connection.
//   strangers  all other IDs share few places: a new node is not a member yet, and removed nodes
//              must learn of their removal.
//
// Of members and strangers, a connection that has sent nothing is closed first, then the one that
// was silent longest; never the newest.
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

  // `leaves`: a caller that has lost its place.
  using Leaves = std::function<void(Caller)>;
  void Enter(Caller caller, const std::string& address, const Leaves& leaves);
  // The caller has sent its ID. `bulk`: as in Hello.
  void Name(Caller caller, NodeId id, bool bulk, const Leaves& leaves);
  // The caller has sent a message.
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
    uint64_t since = 0;  // of its last message
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
