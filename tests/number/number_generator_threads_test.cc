// SPDX-License-Identifier: Apache-2.0
// Threads and generators that use one type while days pass, the clock is set back and the type is
// altered, dropped and created again.
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/number_generator.h"
#include "locus/testing/manual_clock.h"

namespace locus {
namespace {

class NumberGeneratorThreadsTest : public ::testing::Test {
 protected:
  NumberGeneratorThreadsTest() {
    options_.clock = &clock_;
    SequenceType type;
    type.name = "invoices";
    type.period = SequenceType::Period::kDay;
    type.zone = "Europe/Berlin";
    type.pattern = "{date:yyyyMMdd}{seq:10}";
    type.lifetime = absl::Seconds(1);
    EXPECT_TRUE(types_->Create(type).ok());
  }
  std::unique_ptr<NumberGenerator> Make() {
    auto open = [this](const SequencerOptions& options) {
      return absl::StatusOr<std::shared_ptr<Sequencer>>(counters_->Share(options).value());
    };
    return NumberGenerator::Create(types_, open, "invoices", "", options_).value();
  }

  fakes::ManualClock clock_;
  std::shared_ptr<MemorySequenceTypeStore> types_ = std::make_shared<MemorySequenceTypeStore>();
  std::unique_ptr<MemorySequencer> counters_ = MemorySequencer::Create({}).value();
  NumberGenerator::Options options_;
};

TEST_F(NumberGeneratorThreadsTest, DaysPassAndTheClockGoesBack_NothingRepeatsOrGoesBack) {
  constexpr int kThreads = 4, kNumbers = 20'000;
  std::vector<std::unique_ptr<NumberGenerator>> processes;
  processes.push_back(Make());
  processes.push_back(Make());
  std::vector<std::vector<std::string>> drawn(kThreads);
  std::atomic<int> failed = 0, running = kThreads, total = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < kNumbers; ++n) {
        auto number = processes[static_cast<size_t>(i) % 2]->Next(absl::Minutes(1));
        failed += !number.ok();
        drawn[static_cast<size_t>(i)].push_back(number.value_or(""));
        ++total;
      }
      --running;
    });
  }
  for (int i = 0, jumped_at = 0; running > 0;) {
    std::this_thread::yield();
    if (total - jumped_at < 500) continue;
    jumped_at = total;
    clock_.Jump(i++ % 4 == 3 ? -absl::Hours(14) : absl::Hours(7));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  std::set<std::string> all;
  for (const auto& numbers : drawn) {
    for (size_t n = 0; n < numbers.size(); ++n) {
      ASSERT_TRUE(all.insert(numbers[n]).second) << numbers[n];
      if (n == 0) continue;
      ASSERT_LE(numbers[n - 1].substr(0, 8), numbers[n].substr(0, 8)) << "an earlier group";
    }
  }
  EXPECT_EQ(processes[0]->Stats().numbers + processes[1]->Stats().numbers,
            uint64_t{kThreads} * kNumbers);
}

// In real time, the same for every process.
TEST_F(NumberGeneratorThreadsTest, TypeAlteredWhileTwoProcessesDraw_TakesEffectInBoth) {
  options_.clock = &Clock::System();
  std::vector<std::unique_ptr<NumberGenerator>> processes;
  processes.push_back(Make());
  processes.push_back(Make());
  std::atomic<bool> stop = false;
  std::atomic<int> failed = 0;
  std::vector<std::set<std::string>> drawn(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] {
      while (!stop) {
        auto number = processes[i]->Next(absl::Minutes(1));
        failed += !number.ok() || !drawn[i].insert(*number).second;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
  }
  SequenceType type = types_->Find("invoices").value();
  type.step = 3;
  type.buffer = 7;
  type = types_->Alter(type).value();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  auto in_force = [&] {
    return processes[0]->Stats().type_version == type.version &&
           processes[1]->Stats().type_version == type.version;
  };
  while (!in_force() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(in_force());
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  for (const std::string& number : drawn[0]) EXPECT_FALSE(drawn[1].contains(number)) << number;
}

}  // namespace
}  // namespace locus
