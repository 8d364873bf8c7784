// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/strict/holders.h"

#include "absl/strings/str_cat.h"
#include "src/strict/strict_rules.h"

namespace locus::strict_machine {

using internal::ByteReader;
using internal::ByteWriter;

absl::Status CheckHolder(const StrictOwner& holder) {
  if (holder.name.empty() || (IsSuccessor(holder) && !holder.address.empty())) {
    return absl::InvalidArgumentError("a holder without a name, or an address without an instance");
  }
  strict::Record record;
  record.token = 1;
  if (IsSuccessor(holder)) {
    record.successor = holder.name;
  } else {
    record.owner = holder;
  }
  return strict::CheckRecord(record);
}

void Put(ByteWriter& writer, const StrictOwner& owner) {
  writer.Text(owner.name);
  writer.Text(owner.address);
  writer.Number(owner.instance);
}

StrictOwner GetOwner(ByteReader& reader) {
  StrictOwner owner;
  owner.name = reader.Text(64, "an owner's name");
  owner.address = reader.Text(256, "an owner's address");
  owner.instance = reader.Number();
  return owner;
}

Holders::Id Holders::Add(const StrictOwner& holder) {
  const auto [at, is_new] = ids_.try_emplace(holder, kNobody);
  if (is_new) {
    if (free_.empty()) {
      slots_.emplace_back();
      free_.push_back(static_cast<Id>(slots_.size()));
    }
    at->second = free_.back();
    free_.pop_back();
    slots_[at->second - 1].holder = holder;
  }
  ++slots_[at->second - 1].sections;
  return at->second;
}

void Holders::Drop(Id id) {
  Slot& slot = slots_[id - 1];
  if (--slot.sections > 0) return;
  ids_.erase(slot.holder);
  slot.holder = StrictOwner();
  free_.push_back(id);
}

}  // namespace locus::strict_machine
