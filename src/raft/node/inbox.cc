// SPDX-License-Identifier: Apache-2.0
#include "src/raft/node/inbox.h"

#include <variant>

namespace locus::raft {

namespace {

size_t MemoryOf(const Members& members) {
  size_t bytes = members.size() * sizeof(Member);
  for (const Member& one : members) bytes += one.address.size();
  return bytes;
}

}  // namespace

size_t MemoryOf(const Message& message) {
  size_t bytes = sizeof(Inbox::Parcel);
  if (const auto* append = std::get_if<Append>(&message)) {
    bytes += append->entries.size() * sizeof(Entry);
    for (const Entry& one : append->entries) bytes += one.data.size() + MemoryOf(one.members);
  } else if (const auto* install = std::get_if<InstallSnapshot>(&message)) {
    bytes += install->state.size() + MemoryOf(install->mark.members);
  } else if (const auto* note = std::get_if<Note>(&message)) {
    bytes += note->data.size();
  }
  return bytes;
}

bool Inbox::Put(NodeId from, Message message) {
  if (parcels_.size() >= limits_.messages || bytes_ >= limits_.bytes) {
    ++dropped_;
    return false;
  }
  bytes_ += MemoryOf(message);
  parcels_.push_back({from, std::move(message)});
  return true;
}

std::deque<Inbox::Parcel> Inbox::TakeAll() {
  bytes_ = 0;
  return std::exchange(parcels_, {});
}

}  // namespace locus::raft
