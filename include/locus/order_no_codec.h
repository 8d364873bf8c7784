// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ORDER_NO_CODEC_H_
#define LOCUS_ORDER_NO_CODEC_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/key_ring.h"
#include "locus/order_id.h"
#include "locus/order_no.h"
#include "locus/space.h"

namespace locus {

// Encodes order IDs of one space as order_nos and decodes them. Three schemes:
//
//   siv    OrderNo, 128 bits, the default: AES-256-CTR with a synthetic IV. Deterministic (so it
//          can be indexed), bound to the gene, authenticated: a guess succeeds with 2^-53 (narrow)
//          or 2^-44 (wide).
//   ff1    OrderNo64: NIST SP 800-38G FF1, AES-256, radix 2, n = 47, 10 rounds, tweak = gene and
//          key version. A permutation of the sequences of one gene; not authenticated.
//   ctr64  OrderNo64: sequence XOR one keystream per gene. One known pair of order ID and order_no
//          opens all others of that gene. It exists to read numbers that were made this way.
//
// Keys are derived from the key ring's master keys by HKDF-SHA256, salted with the space. Make an
// order_no once and store it: after a rotation of keys one order may have two valid order_nos, so
// use the order ID for idempotency.
//
// Keys and key schedules lie in memory that core dumps leave out and that is wiped on destruction.
// OpenSSL holds copies elsewhere only while Create() derives keys.
// Thread safety: const methods may be called from any thread, also in a forked child.
// Cost: two AES blocks a number (siv), ten (ff1), one (ctr64); no lock. A successful call allocates
// only if more threads are suspended inside calls than there are processors.
class OrderNoCodec {
 public:
  // Copies what it needs from the key ring, which may change or be destroyed afterwards.
  // UNAVAILABLE: OpenSSL could not set up a cipher.
  static absl::StatusOr<OrderNoCodec> Create(const KeyRing& ring, const SpaceName& space = {});
  OrderNoCodec(OrderNoCodec&&) noexcept;
  OrderNoCodec& operator=(OrderNoCodec&&) noexcept;
  ~OrderNoCodec();

  // siv. Without a version it uses the active one. NOT_FOUND: the key ring has no key of the
  // version.
  absl::StatusOr<OrderNo> Encode(OrderId id) const;
  absl::StatusOr<OrderNo> Encode(OrderId id, KeyVersion version) const;
  // INVALID_ARGUMENT: it is not an order_no of this space under a key of the ring. The message does
  // not say which check failed.
  absl::StatusOr<OrderId> Decode(OrderNo number) const;

  // numbers[i] = Encode(ids[i]), by a constant number of OpenSSL calls per 256 numbers.
  // INVALID_ARGUMENT: the spans differ in size.
  absl::Status EncodeBatch(std::span<const OrderId> ids, std::span<OrderNo> numbers) const;
  // ids[i] = Decode(numbers[i]), or nullopt if that fails; the spans have the same size. Returns
  // how many failed. Makes a constant number of OpenSSL calls per key version and 256 numbers.
  size_t DecodeBatch(std::span<const OrderNo> numbers, std::span<std::optional<OrderId>> ids) const;

  // ff1. INVALID_ARGUMENT: the ID is wide. NOT_FOUND: there is no key of that version.
  absl::StatusOr<OrderNo64> EncodeFf1(OrderId id, KeyVersion version) const;
  absl::StatusOr<OrderId> DecodeFf1(OrderNo64 number, KeyVersion version) const;

  // ctr64. INVALID_ARGUMENT: the ID is wide. NOT_FOUND: there is no key of that version.
  absl::StatusOr<OrderNo64> EncodeCtr64ReusingKeystream(OrderId id, KeyVersion version) const;
  absl::StatusOr<OrderId> DecodeCtr64(OrderNo64 number, KeyVersion version) const;

  // The version that Encode(id) uses.
  KeyVersion active() const;

 private:
  struct Rep;
  explicit OrderNoCodec(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ORDER_NO_CODEC_H_
