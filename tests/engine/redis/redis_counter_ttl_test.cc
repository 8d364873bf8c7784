// SPDX-License-Identifier: Apache-2.0
// Counters with a ttl on a server whose clock jumps.
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "locus/testing/manual_clock.h"
#include "tests/engine/redis/redis_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kTtl = absl::Minutes(30);

SequencerOptions WithTtl(absl::Duration ttl) {
  SequencerOptions options;
  options.ttl = ttl;
  return options;
}

class RedisCounterTtlTest : public ::testing::Test {
 protected:
  RedisCounterTtlTest() {
    SetShift(absl::ZeroDuration());
    setenv("LOCUS_CLOCK_SHIFT", file_.c_str(), 1);
    setenv("LD_PRELOAD", LOCUS_SHIFTED_CLOCK, 1);
    server_ = std::make_unique<RedisServer>();
    unsetenv("LD_PRELOAD");
    unsetenv("LOCUS_CLOCK_SHIFT");
    sequencer_ = RedisSequencer::Open(server_->options(), WithTtl(kTtl)).value();
  }

  // Of the server's clock, against true time.
  void SetShift(absl::Duration shift) {
    const int64_t seconds = absl::ToInt64Seconds(shift);
    std::fstream file(file_, std::ios::binary | std::ios::out |
                                 (std::ifstream(file_).good() ? std::ios::in : std::ios::trunc));
    file.write(reinterpret_cast<const char*>(&seconds), sizeof seconds);
  }
  // Jumps, and lets the server expire what it takes for old.
  void Jump(absl::Duration shift) {
    const std::string before = server_->Ask("TIME");
    SetShift(shift);
    ASSERT_TRUE(WaitUntil([&] {
      const int64_t now = std::strtoll(server_->Ask("TIME").c_str(), nullptr, 10);
      return std::abs(now - absl::ToUnixSeconds(absl::Now() + shift)) <= 2;
    })) << before;
    server_->Ask("EXISTS locus:sequence:a");
  }

  TemporaryDirectory directory_;
  const std::string file_ = directory_ / "shift";
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisSequencer> sequencer_;
};

TEST_F(RedisCounterTtlTest, ServersClockJumpsAhead_ForgetsNoCounter) {
  ASSERT_EQ(sequencer_->NextBatch("a", 10)->last(), 10);
  Jump(absl::Hours(1));
  EXPECT_EQ(sequencer_->Get("a").value(), 10);
  Jump(absl::Hours(2));
  EXPECT_FALSE(sequencer_->SetIfNotExists("a", 3).value());
  Jump(absl::Hours(3));
  EXPECT_EQ(sequencer_->Next("a").value(), 11);
  Jump(absl::Hours(4));
  EXPECT_EQ(sequencer_->NextEach(std::vector<std::string_view>{"a"})[0].value(), 12);
  Jump(absl::Hours(5));
  const SequenceBatch batch = sequencer_->NextBatch("a", 10).value();
  Jump(absl::Hours(6));
  EXPECT_TRUE(sequencer_->Return("a", batch, 4).value());
  Jump(absl::Hours(7));
  EXPECT_EQ(sequencer_->Next("a").value(), 17);
}

TEST_F(RedisCounterTtlTest, ServersClockWasBehindAndIsSetRight_ForgetsNoCounter) {
  Jump(-absl::Hours(5));
  ASSERT_EQ(sequencer_->NextBatch("a", 10)->last(), 10);
  Jump(absl::ZeroDuration());
  EXPECT_EQ(sequencer_->Next("a").value(), 11);
}

// By so much that Redis has deleted the key.
TEST_F(RedisCounterTtlTest, ServersClockJumpsByADay_CallsAreRefusedUntilItIsSet) {
  ASSERT_EQ(sequencer_->NextBatch("a", 10)->last(), 10);
  Jump(absl::Hours(24));
  const absl::Status refused = sequencer_->Next("a").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("ahead of this host's clock"));
  EXPECT_EQ(sequencer_->Get("a").status().code(), refused.code());
  EXPECT_EQ(sequencer_->SetIfNotExists("a", 3).status().code(), refused.code());
  for (const auto& one : sequencer_->NextEach(std::vector<std::string_view>{"a", "new"})) {
    EXPECT_EQ(one.status().code(), refused.code());
  }
  EXPECT_EQ(server_->Ask("DBSIZE"), "0");
  ASSERT_TRUE(sequencer_->Set("a", 10).ok());
  EXPECT_EQ(sequencer_->Next("a").value(), 11);
  const auto lasting = RedisSequencer::Open(server_->options(), {}).value();
  EXPECT_EQ(lasting->Next("b").value(), 1) << "no clock matters without a ttl";
}

TEST_F(RedisCounterTtlTest, CounterThatBothClocksTakeForOld_StartsAgain) {
  fakes::ManualClock caller(absl::Now());
  sequencer_ = RedisSequencer::Open(server_->options(), WithTtl(kTtl), caller).value();
  ASSERT_EQ(sequencer_->NextBatch("a", 10)->last(), 10);
  caller.Advance(kTtl + absl::Minutes(1));
  EXPECT_EQ(sequencer_->Next("a").value(), 11) << "only the caller's clock has passed its time";
  Jump(2 * kTtl + absl::Minutes(2));
  caller.Advance(kTtl + absl::Minutes(1));
  EXPECT_EQ(sequencer_->Next("a").value(), 1);
  caller.Advance(kTtl + absl::Minutes(1));
  Jump(3 * kTtl + absl::Minutes(3));
  EXPECT_TRUE(absl::IsNotFound(sequencer_->Get("a").status()));
  EXPECT_TRUE(sequencer_->SetIfNotExists("a", 5).value());
  EXPECT_EQ(sequencer_->Next("a").value(), 6);
}

// Server and caller are one host. A jump by a day has Redis delete the key.
TEST_F(RedisCounterTtlTest, ClockOfServerAndCallerJumpsAhead_ForgetsNoCounter) {
  fakes::ManualClock caller(absl::Now());
  sequencer_ = RedisSequencer::Open(server_->options(), WithTtl(kTtl), caller).value();
  ASSERT_EQ(sequencer_->NextBatch("a", 10)->last(), 10);
  Jump(absl::Hours(1));
  caller.Jump(absl::Hours(1));
  EXPECT_EQ(sequencer_->Next("a").value(), 11);
  Jump(absl::Hours(25));
  caller.Jump(absl::Hours(24));
  const absl::Status refused = sequencer_->Next("a").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("without its jump"));
  caller.Advance(kTtl);
  EXPECT_EQ(sequencer_->Next("a").value(), 1) << "it has been so late for the ttl";
}

// An earlier build counts beside this one: its writes leave `until` as it is.
TEST_F(RedisCounterTtlTest, KeyOfAnEarlierBuild_StaysWhileItIsThere) {
  server_->Ask("HSET locus:sequence:a value 10 version 1700000000000000");
  server_->Ask("PEXPIRE locus:sequence:a 600000");
  EXPECT_EQ(sequencer_->Next("a").value(), 11);
  server_->Ask(
      "HSET locus:sequence:b value 10 version 1700000000000001 until "
      "1700000000000000:1700000000000");
  server_->Ask("PEXPIRE locus:sequence:b 600000");
  EXPECT_EQ(sequencer_->Next("b").value(), 11);
  server_->Ask(
      "HSET locus:sequence:c value 10 version 1700000000000000 until "
      "1700000000000000:1700000000000");
  EXPECT_EQ(sequencer_->Next("c").value(), 1) << "of this build, and old";
}

}  // namespace
}  // namespace locus
