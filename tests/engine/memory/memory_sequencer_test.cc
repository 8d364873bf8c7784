// SPDX-License-Identifier: Apache-2.0
#include "locus/engine/memory.h"
#include "locus/testing/faulty_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "tests/counter/sequencer_contract.h"

namespace locus {
namespace {

class MemoryUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return first_->Share(options).value();
  }

 private:
  std::unique_ptr<MemorySequencer> first_ = MemorySequencer::Create({}).value();
};

INSTANTIATE_TEST_SUITE_P(Memory, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "memory", [] { return std::make_unique<MemoryUnderTest>(); }}));

TEST(MemorySequencerTest, BadOptions_AreRefused) {
  SequencerOptions options;
  options.step = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(MemorySequencer::Create(options).status()));
  auto good = MemorySequencer::Create({}).value();
  EXPECT_TRUE(absl::IsInvalidArgument(good->Share(options).status()));
}

TEST(MemorySequencerTest, Key_IsForgottenToTheMillisecondByItsClock) {
  fakes::ManualClock clock;
  SequencerOptions options;
  options.ttl = absl::Seconds(10);
  auto sequencer = MemorySequencer::Create(options, clock).value();
  EXPECT_EQ(sequencer->Next("a").value(), 1);
  clock.Advance(absl::Seconds(10) - absl::Milliseconds(1));
  EXPECT_EQ(sequencer->Next("a").value(), 2);
  clock.Advance(absl::Seconds(10));
  EXPECT_EQ(sequencer->Next("a").value(), 1);
}

TEST(FaultySequencerTest, WithoutFaults_IsTheSequencerInside) {
  SequencerOptions options;
  options.step = 3;
  fakes::FaultySequencer faulty(MemorySequencer::Create(options).value());
  SequenceBatch batch = faulty.NextBatch("a", 4).value();
  EXPECT_EQ(batch.first, 3);
  EXPECT_EQ(batch.last(), 12);
  EXPECT_EQ(faulty.Return("a", batch, 1).value(), true);
  EXPECT_EQ(faulty.inner().Get("a").value(), 3);
  EXPECT_EQ(faulty.SetIfNotExists("a", 5).value(), false);
  EXPECT_TRUE(absl::IsNotFound(faulty.Get("b").status()));
  ASSERT_TRUE(faulty.Set("a", 30).ok());
  EXPECT_EQ(faulty.Next("a").value(), 33);
}

TEST(FaultySequencerTest, LostAnswer_HasTakenTheNumbersAllTheSame) {
  fakes::FaultySequencer faulty(MemorySequencer::Create({}).value());
  faulty.LoseAnswersWith(absl::UnavailableError("timeout"));
  EXPECT_TRUE(absl::IsUnavailable(faulty.Next("a").status()));
  faulty.FailWith(absl::UnavailableError("down"));
  EXPECT_TRUE(absl::IsUnavailable(faulty.Next("a").status()));
  faulty.Heal();
  EXPECT_EQ(faulty.Next("a").value(), 2);
}

}  // namespace
}  // namespace locus
