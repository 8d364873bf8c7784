// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_RAFT_NODE_INBOX_H_
#define LOCUS_SRC_RAFT_NODE_INBOX_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "src/raft/core/types.h"

namespace locus::raft {

// The memory of a message, roughly.
size_t MemoryOf(const Message& message);

// Messages that wait for the node's thread. One that comes when it is full is dropped; Raft sends
// it again.
// Thread safety: none.
class Inbox {
 public:
  struct Parcel {
    NodeId from = 0;
    Message message;
  };
  struct Limits {
    // Fewer: a node that was busy for a moment misses more heartbeats and votes.
    size_t messages = 10'000;
    // Full from here on. The last message that is taken may go beyond it, so that a snapshot
    // arrives however long it is. Fewer: a slow node gets the same entries more often.
    size_t bytes = 64 << 20;
  };

  Inbox() : Inbox(Limits()) {}
  explicit Inbox(Limits limits) : limits_(limits) {}

  // False: it was dropped, and counted.
  bool Put(NodeId from, Message message);
  // All that wait, oldest first.
  std::deque<Parcel> TakeAll();
  bool empty() const { return parcels_.empty(); }
  uint64_t dropped() const { return dropped_; }

 private:
  const Limits limits_;
  std::deque<Parcel> parcels_;
  size_t bytes_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace locus::raft

#endif  // LOCUS_SRC_RAFT_NODE_INBOX_H_
