// SPDX-License-Identifier: Apache-2.0
#include <openssl/evp.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "locus/key_ring.h"
#include "locus/order_no_codec.h"

namespace locus {
namespace {

constexpr size_t kIds = 1024;

const OrderNoCodec& Codec() {
  static const OrderNoCodec codec =
      OrderNoCodec::Create(KeyRing::Generate().value(), SpaceName()).value();
  return codec;
}

// Narrow, of random genes and sequences.
const std::vector<OrderId>& Ids() {
  static const std::vector<OrderId> ids = [] {
    std::mt19937_64 random(1);
    std::vector<OrderId> made;
    while (made.size() < kIds) {
      made.push_back(OrderId::FromInt64(static_cast<int64_t>(random() >> 1)).value());
    }
    return made;
  }();
  return ids;
}

const std::vector<OrderNo>& Numbers() {
  static const std::vector<OrderNo> numbers = [] {
    std::vector<OrderNo> made;
    for (OrderId id : Ids()) made.push_back(Codec().Encode(id).value());
    return made;
  }();
  return numbers;
}

void OrderNoEncodeSiv(benchmark::State& state) {
  const OrderNoCodec& codec = Codec();
  const std::vector<OrderId>& ids = Ids();
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(codec.Encode(ids[i++ % kIds]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OrderNoEncodeSiv)->Threads(1)->Threads(2);

void OrderNoDecodeSiv(benchmark::State& state) {
  const OrderNoCodec& codec = Codec();
  const std::vector<OrderNo>& numbers = Numbers();
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(codec.Decode(numbers[i++ % kIds]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OrderNoDecodeSiv)->Threads(1)->Threads(2);

void OrderNoEncodeSivBatch(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  std::span<const OrderId> ids(Ids().data(), size);
  std::vector<OrderNo> numbers(Numbers().begin(), Numbers().begin() + state.range(0));
  for (auto _ : state) {
    if (!Codec().EncodeBatch(ids, numbers).ok()) state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(OrderNoEncodeSivBatch)->Arg(kIds);

void OrderNoDecodeSivBatch(benchmark::State& state) {
  const auto size = static_cast<size_t>(state.range(0));
  std::span<const OrderNo> numbers(Numbers().data(), size);
  std::vector<std::optional<OrderId>> ids(size);
  for (auto _ : state) {
    if (Codec().DecodeBatch(numbers, ids) != 0) state.SkipWithError("refused");
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(OrderNoDecodeSivBatch)->Arg(kIds);

void OrderNoEncodeFf1(benchmark::State& state) {
  const OrderNoCodec& codec = Codec();
  const std::vector<OrderId>& ids = Ids();
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(codec.EncodeFf1(ids[i++ % kIds], codec.active()));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OrderNoEncodeFf1);

// The cost of an order_no with EVP used in the usual way: a prepared AES-256-CTR context, a new IV
// and one block each time.
void PeerEvpCtrReinit(benchmark::State& state) {
  std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                          &EVP_CIPHER_CTX_free);
  std::mt19937_64 random(2);
  std::vector<std::array<unsigned char, 16>> blocks(kIds);
  for (auto& block : blocks) {
    for (unsigned char& byte : block) byte = static_cast<unsigned char>(random());
  }
  std::array<unsigned char, 32> key{1, 2, 3};
  EVP_EncryptInit_ex(context.get(), EVP_aes_256_ctr(), nullptr, key.data(), blocks[0].data());
  std::array<unsigned char, 16> out;
  size_t i = 0;
  for (auto _ : state) {
    const auto& block = blocks[i++ % kIds];
    int size = 0;
    EVP_EncryptInit_ex(context.get(), nullptr, nullptr, nullptr, block.data());
    EVP_EncryptUpdate(context.get(), out.data(), &size, block.data(), 16);
    benchmark::DoNotOptimize(out);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PeerEvpCtrReinit)->Threads(1)->Threads(2);

}  // namespace
}  // namespace locus
