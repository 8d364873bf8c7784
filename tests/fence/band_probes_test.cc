// SPDX-License-Identifier: Apache-2.0
#include "routing/fence/band_probes.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace locus {
namespace {

using internal::BandProbes;
using SteadyClock = std::chrono::steady_clock;
using std::chrono::milliseconds;

BandProbes::TimePoint In(milliseconds time) { return SteadyClock::now() + time; }

TEST(BandProbesTest, ManyCallers_OneProbesForAll) {
  BandProbes probes;
  std::atomic<bool> arrived = false;
  std::atomic<int> asking = 0, most_asking = 0, answered = 0;
  auto probe = [&]() -> std::optional<uint32_t> {
    most_asking = std::max<int>(most_asking, ++asking);
    std::this_thread::yield();
    --asking;
    return arrived ? std::optional<uint32_t>(7) : std::nullopt;
  };
  constexpr int kCallers = 64;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back(
        [&] { answered += probes.Wait(1, In(milliseconds(60'000)), probe) == 7u; });
  }
  while (probes.counts().waits < kCallers - 1 || probes.counts().probes < 3) {
    std::this_thread::yield();
  }
  arrived = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered, kCallers);
  EXPECT_EQ(most_asking, 1);
}

TEST(BandProbesTest, OtherBands_HaveProbesOfTheirOwn) {
  BandProbes probes;
  std::atomic<bool> stop = false;
  std::thread other([&] {
    probes.Wait(1, In(milliseconds(60'000)),
                [&] { return stop ? std::optional<uint32_t>(1) : std::nullopt; });
  });
  while (probes.counts().probes == 0) std::this_thread::yield();
  EXPECT_EQ(probes.Wait(2, In(milliseconds(60'000)), [] { return std::optional<uint32_t>(2); }),
            2u);
  stop = true;
  other.join();
}

TEST(BandProbesTest, ProberWhoseTimeIsUp_HandsOverToTheNext) {
  BandProbes probes;
  std::atomic<int> answers_at = 1'000'000;  // probes
  std::atomic<int> made = 0;
  auto probe = [&]() -> std::optional<uint32_t> {
    return ++made >= answers_at ? std::optional<uint32_t>(3) : std::nullopt;
  };
  std::optional<uint32_t> first = 1, second, third;
  std::thread hasty([&] { first = probes.Wait(9, In(milliseconds(100)), probe); });
  while (probes.counts().probes == 0) std::this_thread::yield();
  std::thread patient([&] { second = probes.Wait(9, In(milliseconds(60'000)), probe); });
  std::thread another([&] { third = probes.Wait(9, In(milliseconds(60'000)), probe); });
  hasty.join();
  EXPECT_EQ(first, std::nullopt);
  answers_at = made + 3;
  patient.join();
  another.join();
  EXPECT_EQ(second, 3u);
  EXPECT_EQ(third, 3u);
}

TEST(BandProbesTest, WaiterWhoseTimeIsUp_Leaves) {
  BandProbes probes;
  std::atomic<bool> stop = false;
  auto probe = [&] { return stop ? std::optional<uint32_t>(1) : std::nullopt; };
  std::thread prober([&] { probes.Wait(1, In(milliseconds(60'000)), probe); });
  while (probes.counts().probes == 0) std::this_thread::yield();
  bool asked = false;
  EXPECT_EQ(probes.Wait(1, In(milliseconds(5)),
                        [&] {
                          asked = true;
                          return std::optional<uint32_t>(1);
                        }),
            std::nullopt);
  EXPECT_FALSE(asked) << "only one asks";
  stop = true;
  prober.join();
}

}  // namespace
}  // namespace locus
