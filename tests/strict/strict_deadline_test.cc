// SPDX-License-Identifier: Apache-2.0
// Sections and their deadlines by the processor's counter; and an owner whose store has gone, by
// the machine's own clock.
#include <atomic>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "locus/clock.h"
#include "locus/engine/memory.h"
#include "locus/strict_sequencer.h"
#include "src/strict/section.h"

namespace locus {
namespace {

TEST(StrictSectionTest, SurelyHeld_UpToTheTickOfThatGrant) {
  strict::Section section;
  EXPECT_FALSE(section.SurelyHeld(section.Read(), 1000));
  section.Open(1, 0, 10, 5'000);
  const strict::Section::Reading first = section.Read();
  EXPECT_FALSE(section.SurelyHeld(first, 1000)) << "no tick yet";
  section.SetTick(2000);
  EXPECT_TRUE(section.SurelyHeld(first, 1000));
  EXPECT_TRUE(section.SurelyHeld(first, 1999));
  EXPECT_FALSE(section.SurelyHeld(first, 2000));
  section.Close();
  EXPECT_FALSE(section.SurelyHeld(first, 1000));
  section.Open(2, 10, 20, 9'000);
  EXPECT_FALSE(section.SurelyHeld(section.Read(), 1000)) << "the tick of the grant before";
  section.SetTick(3000);
  EXPECT_FALSE(section.SurelyHeld(first, 1000)) << "taken under the grant before";
  EXPECT_TRUE(section.SurelyHeld(section.Read(), 1000));
}

class GoneStore : public MemoryStrictStore {
 public:
  absl::StatusOr<StrictReply<StrictExtended>> Extend(const SpaceName& set,
                                                     const StrictSetOptions& options,
                                                     const StrictExtend& request) override {
    if (gone) return absl::UnavailableError("gone");
    auto reply = MemoryStrictStore::Extend(set, options, request);
    if (reply.ok()) ++extended;
    return reply;
  }
  std::atomic<bool> gone = false;
  std::atomic<int> extended = 0;
};

// The owner has measured the counter by then, where the kernel trusts it.
TEST(StrictDeadlineTest, StoreIsGone_NoNumberPastTheDeadline) {
  StrictSetOptions set;
  set.uids = 4096;  // so that their numbers last while the store is gone
  set.section_size = 4096;
  set.step = kMostStrictStep;
  set.ttl = absl::Seconds(4);
  auto store = std::make_shared<GoneStore>();
  ASSERT_TRUE(store->Create(SpaceName(), set, {.first_ever = true}).ok());
  StrictSequencerOptions options;
  options.options = set;
  options.name = "a";
  auto sequencer = StrictSequencer::Open(store, options).value();
  ASSERT_TRUE(sequencer->Take(std::vector<uint32_t>{0}).ok());
  uint64_t last_uid = 0;
  const auto try_next = [&] { return sequencer->TryNext(++last_uid % set.uids); };
  Clock& clock = Clock::System();
  const absl::Duration give_up = clock.SinceBoot() + absl::Minutes(2);
  const absl::Duration measured = clock.SinceBoot() + absl::Seconds(3);
  while (clock.SinceBoot() < measured || store->extended < 2) {
    const absl::StatusOr<uint64_t> number = try_next();
    if (clock.SinceBoot() > give_up) FAIL() << number.status();
  }
  store->gone = true;
  // Calls under way may still be answered.
  const absl::Duration last_answer = clock.SinceBoot() + absl::Milliseconds(1);
  absl::Duration deadline = absl::InfiniteDuration();
  uint64_t numbers = 0;
  while (true) {
    const absl::Duration before = clock.SinceBoot();
    const absl::StatusOr<uint64_t> number = try_next();
    if (!number.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(number.status())) << number.status();
      break;
    }
    ++numbers;
    if (before > last_answer && deadline == absl::InfiniteDuration()) {
      deadline = before + sequencer->Stats().left;
    }
    ASSERT_LT(before, deadline + absl::Milliseconds(1));
  }
  EXPECT_GT(numbers, 0u);
  // It stays so.
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(try_next().ok());
}

}  // namespace
}  // namespace locus
