// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "locus/engine/memory.h"
#include "src/base/run/mutex.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

struct MemorySequenceTypeStore::Rep {
  Mutex mutex;
  std::map<std::string, Stored> types ABSL_GUARDED_BY(mutex);
};

MemorySequenceTypeStore::MemorySequenceTypeStore() : rep_(std::make_unique<Rep>()) {}
MemorySequenceTypeStore::~MemorySequenceTypeStore() = default;

absl::StatusOr<std::optional<SequenceTypeStore::Stored>> MemorySequenceTypeStore::Load(
    const std::string& name) {
  MutexLock lock(rep_->mutex);
  auto at = rep_->types.find(name);
  return at == rep_->types.end() ? std::nullopt : std::optional(at->second);
}

absl::StatusOr<std::map<std::string, SequenceTypeStore::Stored>>
MemorySequenceTypeStore::LoadAll() {
  MutexLock lock(rep_->mutex);
  return rep_->types;
}

absl::StatusOr<bool> MemorySequenceTypeStore::Swap(const std::string& name, uint64_t expected,
                                                   const std::optional<Stored>& next) {
  MutexLock lock(rep_->mutex);
  auto at = rep_->types.find(name);
  uint64_t version = at == rep_->types.end() ? 0 : at->second.version;
  if (version != expected) return false;
  if (next) {
    rep_->types[name] = *next;
  } else if (at != rep_->types.end()) {
    rep_->types.erase(at);
  }
  return true;
}

}  // namespace locus
