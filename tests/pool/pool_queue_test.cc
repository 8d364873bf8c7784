// SPDX-License-Identifier: Apache-2.0
// Which caller gets which connection, with a clock and connections made up by the test.
#include "routing/pool/pool_queue.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::internal {

namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Connection = std::unique_ptr<int>;
using Queue = PoolQueue<Connection>;
using Answer = Queue::Answer;

const absl::Status kTooMany = absl::UnavailableError("Too many connections");

class PoolQueueTest : public ::testing::Test {
 protected:
  Queue MakeQueue(size_t max_connections) {
    return Queue(max_connections, milliseconds(400),
                 [this](Queue::Caller& caller) { woken_.push_back(&caller); });
  }
  Queue::Caller& Ask(Queue& queue) {
    Queue::Caller& caller = callers_.emplace_back();
    queue.Ask(caller, now_);
    return caller;
  }
  // Serves the first caller in line, or fills the pool.
  void Connect(Queue& queue) {
    ASSERT_TRUE(queue.BeginConnect(now_));
    EXPECT_EQ(queue.Connected(std::make_unique<int>(made_++), now_), nullptr);
  }
  void FailToConnect(Queue& queue) {
    ASSERT_TRUE(queue.BeginConnect(now_));
    queue.FailToConnect(now_, kTooMany, 0);
  }
  // A queue whose connections are all in use, by callers that it returns.
  std::vector<Queue::Caller*> Fill(Queue& queue, size_t count) {
    std::vector<Queue::Caller*> holders;
    for (size_t i = 0; i < count; ++i) {
      holders.push_back(&Ask(queue));
      Connect(queue);
      EXPECT_EQ(holders.back()->answer, Answer::kServed);
    }
    woken_.clear();
    return holders;
  }
  void Return(Queue& queue, Queue::Caller& caller) {
    EXPECT_EQ(queue.Return(std::move(caller.connection), now_), nullptr);
  }

  Breaker::TimePoint now_{};
  int made_ = 0;
  std::deque<Queue::Caller> callers_;  // their addresses stay
  std::vector<Queue::Caller*> woken_;
};

// This made a pool collapse: every connection that came back woke all callers that waited.
TEST_F(PoolQueueTest, ConnectionComesBack_WakesTheFirstInLineOnlyAndIsTheirs) {
  Queue queue = MakeQueue(2);
  auto holders = Fill(queue, 2);
  std::vector<Queue::Caller*> waiting;
  for (int i = 0; i < 1000; ++i) waiting.push_back(&Ask(queue));
  EXPECT_EQ(queue.waiting(), 1000u);
  for (size_t i = 0; i < waiting.size(); ++i) {
    const int number = *holders[i % 2]->connection;
    Return(queue, *holders[i % 2]);
    EXPECT_THAT(woken_, ElementsAre(waiting[i])) << "one, and in the order they came";
    ASSERT_EQ(waiting[i]->answer, Answer::kServed);
    EXPECT_EQ(*waiting[i]->connection, number);
    EXPECT_TRUE(waiting[i]->proven);
    EXPECT_EQ(queue.idle(), 0u) << "nothing is idle while callers wait";
    holders[i % 2] = waiting[i];
    woken_.clear();
  }
  for (Queue::Caller* holder : holders) Return(queue, *holder);
  EXPECT_EQ(queue.idle(), 2u);
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(queue.handed_out(), 1002u);
  EXPECT_EQ(queue.waits(), 1002u) << "the first two waited for theirs to be made";
}

TEST_F(PoolQueueTest, CallerLeavesAtItsDeadline_TheNextOneIsServed) {
  Queue queue = MakeQueue(1);
  auto holders = Fill(queue, 1);
  Queue::Caller& first = Ask(queue);
  Queue::Caller& second = Ask(queue);
  queue.Leave(first);
  Return(queue, *holders[0]);
  EXPECT_EQ(first.answer, Answer::kNone);
  EXPECT_EQ(second.answer, Answer::kServed);
}

TEST_F(PoolQueueTest, CallerRunsOutOfTimeBeforeItUsesTheConnection_TheNextOneGetsIt) {
  Queue queue = MakeQueue(1);
  auto holders = Fill(queue, 1);
  Queue::Caller& first = Ask(queue);
  Queue::Caller& second = Ask(queue);
  Return(queue, *holders[0]);
  ASSERT_EQ(first.answer, Answer::kServed);
  EXPECT_EQ(queue.PutBack(std::move(first.connection)), nullptr);
  EXPECT_EQ(second.answer, Answer::kServed);
  EXPECT_EQ(queue.handed_out(), 2u);
  EXPECT_EQ(queue.in_use(), 1u);
}

TEST_F(PoolQueueTest, ConnectionTurnsOutDead_ItsCallerKeepsItsTurn) {
  Queue queue = MakeQueue(1);
  auto holders = Fill(queue, 1);
  Queue::Caller& first = Ask(queue);
  Queue::Caller& second = Ask(queue);
  Return(queue, *holders[0]);
  ASSERT_EQ(first.answer, Answer::kServed);
  queue.Discard(absl::UnavailableError("closed by the server"));
  queue.Ask(first, now_, /*again=*/true);
  Connect(queue);
  EXPECT_EQ(first.answer, Answer::kServed);
  EXPECT_EQ(second.answer, Answer::kNone);
  EXPECT_EQ(queue.handed_out(), 2u) << "the dead one does not count";
  EXPECT_EQ(queue.reconnects(), 1u);
  EXPECT_EQ(queue.failures(), 1u);
}

TEST_F(PoolQueueTest, AdditionalConnectionFails_CallersShareTheOpenOnes) {
  Queue queue = MakeQueue(4);
  auto holders = Fill(queue, 2);
  Queue::Caller& first = Ask(queue);
  FailToConnect(queue);
  EXPECT_EQ(first.answer, Answer::kNone) << "not refused";
  EXPECT_EQ(queue.limit(), 2u);
  EXPECT_FALSE(queue.refusing());
  Queue::Caller& second = Ask(queue);
  EXPECT_EQ(second.answer, Answer::kNone) << "nor are later callers";
  EXPECT_FALSE(queue.BeginConnect(now_)) << "not before the pause has passed";
  EXPECT_EQ(queue.ConnectAt(now_), now_ + milliseconds(50));
  Return(queue, *holders[0]);
  EXPECT_EQ(first.answer, Answer::kServed);
  now_ += milliseconds(50);
  FailToConnect(queue);
  EXPECT_EQ(queue.ConnectAt(now_), now_ + milliseconds(100)) << "pauses grow";
  now_ += milliseconds(100);
  Connect(queue);
  EXPECT_EQ(second.answer, Answer::kServed);
  EXPECT_EQ(queue.limit(), 4u);
  EXPECT_EQ(queue.refusals(), 0u);
}

TEST_F(PoolQueueTest, NothingOpenAndConnectingFails_AllAreRefusedExceptOneProbeAPause) {
  Queue queue = MakeQueue(4);
  Queue::Caller& first = Ask(queue);
  Queue::Caller& second = Ask(queue);
  FailToConnect(queue);
  for (Queue::Caller* caller : {&first, &second, &Ask(queue)}) {
    EXPECT_EQ(caller->answer, Answer::kRefused);
    EXPECT_EQ(caller->error, kTooMany);
  }
  EXPECT_THAT(woken_, ElementsAre(&first, &second));
  EXPECT_TRUE(queue.refusing());
  EXPECT_EQ(queue.limit(), 4u);
  now_ += milliseconds(50);
  Queue::Caller& probe = Ask(queue);
  EXPECT_EQ(probe.answer, Answer::kNone);
  EXPECT_EQ(Ask(queue).answer, Answer::kRefused) << "one probe at a time";
  Connect(queue);
  EXPECT_EQ(probe.answer, Answer::kServed);
  EXPECT_EQ(Ask(queue).answer, Answer::kNone);
  EXPECT_EQ(queue.refusals(), 4u);
}

TEST_F(PoolQueueTest, LastOpenConnectionBreaksInThePause_WaitingCallersAreRefused) {
  Queue queue = MakeQueue(4);
  Fill(queue, 1);
  Queue::Caller& waiting = Ask(queue);
  FailToConnect(queue);
  EXPECT_EQ(waiting.answer, Answer::kNone);
  queue.Close(absl::UnavailableError("a connection in use broke"));
  EXPECT_EQ(waiting.answer, Answer::kRefused);
}

TEST_F(PoolQueueTest, LastOpenConnectionBreaksDuringAProbe_WaitingCallersAwaitItsOutcome) {
  Queue queue = MakeQueue(4);
  Fill(queue, 1);
  Queue::Caller& waiting = Ask(queue);
  FailToConnect(queue);
  now_ += milliseconds(50);
  ASSERT_TRUE(queue.BeginConnect(now_));
  queue.Close(absl::UnavailableError("a connection in use broke"));
  EXPECT_EQ(waiting.answer, Answer::kNone);
  EXPECT_EQ(queue.Connected(std::make_unique<int>(7), now_), nullptr);
  EXPECT_EQ(waiting.answer, Answer::kServed);
}

TEST_F(PoolQueueTest, ServerHangs_CallersAreRefusedUntilItAnswersAgain) {
  Queue queue = MakeQueue(3);
  auto holders = Fill(queue, 3);
  Return(queue, *holders[0]);
  Return(queue, *holders[1]);
  Queue::Caller& pings = Ask(queue);
  EXPECT_EQ(queue.Hang(now_, now_, kTooMany, 0).size(), 1u);
  queue.Discard(kTooMany);
  queue.Ask(pings, now_, /*again=*/true);
  EXPECT_EQ(pings.answer, Answer::kRefused) << "though one is in use: it hangs like the others";
  Return(queue, *holders[2]);  // its server answered
  EXPECT_EQ(Ask(queue).answer, Answer::kServed);
  EXPECT_EQ(Ask(queue).answer, Answer::kNone) << "waits for that one";
}

// A session asked long ago is found to hang, though the server answers on others meanwhile.
TEST_F(PoolQueueTest, SessionHangsButTheServerHasAnsweredSince_TheOthersContinue) {
  Queue queue = MakeQueue(3);
  auto holders = Fill(queue, 3);
  Return(queue, *holders[0]);
  const Breaker::TimePoint asked_at = now_ + milliseconds(1);
  now_ += milliseconds(500);
  Return(queue, *holders[1]);
  now_ += milliseconds(500);
  EXPECT_THAT(queue.Hang(asked_at, now_, kTooMany, 0), IsEmpty());
  queue.Discard(kTooMany);
  EXPECT_EQ(queue.idle(), 2u);
  EXPECT_FALSE(queue.refusing());
  EXPECT_EQ(Ask(queue).answer, Answer::kServed);

  EXPECT_EQ(queue.Hang(now_, now_, kTooMany, 0).size(), 1u) << "nothing came after that";
  queue.NoteAnswer(now_ + milliseconds(1));
  EXPECT_EQ(Ask(queue).answer, Answer::kNone) << "not refused: it answers on what is in use";
}

TEST_F(PoolQueueTest, Retired_NoCallerIsServedAndConnectionsAreClosedAsTheyComeBack) {
  Queue queue = MakeQueue(2);
  auto holders = Fill(queue, 2);
  Return(queue, *holders[0]);
  EXPECT_EQ(queue.Retire().size(), 1u);
  EXPECT_EQ(Ask(queue).answer, Answer::kRetired);
  EXPECT_NE(queue.Return(std::move(holders[1]->connection), now_), nullptr);
  EXPECT_EQ(queue.open(), 0u);

  Queue other = MakeQueue(2);
  Queue::Caller& waiting = Ask(other);
  ASSERT_TRUE(other.BeginConnect(now_));
  other.Retire();
  EXPECT_EQ(waiting.answer, Answer::kRetired);
  EXPECT_NE(other.Connected(std::make_unique<int>(1), now_), nullptr) << "no caller wants it now";
  EXPECT_EQ(other.open(), 0u);
}

TEST_F(PoolQueueTest, Expired_TheOldGoAndOfTheUnusedAllButTheLast) {
  Queue queue = MakeQueue(4);
  auto holders = Fill(queue, 4);
  for (Queue::Caller* holder : holders) Return(queue, *holder);
  auto numbers = [](const std::vector<Connection>& connections) {
    std::vector<int> all;
    for (const Connection& connection : connections) all.push_back(*connection);
    return all;
  };
  auto none = [](const Connection&) { return Queue::Age::kFresh; };
  EXPECT_THAT(queue.TakeExpired(1, none), IsEmpty());
  auto third_is_old = [](const Connection& connection) {
    return *connection == 2 ? Queue::Age::kTooOld : Queue::Age::kFresh;
  };
  EXPECT_THAT(numbers(queue.TakeExpired(4, third_is_old)), ElementsAre(2));
  auto all_unused = [](const Connection&) { return Queue::Age::kUnused; };
  EXPECT_THAT(numbers(queue.TakeExpired(1, all_unused)), ElementsAre(0, 1));
  EXPECT_EQ(queue.idle(), 1u);
}

// Against a naive account of the same events: no connection is lost or shared, the limit holds,
// callers are served in their order, and no caller waits while a connection is idle or may be made.
TEST_F(PoolQueueTest, RandomEvents_InvariantsHold) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::minstd_rand random(seed + 1);
    constexpr size_t kMax = 3;
    callers_.clear();
    Queue queue = MakeQueue(kMax);
    std::deque<Queue::Caller*> line;  // in the order in which they are to be served
    std::vector<Queue::Caller*> holders;
    bool connecting = false;
    auto settle = [&] {
      for (Queue::Caller* caller : std::exchange(woken_, {})) {
        ASSERT_EQ(caller, line.front());
        line.pop_front();
        if (caller->answer == Answer::kServed) holders.push_back(caller);
      }
    };
    for (int step = 0; step < 400; ++step) {
      now_ += milliseconds(random() % 20);
      switch (random() % 8) {
        case 0:
        case 1: {
          Queue::Caller& caller = Ask(queue);
          if (caller.answer == Answer::kServed) holders.push_back(&caller);
          if (caller.answer == Answer::kNone) line.push_back(&caller);
          break;
        }
        case 2:
        case 3:
          if (!holders.empty()) {
            std::swap(holders[random() % holders.size()], holders.back());
            Queue::Caller* holder = holders.back();
            holders.pop_back();
            Return(queue, *holder);
          }
          break;
        case 4:
          if (!holders.empty() && random() % 4 == 0) {
            holders.pop_back();
            queue.Close(kTooMany);
          }
          break;
        case 5:
          if (!line.empty() && random() % 4 == 0) {
            queue.Leave(*line.front());
            line.pop_front();
          }
          break;
        case 6:
          connecting = connecting || queue.BeginConnect(now_);
          break;
        case 7:
          if (connecting && random() % 3 == 0) queue.FailToConnect(now_, kTooMany, 0);
          if (connecting && queue.connecting())
            queue.Connected(std::make_unique<int>(made_++), now_);
          connecting = false;
          break;
      }
      settle();
      ASSERT_EQ(queue.waiting(), line.size());
      ASSERT_EQ(queue.in_use(), holders.size());
      ASSERT_LE(queue.open(), kMax);
      ASSERT_TRUE(line.empty() || queue.idle() == 0);
      ASSERT_TRUE(line.empty() || queue.in_use() > 0 || queue.connecting() ||
                  queue.ConnectAt(now_) == now_)
          << "waits for nothing";
    }
    // In the end, when the server lets callers in again, all callers are served.
    while (!line.empty()) {
      now_ += milliseconds(500);
      if (!connecting) connecting = queue.BeginConnect(now_);
      if (connecting) queue.Connected(std::make_unique<int>(made_++), now_);
      connecting = false;
      if (!holders.empty()) {
        Queue::Caller* holder = holders.back();
        holders.pop_back();
        Return(queue, *holder);
      }
      settle();
    }
  }
}

}  // namespace
}  // namespace locus::internal
