// SPDX-License-Identifier: Apache-2.0
#include <openssl/rand.h>
#include <time.h>

#include <array>
#include <string>

#include "benchmark/benchmark.h"
#include "locus/uuid.h"

namespace locus {
namespace {

void UuidV7(benchmark::State& state) {
  for (auto _ : state) {
    absl::StatusOr<Uuid> uuid = Uuid::NewV7();
    if (!uuid.ok()) [[unlikely]]
      return state.SkipWithError("no UUID");
    benchmark::DoNotOptimize(uuid->low_word());
  }
}
BENCHMARK(UuidV7)->Threads(1)->Threads(2);

void UuidV4(benchmark::State& state) {
  for (auto _ : state) {
    absl::StatusOr<Uuid> uuid = Uuid::NewV4();
    if (!uuid.ok()) [[unlikely]]
      return state.SkipWithError("no UUID");
    benchmark::DoNotOptimize(uuid->low_word());
  }
}
BENCHMARK(UuidV4);

// The usual way: 16 bytes of OpenSSL for each UUID, the time put over the first six.
void PeerRandBytesUuidV7(benchmark::State& state) {
  std::array<unsigned char, Uuid::kBytes> bytes;
  for (auto _ : state) {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
      return state.SkipWithError("no randomness");
    }
    uint64_t ms =
        static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
    for (size_t i = 0; i < 6; ++i) bytes[i] = static_cast<unsigned char>(ms >> (40 - 8 * i));
    bytes[6] = static_cast<unsigned char>(0x70 | (bytes[6] & 0x0F));
    bytes[8] = static_cast<unsigned char>(0x80 | (bytes[8] & 0x3F));
    benchmark::DoNotOptimize(bytes);
  }
}
BENCHMARK(PeerRandBytesUuidV7)->Threads(1)->Threads(2);

void UuidFormat(benchmark::State& state) {
  Uuid uuid = Uuid::FromWords(0x017F22E279B07CC3, 0x98C4DC0C0C07398F);
  std::array<char, Uuid::kTextLength> text;
  for (auto _ : state) {
    uuid.FormatTo(text);
    benchmark::DoNotOptimize(text);
  }
}
BENCHMARK(UuidFormat);

void UuidParse(benchmark::State& state) {
  std::string text = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
  for (auto _ : state) {
    absl::StatusOr<Uuid> uuid = Uuid::Parse(text);
    if (!uuid.ok()) return state.SkipWithError("not parsed");
    benchmark::DoNotOptimize(uuid->low_word());
  }
}
BENCHMARK(UuidParse);

}  // namespace
}  // namespace locus
