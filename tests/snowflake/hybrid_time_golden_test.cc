// SPDX-License-Identifier: Apache-2.0
// Holds HybridTime and HybridClock to tests/golden/hybrid_time.json.
#include <string>

#include "gtest/gtest.h"
#include "locus/hybrid_clock.h"
#include "locus/testing/manual_clock.h"
#include "tests/support/golden.h"

namespace locus {
namespace {

HybridTime TimeOf(const nlohmann::json& text) {
  return HybridTime::FromUint64(std::stoull(text.get<std::string>()));
}

// The answer of a clock that last gave `last`, when the wall clock shows clock_millis.
absl::StatusOr<HybridTime> AnswerOf(const nlohmann::json& step) {
  HybridTime last = TimeOf(step["last"]);
  absl::Time now = absl::FromUnixMillis(std::stoll(step["clock_millis"].get<std::string>()));
  fakes::ManualClock wall(now);
  HybridClock clock =
      HybridClock::Create({.max_drift = absl::Milliseconds(500), .clock = &wall}).value();
  if (last.value() > 0) {
    // The clock gave `last` when the wall clock was there: the moment before it was observed.
    wall.Jump(last.time() - now);
    EXPECT_TRUE(clock.Observe(HybridTime::FromUint64(last.value() - 1)).ok());
    EXPECT_EQ(clock.last(), last);
    wall.Jump(now - last.time());
  }
  return step.contains("remote") ? clock.Observe(TimeOf(step["remote"])) : clock.Now();
}

TEST(HybridTimeGoldenTest, EachValue_HasItsFields) {
  const nlohmann::json all = golden::Load("hybrid_time.json")["values"];
  for (const nlohmann::json& value : all) {
    HybridTime time = TimeOf(value["value"]);
    EXPECT_EQ(std::to_string(time.unix_millis()), value["unix_millis"]);
    EXPECT_EQ(time.counter(), value["counter"]);
  }
}

TEST(HybridTimeGoldenTest, EachStep_GivesItsAnswer) {
  const nlohmann::json all = golden::Load("hybrid_time.json")["steps"];
  for (const nlohmann::json& step : all) {
    absl::StatusOr<HybridTime> answer = AnswerOf(step);
    ASSERT_TRUE(answer.ok()) << step << ": " << answer.status();
    EXPECT_EQ(*answer, TimeOf(step["answer"])) << step;
  }
}

TEST(HybridTimeGoldenTest, RemoteTimeTooFarAhead_IsRefused) {
  const nlohmann::json all = golden::Load("hybrid_time.json")["refused_at_drift_500"];
  for (const nlohmann::json& step : all) {
    EXPECT_EQ(AnswerOf(step).status().code(), absl::StatusCode::kFailedPrecondition) << step;
  }
}

}  // namespace
}  // namespace locus
