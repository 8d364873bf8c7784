// SPDX-License-Identifier: Apache-2.0
// The numbers that Close gives back for a key whose numbers repeat.
#include <functional>
#include <memory>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/segment_sequence.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {
namespace {

// Something happens before the second batch is taken.
class Interrupted : public Sequencer {
 public:
  Interrupted(std::unique_ptr<Sequencer> inner, std::function<void()> between)
      : Sequencer(inner->options()), inner_(std::move(inner)), between_(std::move(between)) {}

 private:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    if (++takes_ == 2) between_();
    absl::StatusOr<SequenceBatch> batch = inner_->NextBatch(name, span);
    if (!batch.ok()) return batch.status();
    return Taken{batch->last(), batch->version};
  }
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    return inner_->Return(name, {value + 1, 1, taken.last - value, taken.version}, 0);
  }
  absl::Status Store(const std::string&, int64_t) override { return absl::OkStatus(); }
  absl::StatusOr<bool> StoreNew(const std::string&, int64_t) override { return false; }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string&) override { return std::nullopt; }

  const std::unique_ptr<Sequencer> inner_;
  const std::function<void()> between_;
  int takes_ = 0;
};

class SegmentSequenceReturnTest : public ::testing::Test {
 protected:
  // Uses 1 of the first segment, 1 to 64, while the second one waits; `between` happened before
  // that was taken. `ended`: so much time has passed that neither batch may be used. Returns where
  // the key is after Close.
  int64_t LastAfterClose(const SequencerOptions& options, std::function<void()> between,
                         bool ended = false) {
    keys_ = MemorySequencer::Create(options, clock_).value();
    auto store = std::make_shared<Interrupted>(keys_->Share(options).value(), std::move(between));
    SegmentSequence::Options of_sequence;
    of_sequence.clock = &clock_;
    of_sequence.executor = &executor_;
    auto sequence = SegmentSequence::Create(store, "k", of_sequence).value();
    EXPECT_FALSE(sequence->TryNext().ok());
    executor_.RunReady();
    EXPECT_EQ(sequence->TryNext().value_or(0), ended ? 0 : 1);
    EXPECT_EQ(keys_->Get("k").value(), 128) << "the second segment is 65 to 128";
    EXPECT_TRUE(sequence->Close().ok());
    return keys_->Get("k").value();
  }
  void Draw64() { EXPECT_TRUE(keys_->NextBatch("k", 64).ok()); }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::unique_ptr<MemorySequencer> keys_;
};

TEST_F(SegmentSequenceReturnTest, OthersDrewAWholeRoundInBetween_TheirNumbersAreNotReturned) {
  SequencerOptions options;
  options.max_value = 128;
  options.at_max = SequencerOptions::AtMax::kWrap;
  auto round = [this] {
    Draw64();  // 65 to 128
    Draw64();  // 1 to 64 of the next round
  };
  EXPECT_EQ(LastAfterClose(options, round), 64);
}

TEST_F(SegmentSequenceReturnTest, KeyForgottenInBetween_NumbersOfOthersAreNotReturned) {
  SequencerOptions options;
  options.ttl = absl::Hours(1);
  auto forgotten = [this] {
    clock_.Advance(absl::Hours(2));
    Draw64();  // 1 to 64 of the key's next life
  };
  EXPECT_EQ(LastAfterClose(options, forgotten, /*ended=*/true), 128) << "1 to 64 are others' now";
}

TEST_F(SegmentSequenceReturnTest, KeyThatCouldNotBeForgotten_ContinuesExactly) {
  SequencerOptions options;
  options.ttl = absl::Hours(1);
  EXPECT_EQ(LastAfterClose(options, [] {}), 1);
}

}  // namespace
}  // namespace locus
