// SPDX-License-Identifier: Apache-2.0
#include "locus/order_no_codec.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/internal/order_id_assembler.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/order/order_no_assembler.h"
#include "src/order/order_no_ciphers.h"

namespace locus {

using internal::Aes256;
using internal::AesBlock;
using internal::CipherPool;
using internal::OrderIdAssembler;
using internal::OrderNoAssembler;
using internal::OrderNoCiphers;

namespace {

// The division of the 100 bits below the header.
struct Format {
  uint64_t code;
  int tag_bits;
  int cipher_bits;
};
constexpr Format kNarrow{2, 53, OrderId::kNarrowSequenceBits};
constexpr Format kWide{3, 44, OrderId::kWideSequenceBits};
static_assert(1 + ShardGene::kBits + 4 + 7 + kNarrow.tag_bits + kNarrow.cipher_bits == 128);
static_assert(1 + ShardGene::kBits + 4 + 7 + kWide.tag_bits + kWide.cipher_bits == 128);

constexpr int kHeaderShift = 36;  // of the 28 bits, within the high word
constexpr uint64_t kHeaderMask = ~uint64_t{0} << kHeaderShift;

constexpr const Format& FormatOf(bool wide) { return wide ? kWide : kNarrow; }
constexpr uint64_t CipherMask(const Format& format) {
  return (uint64_t{1} << format.cipher_bits) - 1;
}

// header << 100 | sequence
AesBlock TagInput(OrderId id, KeyVersion version) {
  uint64_t header = uint64_t{id.gene().value()} << 47 | FormatOf(id.is_wide()).code << 43 |
                    uint64_t{version.value()} << kHeaderShift;
  return {header, id.sequence()};
}

// header << 100 | tag << |ciphertext|
AesBlock Iv(const Format& format, uint64_t header, const AesBlock& t) {
  uint64_t tag = t.high() >> (64 - format.tag_bits);
  return {header | tag >> (64 - format.cipher_bits), tag << format.cipher_bits};
}

uint64_t Mask(const Format& format, const AesBlock& keystream) {
  return keystream.high() >> (64 - format.cipher_bits);
}

AesBlock IvOf(OrderNo number) {
  return {number.high(), number.low() & ~CipherMask(FormatOf(number.is_wide()))};
}

OrderNo Seal(OrderId id, const AesBlock& iv, const AesBlock& keystream) {
  const Format& format = FormatOf(id.is_wide());
  return OrderNoAssembler::Of(iv.high(), iv.low() | (id.sequence() ^ Mask(format, keystream)));
}

uint64_t SequenceOf(OrderNo number, const AesBlock& keystream) {
  const Format& format = FormatOf(number.is_wide());
  return (number.low() & CipherMask(format)) ^ Mask(format, keystream);
}

// header << 100 | sequence, of the decrypted number
AesBlock TagInput(OrderNo number, uint64_t sequence) {
  return {number.high() & kHeaderMask, sequence};
}

// Both checks are computed before either is tested, so that the time taken does not show which
// failed.
bool IsGenuine(OrderNo number, uint64_t sequence, const AesBlock& t) {
  const AesBlock iv = IvOf(number);
  const AesBlock expected = Iv(FormatOf(number.is_wide()), number.high() & kHeaderMask, t);
  uint64_t difference = (iv.high() ^ expected.high()) | (iv.low() ^ expected.low());
  uint64_t too_low = number.is_wide() & (sequence <= OrderId::kMaxNarrowSequence);
  return (difference | too_low) == 0;
}

absl::Status NoKey(KeyVersion version) {
  return absl::NotFoundError(absl::StrCat("the key ring has no key of version ", version.value()));
}

absl::Status NotOfThisSpace(OrderNo number) {
  return absl::InvalidArgumentError(
      absl::StrCat(number.ToString(), " is not an order_no of this space"));
}

absl::Status TooWide(OrderId id) {
  return absl::InvalidArgumentError(
      absl::StrCat("order ID ", id.ToString(), " is wide and does not fit a 64-bit order_no"));
}

OrderNo64 Join64(ShardGene gene, uint64_t cipher) {
  return OrderNoAssembler::Of64(
      static_cast<int64_t>(uint64_t{gene.value()} << OrderId::kNarrowSequenceBits | cipher));
}

uint64_t CipherOf(OrderNo64 number) {
  return static_cast<uint64_t>(number.ToInt64()) & OrderId::kMaxNarrowSequence;
}

// AES-256(k_ctr64, gene << 112) >> 81
uint64_t KeystreamOf(ShardGene gene, const Aes256& ctr64) {
  return ctr64.Encrypt({uint64_t{gene.value()} << 48, 0}).high() >> 17;
}

constexpr size_t kChunk = 256;
using Blocks = std::array<AesBlock, kChunk>;

void EncodeChunk(const OrderNoCiphers& ciphers, KeyVersion version, std::span<const OrderId> ids,
                 OrderNo* numbers) {
  Blocks ivs, keystream;
  for (size_t i = 0; i < ids.size(); ++i) ivs[i] = TagInput(ids[i], version);
  ciphers.tag.Encrypt(ivs.data(), keystream.data(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    ivs[i] = Iv(FormatOf(ids[i].is_wide()), ivs[i].high(), keystream[i]);
  }
  ciphers.ctr.Encrypt(ivs.data(), keystream.data(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) numbers[i] = Seal(ids[i], ivs[i], keystream[i]);
}

// Decodes the `numbers` at the listed places, which have one key version, into the same places of
// `ids`. Returns how many it refused.
size_t DecodeGroup(const OrderNoCiphers& ciphers, std::span<const uint8_t> places,
                   const OrderNo* numbers, std::optional<OrderId>* ids) {
  Blocks inputs, outputs;
  std::array<uint64_t, kChunk> sequences;
  for (size_t i = 0; i < places.size(); ++i) inputs[i] = IvOf(numbers[places[i]]);
  ciphers.ctr.Encrypt(inputs.data(), outputs.data(), places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    sequences[i] = SequenceOf(numbers[places[i]], outputs[i]);
    inputs[i] = TagInput(numbers[places[i]], sequences[i]);
  }
  ciphers.tag.Encrypt(inputs.data(), outputs.data(), places.size());
  size_t refused = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    OrderNo number = numbers[places[i]];
    if (IsGenuine(number, sequences[i], outputs[i])) {
      ids[places[i]] = OrderIdAssembler::Of(number.gene(), sequences[i]);
    } else {
      ++refused;
    }
  }
  return refused;
}

// The numbers of a chunk by key version, so that one set of ciphers decodes each group.
class Groups {
 public:
  Groups(const OrderNo* numbers, size_t count) : numbers_(numbers), pending_count_(count) {
    for (size_t i = 0; i < count; ++i) pending_[i] = static_cast<uint8_t>(i);
  }

  bool done() const { return pending_count_ == 0; }
  // The places of all numbers of one key version that no earlier group had.
  std::span<const uint8_t> Next() {
    const KeyVersion version = numbers_[pending_[0]].key_version();
    size_t in_group = 0, kept = 0;
    for (size_t i = 0; i < pending_count_; ++i) {
      uint8_t place = pending_[i];
      bool same = numbers_[place].key_version() == version;
      (same ? group_[in_group++] : pending_[kept++]) = place;
    }
    pending_count_ = kept;
    return {group_.data(), in_group};
  }

 private:
  const OrderNo* numbers_;
  std::array<uint8_t, kChunk> pending_, group_;
  size_t pending_count_;
};
static_assert(kChunk <= 256, "a place in a chunk fits a byte");

}  // namespace

struct OrderNoCodec::Rep {
  KeyVersion active;
  std::unique_ptr<CipherPool> pool;

  OrderNo Encode(OrderId id, KeyVersion version) const {
    CipherPool::Held ciphers = pool->Claim(version);
    AesBlock input = TagInput(id, version);
    AesBlock iv = Iv(FormatOf(id.is_wide()), input.high(), ciphers->tag.Encrypt(input));
    return Seal(id, iv, ciphers->ctr.Encrypt(iv));
  }
};

OrderNoCodec::OrderNoCodec(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
OrderNoCodec::OrderNoCodec(OrderNoCodec&&) noexcept = default;
OrderNoCodec& OrderNoCodec::operator=(OrderNoCodec&&) noexcept = default;
OrderNoCodec::~OrderNoCodec() = default;

absl::StatusOr<OrderNoCodec> OrderNoCodec::Create(const KeyRing& ring, const SpaceName& space) {
  auto rep = std::make_unique<Rep>();
  rep->active = ring.active();
  LOCUS_ASSIGN_OR_RETURN(rep->pool, CipherPool::Create(ring, space));
  return OrderNoCodec(std::move(rep));
}

KeyVersion OrderNoCodec::active() const { return rep_->active; }

absl::StatusOr<OrderNo> OrderNoCodec::Encode(OrderId id) const {
  return rep_->Encode(id, rep_->active);
}

absl::StatusOr<OrderNo> OrderNoCodec::Encode(OrderId id, KeyVersion version) const {
  if (!rep_->pool->has(version)) return NoKey(version);
  return rep_->Encode(id, version);
}

absl::StatusOr<OrderId> OrderNoCodec::Decode(OrderNo number) const {
  if (!rep_->pool->has(number.key_version())) return NotOfThisSpace(number);
  uint64_t sequence;
  AesBlock t;
  {
    CipherPool::Held ciphers = rep_->pool->Claim(number.key_version());
    sequence = SequenceOf(number, ciphers->ctr.Encrypt(IvOf(number)));
    t = ciphers->tag.Encrypt(TagInput(number, sequence));
  }
  if (!IsGenuine(number, sequence, t)) return NotOfThisSpace(number);
  return OrderIdAssembler::Of(number.gene(), sequence);
}

absl::Status OrderNoCodec::EncodeBatch(std::span<const OrderId> ids,
                                       std::span<OrderNo> numbers) const {
  if (ids.size() != numbers.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("room for ", numbers.size(), " numbers of ", ids.size(), " order IDs"));
  }
  for (size_t begin = 0; begin < ids.size(); begin += kChunk) {
    CipherPool::Held ciphers = rep_->pool->Claim(rep_->active);
    EncodeChunk(*ciphers, rep_->active, ids.subspan(begin, std::min(kChunk, ids.size() - begin)),
                &numbers[begin]);
  }
  return absl::OkStatus();
}

size_t OrderNoCodec::DecodeBatch(std::span<const OrderNo> numbers,
                                 std::span<std::optional<OrderId>> ids) const {
  LOCUS_CHECK(numbers.size() == ids.size());
  size_t refused = 0;
  for (size_t begin = 0; begin < numbers.size(); begin += kChunk) {
    const OrderNo* chunk = &numbers[begin];
    Groups groups(chunk, std::min(kChunk, numbers.size() - begin));
    std::fill_n(&ids[begin], std::min(kChunk, numbers.size() - begin), std::nullopt);
    while (!groups.done()) {
      std::span<const uint8_t> places = groups.Next();
      KeyVersion version = chunk[places[0]].key_version();
      if (!rep_->pool->has(version)) {
        refused += places.size();
        continue;
      }
      CipherPool::Held ciphers = rep_->pool->Claim(version);
      refused += DecodeGroup(*ciphers, places, chunk, &ids[begin]);
    }
  }
  return refused;
}

absl::StatusOr<OrderNo64> OrderNoCodec::EncodeFf1(OrderId id, KeyVersion version) const {
  if (id.is_wide()) return TooWide(id);
  if (!rep_->pool->has(version)) return NoKey(version);
  CipherPool::Held ciphers = rep_->pool->Claim(version);
  return Join64(id.gene(), ciphers->ff1.Encrypt(id.gene(), version, id.sequence()));
}

absl::StatusOr<OrderId> OrderNoCodec::DecodeFf1(OrderNo64 number, KeyVersion version) const {
  if (!rep_->pool->has(version)) return NoKey(version);
  CipherPool::Held ciphers = rep_->pool->Claim(version);
  return OrderIdAssembler::Narrow(number.gene(),
                                  ciphers->ff1.Decrypt(number.gene(), version, CipherOf(number)));
}

absl::StatusOr<OrderNo64> OrderNoCodec::EncodeCtr64ReusingKeystream(OrderId id,
                                                                    KeyVersion version) const {
  if (id.is_wide()) return TooWide(id);
  if (!rep_->pool->has(version)) return NoKey(version);
  CipherPool::Held ciphers = rep_->pool->Claim(version);
  return Join64(id.gene(), id.sequence() ^ KeystreamOf(id.gene(), ciphers->ctr64));
}

absl::StatusOr<OrderId> OrderNoCodec::DecodeCtr64(OrderNo64 number, KeyVersion version) const {
  if (!rep_->pool->has(version)) return NoKey(version);
  CipherPool::Held ciphers = rep_->pool->Claim(version);
  return OrderIdAssembler::Narrow(number.gene(),
                                  CipherOf(number) ^ KeystreamOf(number.gene(), ciphers->ctr64));
}

}  // namespace locus
