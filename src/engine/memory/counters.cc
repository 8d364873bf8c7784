// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "locus/engine/memory.h"
#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/counter/sequencer_rules.h"

namespace locus {

using internal::Mutex;
using internal::MutexLock;

// State that all handles share.
class MemorySequencer::Keys {
 public:
  explicit Keys(Clock& clock) : clock_(clock) {}

  absl::StatusOr<Taken> Take(const std::string& name, int64_t span,
                             const SequencerOptions& options) {
    MutexLock lock(mutex_);
    Key* found = Find(name);
    std::optional<int64_t> current;
    if (found != nullptr) current = found->value;
    std::string_view key = std::string_view(name).substr(options.key_prefix.size());
    LOCUS_ASSIGN_OR_RETURN(int64_t last, sequencer_rules::Advance(current, span, options, key));
    return Taken{last, Write(name, last, Later(found, options))};
  }

  void Store(const std::string& name, int64_t value, const SequencerOptions& options) {
    MutexLock lock(mutex_);
    Write(name, value, Expiry(options));
  }

  bool StoreNew(const std::string& name, int64_t value, const SequencerOptions& options) {
    MutexLock lock(mutex_);
    if (Key* found = Find(name)) {
      Refresh(*found, options);
      return false;
    }
    Write(name, value, Expiry(options));
    return true;
  }

  std::optional<int64_t> Load(const std::string& name, const SequencerOptions& options) {
    MutexLock lock(mutex_);
    Key* found = Find(name);
    if (found == nullptr) return std::nullopt;
    Refresh(*found, options);
    return found->value;
  }

  bool PutBack(const std::string& name, const Taken& taken, int64_t value,
               const SequencerOptions& options) {
    MutexLock lock(mutex_);
    Key* found = Find(name);
    bool untouched =
        found != nullptr && found->value == taken.last && found->version == taken.version;
    if (untouched) Write(name, value, Later(found, options));
    return untouched;
  }

 private:
  struct Key {
    int64_t value = 0;
    uint64_t version = 0;
    absl::Duration forgotten_at = absl::InfiniteDuration();  // since boot
  };

  // nullptr: unknown or forgotten.
  Key* Find(const std::string& name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    auto it = keys_.find(name);
    if (it == keys_.end()) return nullptr;
    if (clock_.SinceBoot() < it->second.forgotten_at) return &it->second;
    keys_.erase(it);
    return nullptr;
  }

  absl::Duration Expiry(const SequencerOptions& options) {
    if (options.ttl == absl::ZeroDuration()) return absl::InfiniteDuration();
    return clock_.SinceBoot() + options.ttl;
  }
  // Others may hold numbers by a longer ttl.
  absl::Duration Later(const Key* found, const SequencerOptions& options) {
    return found == nullptr ? Expiry(options) : std::max(found->forgotten_at, Expiry(options));
  }
  void Refresh(Key& key, const SequencerOptions& options) {
    if (options.ttl != absl::ZeroDuration()) key.forgotten_at = Later(&key, options);
  }
  // Counts writes over all keys, so that no version comes again in a key's next life.
  uint64_t Write(const std::string& name, int64_t value, absl::Duration forgotten_at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    keys_[name] = {value, ++writes_, forgotten_at};
    return writes_;
  }

  Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Key> keys_ ABSL_GUARDED_BY(mutex_);
  uint64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
};

MemorySequencer::MemorySequencer(const SequencerOptions& options, std::shared_ptr<Keys> keys)
    : Sequencer(options), keys_(std::move(keys)) {}
MemorySequencer::~MemorySequencer() = default;

absl::StatusOr<std::unique_ptr<MemorySequencer>> MemorySequencer::Create(
    const SequencerOptions& options, Clock& clock) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  return std::unique_ptr<MemorySequencer>(
      new MemorySequencer(options, std::make_shared<Keys>(clock)));
}

absl::StatusOr<std::unique_ptr<MemorySequencer>> MemorySequencer::Share(
    const SequencerOptions& options) const {
  LOCUS_RETURN_IF_ERROR(options.Check());
  return std::unique_ptr<MemorySequencer>(new MemorySequencer(options, keys_));
}

absl::StatusOr<Sequencer::Taken> MemorySequencer::Take(const std::string& name, int64_t span) {
  return keys_->Take(name, span, options());
}

absl::Status MemorySequencer::Store(const std::string& name, int64_t value) {
  keys_->Store(name, value, options());
  return absl::OkStatus();
}

absl::StatusOr<bool> MemorySequencer::StoreNew(const std::string& name, int64_t value) {
  return keys_->StoreNew(name, value, options());
}

absl::StatusOr<std::optional<int64_t>> MemorySequencer::Load(const std::string& name) {
  return keys_->Load(name, options());
}

absl::StatusOr<bool> MemorySequencer::PutBack(const std::string& name, const Taken& taken,
                                              int64_t value) {
  return keys_->PutBack(name, taken, value, options());
}

}  // namespace locus
