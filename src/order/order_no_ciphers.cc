// SPDX-License-Identifier: Apache-2.0
#include "src/order/order_no_ciphers.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <thread>
#include <utility>

#include "src/base/os/check.h"
#include "src/order/key_derivation.h"

namespace locus::internal {
namespace {

constexpr std::string_view kPurposes[OrderNoCiphers::kKeys] = {
    "locus order_no tag", "locus order_no ctr", "locus order_no ff1", "locus order_no ctr64"};
constexpr size_t kKeyBytesOfVersion = OrderNoCiphers::kKeys * kDerivedKeyBytes;
static_assert(kDerivedKeyBytes == Aes256::kKeyBytes);

constexpr size_t kMaxSets = 32;
// With twice as many sets as processors, threads collide only if one was suspended while it had a
// set.
size_t SetCount() {
  size_t processors = std::max(2u, std::thread::hardware_concurrency());
  return std::min(kMaxSets, 2 * std::bit_ceil(processors));
}

// The set that this thread used last, or will use first; taken modulo the number of sets.
constinit std::atomic<uint32_t> threads_seen = 0;
constinit thread_local uint32_t preferred_set = UINT32_MAX;

uint32_t& PreferredSet() {
  if (preferred_set == UINT32_MAX) [[unlikely]] {
    preferred_set = threads_seen.fetch_add(1, std::memory_order_relaxed) % kMaxSets;
  }
  return preferred_set;
}

}  // namespace

absl::StatusOr<OrderNoCiphers> OrderNoCiphers::Create(const unsigned char* keys) {
  LOCUS_ASSIGN_OR_RETURN(Aes256 tag, Aes256::Create(keys));
  LOCUS_ASSIGN_OR_RETURN(Aes256 ctr, Aes256::Create(keys + kDerivedKeyBytes));
  LOCUS_ASSIGN_OR_RETURN(Aes256 ff1, Aes256::Create(keys + 2 * kDerivedKeyBytes));
  LOCUS_ASSIGN_OR_RETURN(Aes256 ctr64, Aes256::Create(keys + 3 * kDerivedKeyBytes));
  return OrderNoCiphers{std::move(tag), std::move(ctr), Ff1(std::move(ff1)), std::move(ctr64)};
}

absl::StatusOr<std::unique_ptr<CipherPool>> CipherPool::Create(const KeyRing& ring,
                                                               const SpaceName& space) {
  std::unique_ptr<CipherPool> pool(new CipherPool());
  LOCUS_RETURN_IF_ERROR(pool->DeriveKeys(ring, space));
  LOCUS_RETURN_IF_ERROR(pool->MakeSets());
  return pool;
}

absl::Status CipherPool::DeriveKeys(const KeyRing& ring, const SpaceName& space) {
  const std::vector<KeyRing::Entry> entries = ring.entries();
  LOCUS_ASSIGN_OR_RETURN(derived_keys_, SecretBytes::Allocate(entries.size() * kKeyBytesOfVersion));
  for (const KeyRing::Entry& entry : entries) {
    if (entry.state == KeyRing::State::kRetired) continue;
    LOCUS_ASSIGN_OR_RETURN(std::string_view master, ring.key(entry.version));
    unsigned char* out = derived_keys_.bytes() + versions_ * kKeyBytesOfVersion;
    for (std::string_view purpose : kPurposes) {
      LOCUS_RETURN_IF_ERROR(DeriveKey(master, space.str(), purpose, out));
      out += kDerivedKeyBytes;
    }
    index_of_version_[entry.version.value()] = static_cast<uint8_t>(versions_++);
  }
  return absl::OkStatus();
}

absl::Status CipherPool::MakeSets() {
  sets_ = std::vector<Set>(SetCount());
  for (Set& set : sets_) {
    set.ciphers.reserve(versions_);
    for (size_t i = 0; i < versions_; ++i) {
      LOCUS_ASSIGN_OR_RETURN(OrderNoCiphers ciphers, OrderNoCiphers::Create(keys(i)));
      set.ciphers.push_back(std::move(ciphers));
    }
  }
  return absl::OkStatus();
}

const unsigned char* CipherPool::keys(size_t index) const {
  return reinterpret_cast<const unsigned char*>(derived_keys_.data()) + index * kKeyBytesOfVersion;
}

CipherPool::Held CipherPool::Claim(KeyVersion version) const {
  const size_t index = index_of_version_[version.value()];
  const Set& set = sets_[PreferredSet() & (sets_.size() - 1)];
  if (!set.busy.exchange(true, std::memory_order_acquire)) [[likely]] {
    return Held(&set.busy, &set.ciphers[index]);
  }
  return ClaimAfterWaiting(index);
}

CipherPool::Held CipherPool::ClaimAfterWaiting(size_t index) const {
  constexpr int kPasses = 8;
  uint32_t& preferred = PreferredSet();
  for (int pass = 0;; ++pass) {
    for (size_t i = 0; i < sets_.size(); ++i) {
      const Set& set = sets_[++preferred & (sets_.size() - 1)];
      if (!set.busy.exchange(true, std::memory_order_acquire)) {
        return Held(&set.busy, &set.ciphers[index]);
      }
    }
    // Does not wait for ever: in a forked child, the threads that hold sets do not exist.
    if (pass >= kPasses) {
      absl::StatusOr<OrderNoCiphers> own = OrderNoCiphers::Create(keys(index));
      if (own.ok()) return Held(std::make_unique<OrderNoCiphers>(*std::move(own)));
    }
    std::this_thread::yield();
  }
}

}  // namespace locus::internal
