// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ORDER_ORDER_NO_CIPHERS_H_
#define LOCUS_SRC_ORDER_ORDER_NO_CIPHERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "locus/key_ring.h"
#include "locus/space.h"
#include "src/base/os/secret_bytes.h"
#include "src/order/aes.h"
#include "src/order/ff1.h"

namespace locus::internal {

// How the parts of an order_no work together. KeyRing holds master keys (its file is KeyRingText);
// key_derivation.h derives the keys of one space from them. OrderNoCodec borrows prepared ciphers
// from a CipherPool: Aes256 for schemes siv and ctr64, Ff1 for ff1. OrderNoAssembler makes checked
// words an OrderNo.

// The ciphers of one key version of one space.
// Thread safety: one thread at a time.
struct OrderNoCiphers {
  static constexpr size_t kKeys = 4;

  // Takes the four derived keys, one after the other in the order of the members.
  static absl::StatusOr<OrderNoCiphers> Create(const unsigned char* keys);

  Aes256 tag;
  Aes256 ctr;
  Ff1 ff1;
  Aes256 ctr64;
};

// Several sets of the ciphers of all key versions of a ring. A set is lent to one thread at a time;
// there are several so that threads rarely need the same one.
// Thread safety: const methods may be called from any thread.
class CipherPool {
 public:
  // A set lent to a thread until this object is destroyed. Keep it for one piece of work only.
  class Held {
   public:
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() {
      // Pairs with the exchange in CipherPool::Claim.
      if (busy_ != nullptr) busy_->store(false, std::memory_order_release);
    }
    const OrderNoCiphers* operator->() const { return ciphers_; }
    const OrderNoCiphers& operator*() const { return *ciphers_; }

   private:
    friend class CipherPool;
    Held(std::atomic<bool>* busy, const OrderNoCiphers* ciphers) : busy_(busy), ciphers_(ciphers) {}
    explicit Held(std::unique_ptr<OrderNoCiphers> own)
        : own_(std::move(own)), busy_(nullptr), ciphers_(own_.get()) {}

    std::unique_ptr<OrderNoCiphers> own_;
    std::atomic<bool>* busy_;
    const OrderNoCiphers* ciphers_;
  };

  // UNAVAILABLE: OpenSSL could not derive a key or set up a cipher, or no memory for secrets.
  static absl::StatusOr<std::unique_ptr<CipherPool>> Create(const KeyRing& ring,
                                                            const SpaceName& space);

  bool has(KeyVersion version) const { return index_of_version_[version.value()] != kNone; }

  // Needs has(version). Usually one atomic exchange. If all sets stay lent, makes ciphers for this
  // loan alone instead of waiting: in a forked child the threads that hold them do not exist.
  Held Claim(KeyVersion version) const;

 private:
  static constexpr uint8_t kNone = 255;
  // On its own cache line, so that threads on different sets do not slow each other down.
  struct alignas(64) Set {
    mutable std::atomic<bool> busy = false;
    std::vector<OrderNoCiphers> ciphers;
  };

  CipherPool() { index_of_version_.fill(kNone); }
  absl::Status DeriveKeys(const KeyRing& ring, const SpaceName& space);
  absl::Status MakeSets();
  const unsigned char* keys(size_t index) const;
  Held ClaimAfterWaiting(size_t index) const;

  std::array<uint8_t, KeyVersion::kMax + 1> index_of_version_;
  size_t versions_ = 0;
  SecretBytes derived_keys_;
  std::vector<Set> sets_;  // a power of two of them
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_ORDER_ORDER_NO_CIPHERS_H_
