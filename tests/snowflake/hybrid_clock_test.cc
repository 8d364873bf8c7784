// SPDX-License-Identifier: Apache-2.0
// hybrid_clock_test: a failing property prints its seed.
#include "locus/hybrid_clock.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/testing/manual_clock.h"

namespace locus {
namespace {

using fakes::ManualClock;
using ::testing::HasSubstr;

constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr int64_t kStart = 1767225600000;

HybridTime At(int64_t millis, uint16_t counter) {
  return HybridTime::FromUint64(static_cast<uint64_t>(millis) << 16 | counter);
}

class HybridClockTest : public ::testing::Test {
 protected:
  HybridClock Make(absl::Duration max_drift = absl::Milliseconds(500)) {
    return HybridClock::Create({.max_drift = max_drift, .clock = &clock_}).value();
  }
  ManualClock clock_{absl::FromUnixMillis(kStart)};
};

TEST_F(HybridClockTest, Time_IsMillisecondsAndCounter) {
  HybridTime time = At(kStart, 7);
  EXPECT_EQ(time.unix_millis(), kStart);
  EXPECT_EQ(time.counter(), 7);
  EXPECT_EQ(time.time(), absl::FromUnixMillis(kStart));
  EXPECT_LT(HybridTime(), time);
  EXPECT_LT(time, At(kStart, 8));
  EXPECT_LT(At(kStart, 65535), At(kStart + 1, 0));
  std::ostringstream out;
  out << time;
  EXPECT_EQ(out.str(), "1767225600000.7");
}

TEST_F(HybridClockTest, Now_FollowsTheClockAndCountsWithinAMillisecond) {
  HybridClock hybrid = Make();
  EXPECT_EQ(hybrid.last(), HybridTime());
  EXPECT_EQ(hybrid.Now().value(), At(kStart, 0));
  EXPECT_EQ(hybrid.Now().value(), At(kStart, 1));
  clock_.Advance(3 * kMs);
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 3, 0));
  clock_.Jump(-2 * kMs);
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 3, 1)) << "never back";
  EXPECT_EQ(hybrid.last(), At(kStart + 3, 1));
}

TEST_F(HybridClockTest, Observe_IsLaterThanBoth) {
  HybridClock hybrid = Make();
  EXPECT_EQ(hybrid.Observe(At(kStart - 5, 9)).value(), At(kStart, 0)) << "the clock is later";
  EXPECT_EQ(hybrid.Observe(At(kStart + 5, 9)).value(), At(kStart + 5, 10)) << "the remote is";
  EXPECT_EQ(hybrid.Observe(At(kStart + 5, 2)).value(), At(kStart + 5, 11)) << "the last one is";
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 5, 12));
  clock_.Advance(6 * kMs);
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 6, 0));
}

TEST_F(HybridClockTest, FullCounter_CarriesIntoTheMilliseconds) {
  HybridClock hybrid = Make();
  EXPECT_EQ(hybrid.Observe(At(kStart, 65535)).value(), At(kStart + 1, 0));
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 1, 1));
}

TEST_F(HybridClockTest, RemotePastTheDrift_IsRefusedAndForgotten) {
  HybridClock hybrid = Make();
  EXPECT_EQ(hybrid.Observe(At(kStart + 500, 0)).value(), At(kStart + 500, 1)) << "just within";
  HybridTime before = hybrid.last();
  absl::Status status = hybrid.Observe(At(kStart + 501, 0)).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ(status.message(),
            "the remote time 2026-01-01T00:00:00.501Z+0 is 501 ms ahead of the clock, more than "
            "max_drift 500ms");
  EXPECT_EQ(hybrid.last(), before);
  EXPECT_EQ(hybrid.Now().value(), At(kStart + 500, 2));
  EXPECT_TRUE(absl::IsFailedPrecondition(Make().Observe(At(kStart + 500, 65535)).status()))
      << "the counter would carry past it";
  clock_.Advance(kMs);
  EXPECT_TRUE(hybrid.Observe(At(kStart + 501, 0)).ok()) << "time has passed";
}

TEST_F(HybridClockTest, OwnClockSetBackPastTheDrift_IsRefusedUntilItComesRight) {
  HybridClock hybrid = Make();
  HybridTime before = hybrid.Now().value();
  clock_.Jump(-501 * kMs);
  absl::Status status = hybrid.Now().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("the last time given 2026-01-01T00:00:00.000Z+0 is 501"));
  clock_.Advance(kMs);
  EXPECT_GT(hybrid.Now().value(), before);
}

TEST_F(HybridClockTest, HighestRemote_IsAnError) {
  HybridClock hybrid = Make();
  for (uint64_t high : {~uint64_t{0}, ~uint64_t{0} - 1}) {
    absl::Status status = hybrid.Observe(HybridTime::FromUint64(high)).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  }
  EXPECT_EQ(hybrid.Now().value(), At(kStart, 0));
}

TEST_F(HybridClockTest, Create_RefusesBadOptions) {
  EXPECT_TRUE(absl::IsInvalidArgument(HybridClock::Create({.clock = nullptr}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(HybridClock::Create({.max_drift = -kMs}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(
      HybridClock::Create({.max_drift = absl::InfiniteDuration()}).status()));
  HybridClock strict = Make(absl::ZeroDuration());
  EXPECT_TRUE(strict.Now().ok());
  EXPECT_TRUE(strict.Now().ok());
}

// Nodes with clocks that are apart, drift and jump; messages that are delayed and reordered.
class Cluster {
 public:
  explicit Cluster(uint64_t seed) : random_(seed) {
    for (size_t i = 0; i < kNodes; ++i) {
      nodes_.push_back(std::make_unique<Node>());
      nodes_.back()->clock.Jump(RandomOffset());
    }
  }

  void Step() {
    Node& node = *nodes_[Below(kNodes)];
    switch (Below(6)) {
      case 0:
        for (auto& each : nodes_) each->clock.Advance(absl::Microseconds(Below(3000)));
        return;
      case 1:
        if (Below(20) == 0) node.clock.Jump(RandomOffset() / 4);
        return;
      case 2:
        if (!in_flight_.empty()) Receive(node);
        return;
      case 3:
        if (Event sent; Tell(node, node.hybrid.Now(), nullptr, sent)) in_flight_.push_back(sent);
        return;
      default:
        Event event;
        Tell(node, node.hybrid.Now(), nullptr, event);
    }
  }

  size_t told() const { return told_; }
  size_t refused() const { return refused_; }
  size_t received() const { return received_; }

 private:
  static constexpr size_t kNodes = 4;
  static constexpr absl::Duration kDrift = absl::Milliseconds(30);

  // The earlier events: for each node, how many of its events.
  using Past = std::vector<uint64_t>;
  struct Event {
    HybridTime time;
    Past past = Past(kNodes);
  };
  struct Node {
    ManualClock clock{absl::FromUnixMillis(kStart)};
    HybridClock hybrid = HybridClock::Create({.max_drift = kDrift, .clock = &clock}).value();
    Past past = Past(kNodes);
    std::vector<Event> events;
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  absl::Duration RandomOffset() { return absl::Milliseconds(static_cast<int64_t>(Below(60)) - 30); }

  void Receive(Node& node) {
    size_t i = Below(in_flight_.size());
    Event message = in_flight_[i];
    if (Below(3) > 0) in_flight_.erase(in_flight_.begin() + static_cast<ptrdiff_t>(i));
    Event event;
    received_ += Tell(node, node.hybrid.Observe(message.time), &message, event);
  }

  // False: the clock refused, rightly; there was no event.
  bool Tell(Node& node, const absl::StatusOr<HybridTime>& time, const Event* cause, Event& event) {
    int64_t clock = absl::ToUnixMillis(node.clock.Now());
    HybridTime known = node.events.empty() ? HybridTime() : node.events.back().time;
    if (cause != nullptr) known = std::max(known, cause->time);
    // The twin: the rule as the paper states it.
    HybridTime expected = std::max(HybridTime::FromUint64(known.value() + 1), At(clock, 0));
    if (expected.unix_millis() - clock > absl::ToInt64Milliseconds(kDrift)) {
      ++refused_;
      EXPECT_TRUE(absl::IsFailedPrecondition(time.status()));
      return false;
    }
    EXPECT_TRUE(time.ok()) << time.status();
    if (!time.ok()) return false;
    EXPECT_EQ(*time, expected);
    for (size_t i = 0; cause != nullptr && i < kNodes; ++i) {
      node.past[i] = std::max(node.past[i], cause->past[i]);
    }
    // Every earlier event has an earlier time: checking the last one of each node suffices.
    for (size_t i = 0; i < kNodes; ++i) {
      if (node.past[i] == 0) continue;
      EXPECT_LT(nodes_[i]->events[node.past[i] - 1].time, *time);
    }
    size_t self = 0;
    while (nodes_[self].get() != &node) ++self;
    node.past[self] = node.events.size() + 1;
    event = {*time, node.past};
    node.events.push_back(event);
    ++told_;
    return true;
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Event> in_flight_;
  size_t told_ = 0, refused_ = 0, received_ = 0;
};

TEST(HybridClockPropertyTest, RandomMessages_EffectsAreLaterThanTheirCauses) {
  size_t told = 0, refused = 0, received = 0;
  for (uint64_t seed = 1; seed <= 300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Cluster cluster(seed);
    for (int step = 0; step < 500; ++step) cluster.Step();
    told += cluster.told();
    refused += cluster.refused();
    received += cluster.received();
  }
  EXPECT_GT(told, 30000u);
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(received, 3000u);
}

TEST(HybridClockThreadTest, MomentsRiseAcrossThreads) {
  HybridClock first = HybridClock::Create({}).value();
  HybridClock second = HybridClock::Create({.max_drift = absl::Seconds(5)}).value();
  constexpr size_t kThreads = 4;
  std::vector<std::vector<HybridTime>> got(kThreads);
  std::atomic<uint64_t> mailbox{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        // A moment that another thread got before is earlier than the one that this thread gets
        // now.
        HybridTime seen = HybridTime::FromUint64(mailbox.load());
        HybridTime time =
            i % 3 == 0 ? first.Observe(second.Now().value()).value() : first.Now().value();
        ASSERT_LT(seen, time);
        mailbox.store(time.value());
        got[t].push_back(time);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<HybridTime> all;
  for (const auto& mine : got) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), kThreads * 5000);
  EXPECT_EQ(*all.rbegin(), first.last());
}

}  // namespace
}  // namespace locus
