// SPDX-License-Identifier: Apache-2.0
#include "tests/counter/sequencer_contract.h"

#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "src/counter/sequencer_rules.h"

namespace locus {
namespace {

using AtMax = SequencerOptions::AtMax;
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

SequencerOptions Limited(int64_t max_value, AtMax at_max, int64_t step = 1) {
  SequencerOptions options;
  options.step = step;
  options.max_value = max_value;
  options.at_max = at_max;
  return options;
}

SequencerOptions From(int64_t start, int64_t step) {
  SequencerOptions options;
  options.start = start;
  options.step = step;
  return options;
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SequencerContract);

TEST_P(SequencerContract, Numbers_BeginAtStepAndRiseByIt) {
  auto by_one = Connect();
  EXPECT_EQ(by_one->Next("a").value(), 1);
  EXPECT_EQ(by_one->Next("a").value(), 2);
  SequencerOptions options;
  options.step = 5;
  auto by_five = Connect(options);
  EXPECT_EQ(by_five->Next("b").value(), 5);
  EXPECT_EQ(by_five->Next("b").value(), 10);
}

TEST_P(SequencerContract, Start_IsTheFirstNumberOfANewCounter) {
  for (auto [start, step] : {std::pair<int64_t, int64_t>{1000, 1}, {3, 10}, {25, 10}}) {
    SCOPED_TRACE(start);
    SequencerOptions options = From(start, step);
    auto sequencer = Connect(options);
    std::string key = "from" + std::to_string(start);
    EXPECT_EQ(sequencer->Next(key).value(), start);
    EXPECT_EQ(sequencer->Get(key).value(), start);
    EXPECT_EQ(sequencer->NextBatch(key, 3).value().first, start + step);
    SequenceBatch batch = sequencer->NextBatch(key + "b", 4).value();
    EXPECT_EQ(batch.first, start);
    EXPECT_EQ(batch.last(), start + 3 * step);
    ASSERT_TRUE(sequencer->Set(key + "s", 0).ok());
    EXPECT_EQ(sequencer->Next(key + "s").value(), step) << "a value stays unchanged";
  }
  ASSERT_TRUE(Connect()->Next("old").ok());
  EXPECT_EQ(Connect(From(1000, 1))->Next("old").value(), 2) << "a counter that has a value";
}

TEST_P(SequencerContract, StartAndWrap_StartsAgainAtStart) {
  SequencerOptions options = Limited(40, AtMax::kWrap, 10);
  options.start = 15;
  auto sequencer = Connect(options);
  EXPECT_EQ(sequencer->NextBatch("a", 3).value().last(), 35);
  EXPECT_EQ(sequencer->Next("a").value(), 15);
  EXPECT_EQ(sequencer->NextBatch("a", 3).value().first, 15) << "45 would pass the limit";
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->NextBatch("a", 4).status()));
  EXPECT_EQ(sequencer->Get("a").value(), 35);
}

TEST_P(SequencerContract, StartAndReturn_GivesTheFirstNumbersAgain) {
  auto above = Connect(From(25, 10));
  SequenceBatch batch = above->NextBatch("a", 4).value();
  EXPECT_EQ(above->Return("a", batch, 0).value(), under_test_->can_return());
  if (under_test_->can_return()) {
    EXPECT_EQ(above->Next("a").value(), 25);
  }
  auto below = Connect(From(3, 10));
  batch = below->NextBatch("b", 4).value();
  EXPECT_EQ(below->Return("b", batch, 0).value(), false) << "no engine stores 3 - 10";
  EXPECT_EQ(below->Get("b").value(), 33);
  EXPECT_EQ(below->Return("b", batch, 1).value(), under_test_->can_return());
}

TEST_P(SequencerContract, Batch_IsARunOfNumbers) {
  SequencerOptions options;
  options.step = 10;
  auto sequencer = Connect(options);
  EXPECT_EQ(sequencer->Next("a").value(), 10);
  SequenceBatch batch = sequencer->NextBatch("a", 3).value();
  EXPECT_EQ(batch.first, 20);
  EXPECT_EQ(batch.step, 10);
  EXPECT_EQ(batch.count, 3);
  EXPECT_EQ(batch.last(), 40);
  EXPECT_EQ(sequencer->Next("a").value(), 50);
}

TEST_P(SequencerContract, Stats_CountCallsNumbersAndTheirTime) {
  auto sequencer = Connect();
  ASSERT_TRUE(sequencer->Next("a").ok());
  ASSERT_TRUE(sequencer->NextBatch("a", 7).ok());
  ASSERT_TRUE(sequencer->Get("a").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Next("").status())) << "never reaches the engine";
  SequencerStats stats = sequencer->Stats();
  EXPECT_EQ(stats.calls, 3u);
  EXPECT_EQ(stats.failures, 0u);
  EXPECT_EQ(stats.numbers, 8u);
  EXPECT_EQ(stats.latency.total(), 3u);
}

TEST_P(SequencerContract, Get_ReturnsTheLastNumber) {
  auto sequencer = Connect();
  EXPECT_TRUE(absl::IsNotFound(sequencer->Get("a").status()));
  ASSERT_TRUE(sequencer->NextBatch("a", 7).ok());
  EXPECT_EQ(sequencer->Get("a").value(), 7);
  EXPECT_EQ(Connect()->Get("a").value(), 7) << "also for other handles";
}

TEST_P(SequencerContract, Set_DecidesTheNextNumber) {
  auto sequencer = Connect();
  ASSERT_TRUE(sequencer->Set("a", 100).ok());
  EXPECT_EQ(sequencer->Next("a").value(), 101);
  ASSERT_TRUE(sequencer->Set("a", 0).ok());
  EXPECT_EQ(sequencer->Get("a").value(), 0);
  EXPECT_EQ(sequencer->Next("a").value(), 1);
  EXPECT_EQ(Connect()->Next("a").value(), 2);
}

TEST_P(SequencerContract, SetIfNotExists_KeepsAnExistingValue) {
  auto sequencer = Connect();
  EXPECT_EQ(sequencer->SetIfNotExists("a", 5).value(), true);
  EXPECT_EQ(sequencer->SetIfNotExists("a", 50).value(), false);
  EXPECT_EQ(sequencer->Next("a").value(), 6);
  ASSERT_TRUE(sequencer->Next("b").ok());
  EXPECT_EQ(Connect()->SetIfNotExists("b", 50).value(), false);
}

TEST_P(SequencerContract, LimitWithError_BatchFailsAsAWhole) {
  auto sequencer = Connect(Limited(10, AtMax::kError));
  ASSERT_TRUE(sequencer->NextBatch("a", 7).ok());
  absl::Status status = sequencer->NextBatch("a", 4).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_NE(status.message().find("10"), absl::string_view::npos) << status;
  EXPECT_EQ(sequencer->Get("a").value(), 7) << "nothing changed";
  EXPECT_EQ(sequencer->NextBatch("a", 3).value().last(), 10);
  EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("a").status()));
  EXPECT_EQ(sequencer->Get("a").value(), 10);
}

TEST_P(SequencerContract, LimitWithWrap_BatchStartsAgainAsAWhole) {
  auto sequencer = Connect(Limited(10, AtMax::kWrap));
  ASSERT_TRUE(sequencer->NextBatch("a", 7).ok());
  SequenceBatch batch = sequencer->NextBatch("a", 4).value();
  EXPECT_EQ(batch.first, 1);
  EXPECT_EQ(batch.last(), 4);
  EXPECT_EQ(sequencer->NextBatch("a", 6).value().last(), 10);
  EXPECT_EQ(sequencer->Next("a").value(), 1);
}

TEST_P(SequencerContract, LimitWithWrap_StartsAgainAtStep) {
  auto sequencer = Connect(Limited(25, AtMax::kWrap, 10));
  EXPECT_EQ(sequencer->Next("a").value(), 10);
  EXPECT_EQ(sequencer->Next("a").value(), 20);
  EXPECT_EQ(sequencer->Next("a").value(), 10);
}

TEST_P(SequencerContract, BatchLargerThanMaxValue_IsRefused) {
  for (AtMax at_max : {AtMax::kError, AtMax::kWrap}) {
    auto sequencer = Connect(Limited(10, at_max));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->NextBatch("a", 11).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->NextBatch("a", 0).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->NextBatch("a", -1).status()));
    EXPECT_TRUE(absl::IsNotFound(sequencer->Get("a").status())) << "nothing changed";
  }
  SequencerOptions options;
  options.step = kHighest / 2;
  EXPECT_TRUE(absl::IsInvalidArgument(Connect(options)->NextBatch("a", 3).status()));
}

TEST_P(SequencerContract, HighestNumber_IsGivenOutAndNoMore) {
  auto sequencer = Connect();
  ASSERT_TRUE(sequencer->Set("a", kHighest - 3).ok());
  EXPECT_TRUE(absl::IsOutOfRange(sequencer->NextBatch("a", 4).status()));
  EXPECT_EQ(sequencer->NextBatch("a", 2).value().first, kHighest - 2);
  EXPECT_EQ(sequencer->Next("a").value(), kHighest);
  EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("a").status()));
  EXPECT_EQ(sequencer->Get("a").value(), kHighest);
  auto in_one = Connect();
  EXPECT_EQ(in_one->NextBatch("b", kHighest).value().last(), kHighest);
  EXPECT_TRUE(absl::IsOutOfRange(in_one->NextBatch("b", kHighest).status()));
}

TEST_P(SequencerContract, NumbersAboveTheRangeOfADouble_AreExact) {
  constexpr int64_t kDouble = int64_t{1} << 53;
  auto sequencer = Connect();
  ASSERT_TRUE(sequencer->Set("a", kDouble - 2).ok());
  for (int64_t i = -1; i < 4; ++i) EXPECT_EQ(sequencer->Next("a").value(), kDouble + i);

  auto limited = Connect(Limited(kDouble + 1, AtMax::kError));
  ASSERT_TRUE(limited->Set("b", kDouble).ok());
  EXPECT_EQ(limited->Next("b").value(), kDouble + 1);
  EXPECT_TRUE(absl::IsOutOfRange(limited->Next("b").status()));

  auto wrapping = Connect(Limited(kHighest - 1, AtMax::kWrap));
  ASSERT_TRUE(wrapping->Set("c", kHighest - 2).ok());
  EXPECT_EQ(wrapping->Next("c").value(), kHighest - 1);
  EXPECT_EQ(wrapping->Next("c").value(), 1);

  SequencerOptions options;
  options.step = kDouble + 1;
  EXPECT_EQ(Connect(options)->NextBatch("d", 3).value().last(), 3 * (kDouble + 1));
}

TEST_P(SequencerContract, ValueThatCannotBe_IsRefused) {
  auto sequencer = Connect(Limited(10, AtMax::kError));
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Set("a", -1)));
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Set("a", 11)));
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->SetIfNotExists("a", 11).status()));
  EXPECT_TRUE(absl::IsNotFound(sequencer->Get("a").status()));
}

TEST_P(SequencerContract, KeyAboveALowerLimit_ErrsOrWraps) {
  ASSERT_TRUE(Connect()->Set("a", kHighest).ok());
  EXPECT_TRUE(absl::IsOutOfRange(Connect(Limited(10, AtMax::kError))->Next("a").status()));
  EXPECT_EQ(Connect()->Get("a").value(), kHighest);
  EXPECT_EQ(Connect(Limited(10, AtMax::kWrap))->NextBatch("a", 2).value().first, 1);
}

TEST_P(SequencerContract, Keys_AreIndependentWhateverTheirBytes) {
  using namespace std::string_literals;
  std::vector<std::string> keys = {
      "a",   "A",    "a ",      " a",       "a\0"s,    "a\0b"s,    "\0"s, "\xFF",
      "{a}", "a}{b", "50% off", "x'y\"z\\", "a\r\nb",  "\xC3\xA4", "a:1", "\xE2\x82\xAC",
      "1",   "01",   "/",       "a/b",      "\x80key", "a\xCC\x88"};
  keys.push_back(std::string(512, 'k'));
  keys.push_back(std::string(511, 'k'));
  keys.push_back(std::string(511, 'k') + "l");
  auto sequencer = Connect();
  for (size_t i = 0; i < keys.size(); ++i) {
    auto batch = sequencer->NextBatch(keys[i], static_cast<int64_t>(i) + 1);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_EQ(batch->first, 1) << "key " << i;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(sequencer->Get(keys[i]).value(), static_cast<int64_t>(i) + 1) << "key " << i;
  }
}

TEST_P(SequencerContract, KeyOfBadLength_IsRefused) {
  auto sequencer = Connect();
  std::string longest(513, 'k');
  for (std::string_view key : {std::string_view(), std::string_view(longest)}) {
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Next(key).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->NextBatch(key, 2).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Set(key, 2)));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->SetIfNotExists(key, 2).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Get(key).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Return(key, SequenceBatch(), 0).status()));
  }
}

TEST_P(SequencerContract, Prefix_StandsBeforeTheKey) {
  SequencerOptions options;
  options.key_prefix = std::string(256, 'p');
  auto prefixed = Connect(options);
  std::string key(512, 'k');
  EXPECT_EQ(prefixed->Next(key).value(), 1);
  EXPECT_EQ(prefixed->Next(key).value(), 2);
  EXPECT_TRUE(absl::IsNotFound(Connect()->Get(key).status()));
  options.key_prefix = "shop/";
  EXPECT_EQ(Connect(options)->Next("a").value(), 1);
  EXPECT_EQ(Connect()->Get("shop/a").value(), 1);
}

TEST_P(SequencerContract, ReturnedTail_IsGivenOutAgain) {
  auto sequencer = Connect();
  SequenceBatch batch = sequencer->NextBatch("a", 100).value();
  EXPECT_EQ(sequencer->Return("a", batch, 100).value(), true) << "nothing is left to return";
  EXPECT_EQ(sequencer->Get("a").value(), 100);
  EXPECT_EQ(sequencer->Return("a", batch, 37).value(), under_test_->can_return());
  if (!under_test_->can_return()) return;
  EXPECT_EQ(Connect()->Next("a").value(), 38);
  SequenceBatch whole = sequencer->NextBatch("a", 10).value();
  EXPECT_EQ(whole.first, 39);
  EXPECT_EQ(sequencer->Return("a", whole, 0).value(), true);
  EXPECT_EQ(sequencer->Next("a").value(), 39);
}

TEST_P(SequencerContract, ReturnAfterAnyOtherWrite_IsTooLate) {
  auto sequencer = Connect(Limited(100, AtMax::kWrap));
  SequenceBatch batch = sequencer->NextBatch("a", 100).value();
  ASSERT_TRUE(sequencer->NextBatch("a", 100).ok()) << "wrapped: the same value again";
  EXPECT_EQ(sequencer->Return("a", batch, 50).value(), false);

  batch = sequencer->NextBatch("b", 10).value();
  ASSERT_TRUE(sequencer->Set("b", 10).ok());
  EXPECT_EQ(sequencer->Return("b", batch, 5).value(), false);

  batch = sequencer->NextBatch("c", 10).value();
  ASSERT_TRUE(Connect()->Next("c").ok());
  EXPECT_EQ(sequencer->Return("c", batch, 5).value(), false);
  EXPECT_EQ(sequencer->Get("c").value(), 11);

  batch = sequencer->NextBatch("d", 10).value();
  EXPECT_EQ(sequencer->Return("d", batch, 5).value(), under_test_->can_return());
  EXPECT_EQ(sequencer->Return("d", batch, 5).value(), false) << "twice";
}

TEST_P(SequencerContract, ReturnOfABatchNeverTaken_IsRefused) {
  auto sequencer = Connect();
  SequenceBatch batch = sequencer->NextBatch("a", 10).value();
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Return("a", batch, 11).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(sequencer->Return("a", batch, -1).status()));
  EXPECT_EQ(sequencer->Return("unknown", batch, 5).value(), false);
  EXPECT_TRUE(absl::IsNotFound(sequencer->Get("unknown").status()));
}

TEST_P(SequencerContract, ManyHandlesAndThreads_GiveEachNumberOnce) {
  constexpr int kThreads = 4, kCalls = 100;
  std::vector<std::unique_ptr<Sequencer>> handles;
  for (int i = 0; i < 2; ++i) handles.push_back(Connect());
  std::vector<std::vector<int64_t>> given(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Sequencer& sequencer = *handles[t % 2];
      for (int i = 0; i < kCalls; ++i) {
        auto batch = sequencer.NextBatch("shared", 1 + i % 3);
        if (!batch.ok()) {
          ADD_FAILURE() << batch.status();
          return;
        }
        for (int64_t n = batch->first; n <= batch->last(); ++n) given[t].push_back(n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> all;
  size_t count = 0;
  for (const auto& numbers : given) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_EQ(all.size(), count) << "each number once";
  EXPECT_EQ(*all.rbegin(), static_cast<int64_t>(count)) << "and none left out";
}

// Random calls, beside a map and the rules.
TEST_P(SequencerContract, RandomCalls_AreAsTheRulesSay) {
  const std::vector<SequencerOptions> choices = {SequencerOptions(),
                                                 Limited(50, AtMax::kError, 3),
                                                 Limited(50, AtMax::kWrap, 7),
                                                 Limited(kHighest - 5, AtMax::kWrap),
                                                 Limited(0, AtMax::kError, kHighest / 3),
                                                 From(1, 7),
                                                 From(kHighest - 9, 3)};
  for (size_t choice = 0; choice < choices.size(); ++choice) {
    const SequencerOptions& options = choices[choice];
    std::string prefix = "random" + std::to_string(choice) + "/";
    auto sequencer = Connect(options);
    std::map<std::string, int64_t> expected;
    std::mt19937_64 random(choice);
    int64_t limit = sequencer_rules::Limit(options);
    for (int call = 0; call < 120; ++call) {
      std::string key = prefix + std::to_string(random() % 3);
      auto known = expected.find(key);
      switch (random() % 8) {
        case 0: {
          int64_t value = limit - static_cast<int64_t>(random() % (limit < 100 ? limit : 100));
          ASSERT_TRUE(sequencer->Set(key, value).ok());
          expected[key] = value;
          break;
        }
        case 1:
          EXPECT_EQ(sequencer->SetIfNotExists(key, 2).value(), known == expected.end());
          expected.emplace(key, 2);
          break;
        case 2: {
          auto value = sequencer->Get(key);
          ASSERT_EQ(value.ok(), known != expected.end()) << value.status();
          EXPECT_EQ(value.value_or(-1), known == expected.end() ? -1 : known->second);
          break;
        }
        default: {
          int64_t count = 1 + static_cast<int64_t>(random() % 9);
          count = std::min(count, sequencer_rules::LongestBatch(options));
          std::optional<int64_t> current;
          if (known != expected.end()) current = known->second;
          auto last = sequencer_rules::Advance(current, count * options.step, options, key);
          auto batch = sequencer->NextBatch(key, count);
          ASSERT_EQ(batch.status().code(), last.status().code()) << batch.status();
          if (!last.ok()) break;
          EXPECT_EQ(batch->last(), *last);
          EXPECT_EQ(batch->count, count);
          expected[key] = *last;
        }
      }
    }
  }
}

}  // namespace locus
