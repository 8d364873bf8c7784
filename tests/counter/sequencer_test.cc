// SPDX-License-Identifier: Apache-2.0
#include "locus/sequencer.h"

#include <limits>

#include "gtest/gtest.h"
#include "src/counter/sequencer_rules.h"

namespace locus {
namespace {

TEST(SequencerOptionsTest, OptionThatCannotBe_IsNamedWithItsLimit) {
  auto refusal = [](auto spoil) {
    SequencerOptions options;
    spoil(options);
    absl::Status status = options.Check();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.step = 0; }), "step is 0"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.max_value = -1; }), "max_value is -1"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.step = 7, o.max_value = 6; }), "step 7"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.key_prefix.assign(257, 'p'); }), "257"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.ttl = absl::Microseconds(1); }), "1us"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.ttl = -absl::Seconds(1); }), "-1s"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.ttl = absl::InfiniteDuration(); }), "inf"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.start = -3; }), "start is -3"));
  EXPECT_TRUE(has(refusal([](SequencerOptions& o) { o.max_value = 6, o.start = 7; }),
                  "start is 7; it must be at most max_value 6"));
  EXPECT_TRUE(SequencerOptions().Check().ok());
}

TEST(SequencerRulesTest, Advance_StopsOrStartsAgainAtTheLimit) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  using sequencer_rules::Advance;
  SequencerOptions options;
  EXPECT_EQ(Advance(std::nullopt, 5, options, "k").value(), 5);
  EXPECT_EQ(Advance(kHighest - 5, 5, options, "k").value(), kHighest);
  absl::Status status = Advance(kHighest - 4, 5, options, "k").status();
  EXPECT_EQ(status.message(),
            "key \"k\" is at 9223372036854775803; 5 more numbers by 1 would pass the limit "
            "9223372036854775807");
  options.at_max = SequencerOptions::AtMax::kWrap;
  EXPECT_TRUE(absl::IsOutOfRange(Advance(kHighest, 1, options, "k").status()))
      << "there is no limit at which to wrap";
  options.max_value = 10;
  EXPECT_EQ(Advance(10, 1, options, "k").value(), 1);
  EXPECT_EQ(Advance(7, 4, options, "k").value(), 4);
  EXPECT_EQ(Advance(6, 4, options, "k").value(), 10);
}

TEST(SequencerRulesTest, Start_BoundsABatchAndBeginsACounter) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  using sequencer_rules::Advance;
  using sequencer_rules::LongestBatch;
  SequencerOptions options;
  EXPECT_EQ(LongestBatch(options), kHighest);
  options.step = 10;
  options.start = 95;
  options.max_value = 100;
  EXPECT_EQ(LongestBatch(options), 1);
  EXPECT_EQ(Advance(std::nullopt, 10, options, "k").value(), 95);
  options.start = 1;
  EXPECT_EQ(LongestBatch(options), 10);
  EXPECT_EQ(Advance(std::nullopt, 100, options, "k").value(), 91);
  options.max_value = 0;
  options.start = 1;
  options.step = kHighest;
  EXPECT_EQ(LongestBatch(options), 1) << "nothing overflows";
  EXPECT_EQ(Advance(std::nullopt, kHighest, options, "k").value(), 1);
  EXPECT_TRUE(absl::IsOutOfRange(Advance(1, kHighest, options, "k").status()));
}

// An engine that answers `number` to every call.
class StubbornSequencer : public Sequencer {
 public:
  StubbornSequencer(int64_t number, const SequencerOptions& options)
      : Sequencer(options), number_(number) {}

 private:
  absl::StatusOr<Taken> Take(const std::string&, int64_t) override { return Taken{number_, 1}; }
  absl::Status Store(const std::string&, int64_t) override { return absl::OkStatus(); }
  absl::StatusOr<bool> StoreNew(const std::string&, int64_t) override { return true; }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string&) override { return number_; }
  absl::StatusOr<bool> PutBack(const std::string&, const Taken&, int64_t) override { return true; }

  const int64_t number_;
};

TEST(SequencerTest, EngineAnswersNumbersItWasNotAskedFor_IsDataLoss) {
  SequencerOptions options;
  options.step = 10;
  options.max_value = 1000;
  for (int64_t number : {std::numeric_limits<int64_t>::min(), int64_t{-1}, int64_t{9},
                         int64_t{1001}, std::numeric_limits<int64_t>::max()}) {
    StubbornSequencer engine(number, options);
    EXPECT_TRUE(absl::IsDataLoss(engine.Next("k").status())) << number;
    EXPECT_TRUE(absl::IsDataLoss(engine.NextBatch("k", 5).status())) << number;
    EXPECT_EQ(absl::IsDataLoss(engine.Get("k").status()), number < 0) << number;
    EXPECT_EQ(engine.Stats().numbers, 0u);
  }
  StubbornSequencer engine(50, options);
  EXPECT_EQ(engine.Next("k").value(), 50);
  EXPECT_EQ(engine.NextBatch("k", 5)->first, 10);
  EXPECT_TRUE(absl::IsDataLoss(engine.NextBatch("k", 6).status()));
}

TEST(SequencerTest, ReturnOfABatchThatCannotBe_IsRefused) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  SequencerOptions options;
  options.step = 10;
  StubbornSequencer engine(50, options);
  for (const SequenceBatch& batch :
       {SequenceBatch{kLowest, 10, 5, 1}, SequenceBatch{0, 10, 5, 1},
        SequenceBatch{kHighest - 39, 10, 5, 1}, SequenceBatch{10, 10, kHighest, 1}}) {
    absl::Status status = engine.Return("k", batch, 1).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << batch.first << ": " << status;
  }
  EXPECT_TRUE(engine.Return("k", {kHighest - 40, 10, 5, 1}, 1).value());
}

}  // namespace
}  // namespace locus
