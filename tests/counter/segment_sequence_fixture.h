// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_COUNTER_SEGMENT_SEQUENCE_FIXTURE_H_
#define LOCUS_TESTS_COUNTER_SEGMENT_SEQUENCE_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "locus/engine/memory.h"
#include "locus/segment_sequence.h"
#include "locus/testing/faulty_sequencer.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"

namespace locus {

// A sequence on a sequencer that fails on demand; time and loading are moved by hand.
class SegmentSequenceTest : public ::testing::Test {
 protected:
  SegmentSequenceTest() {
    options_.clock = &clock_;
    options_.executor = &executor_;
    Begin({});
  }
  // A sequencer with these options and no key.
  void Begin(const SequencerOptions& options) {
    keys_ = MemorySequencer::Create(options).value();
    store_ = std::make_shared<fakes::FaultySequencer>(keys_->Share(options).value());
  }
  std::unique_ptr<SegmentSequence> Make(const std::string& key = "k") {
    return SegmentSequence::Create(store_, key, options_).value();
  }
  void PassTime(absl::Duration by = absl::Milliseconds(10)) {
    executor_.RunReady();
    clock_.Advance(by);
    executor_.RunDelayed();
  }
  // Takes one, running the loader where needed.
  absl::StatusOr<int64_t> TryTake(SegmentSequence& sequence) {
    absl::StatusOr<int64_t> number;
    for (int i = 0; i < 200; ++i) {
      number = sequence.TryNext();
      if (!absl::IsUnavailable(number.status())) return number;
      PassTime();
    }
    return number;
  }
  int64_t Take(SegmentSequence& sequence) {
    absl::StatusOr<int64_t> number = TryTake(sequence);
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(-1);
  }
  std::vector<int64_t> Take(SegmentSequence& sequence, int count) {
    std::vector<int64_t> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(Take(sequence));
    return numbers;
  }
  int64_t LastOfKey(const std::string& key = "k") { return keys_->Get(key).value(); }

  fakes::ManualClock clock_;
  fakes::ManualExecutor executor_;
  std::unique_ptr<MemorySequencer> keys_;
  std::shared_ptr<fakes::FaultySequencer> store_;
  SegmentSequence::Options options_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_COUNTER_SEGMENT_SEQUENCE_FIXTURE_H_
