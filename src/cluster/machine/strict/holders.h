// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_STRICT_HOLDERS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_STRICT_HOLDERS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "locus/strict_store.h"
#include "src/base/text/byte_codec.h"

// The holders of sections. Each is stored once, however many sections it has: a machine with
// 100,000 sections has some dozens of owners, with names and addresses of up to 320 bytes.

namespace locus::strict_machine {

// A holder is the owner of a section or, without address and instance, the successor that the
// section is kept for.
inline bool IsSuccessor(const StrictOwner& holder) { return holder.instance == 0; }
// INVALID_ARGUMENT: neither has such a name, address or instance.
absl::Status CheckHolder(const StrictOwner& holder);

void Put(internal::ByteWriter& writer, const StrictOwner& owner);
StrictOwner GetOwner(internal::ByteReader& reader);
// The most bytes of one.
inline constexpr size_t kMostHolderBytes = 4 + 64 + 4 + 256 + 8;

struct OwnerOrder {
  bool operator()(const StrictOwner& one, const StrictOwner& other) const {
    return std::tie(one.name, one.address, one.instance) <
           std::tie(other.name, other.address, other.instance);
  }
};

// Thread safety: none. A copy is another table in the same state.
class Holders {
 public:
  // Identifies a holder while a section has it.
  using Id = uint32_t;
  static constexpr Id kNobody = 0;

  bool Has(const StrictOwner& holder) const { return ids_.contains(holder); }
  size_t size() const { return ids_.size(); }
  // Of a holder that a section has.
  const StrictOwner& operator[](Id id) const { return slots_[id - 1].holder; }

  // One more section has this holder.
  Id Add(const StrictOwner& holder);
  // One section less has it.
  void Drop(Id id);

  // All of them, ascending by OwnerOrder.
  const std::map<StrictOwner, Id, OwnerOrder>& all() const { return ids_; }

 private:
  struct Slot {
    StrictOwner holder;
    size_t sections = 0;
  };

  std::map<StrictOwner, Id, OwnerOrder> ids_;
  std::vector<Slot> slots_;  // by Id - 1
  std::vector<Id> free_;
};

}  // namespace locus::strict_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_STRICT_HOLDERS_H_
