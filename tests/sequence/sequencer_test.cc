// SPDX-License-Identifier: Apache-2.0
#include "locus/sequencer.h"

#include <limits>

#include "gtest/gtest.h"
#include "src/sequence/sequencer_rules.h"

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

}  // namespace
}  // namespace locus
