// SPDX-License-Identifier: Apache-2.0
// Two shards that are compared while both are written, and kept equal by streams that lag.
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "migration/mysql/marker_tables.h"
#include "migration/verify/marker_pass.h"
#include "tests/support/sanitizers.h"
#include "tests/verify/verify_fixture.h"

namespace locus {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stream each way, from log to log, that rests after each time that it came to the end.
class LaggingStreams {
 public:
  using Follow = std::function<absl::Status(size_t recipient)>;
  LaggingStreams(Follow follow, std::chrono::milliseconds lag) : follow_(follow), lag_(lag) {
    for (size_t recipient : {0, 1}) {
      threads_[recipient] = std::thread([this, recipient] { Run(recipient); });
    }
  }
  ~LaggingStreams() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  // Each comes to the end of the log as it is now, or beyond.
  absl::Status Pass(mysql::TimePoint deadline) {
    std::unique_lock lock(mutex_);
    const uint64_t mine = ++asked_;
    const bool passed = changed_.wait_until(
        lock, deadline, [&] { return !failed_.ok() || (done_[0] >= mine && done_[1] >= mine); });
    if (!failed_.ok()) return failed_;
    return passed ? absl::OkStatus() : absl::DeadlineExceededError("a stream lags");
  }

  // It comes to the end of the log once more: for writers that are faster than the stream.
  void WaitForRound(size_t recipient) {
    std::unique_lock lock(mutex_);
    const uint64_t before = rounds_[recipient];
    changed_.wait(lock, [&] { return !failed_.ok() || rounds_[recipient] > before; });
  }

 private:
  void Run(size_t recipient) {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      const uint64_t asked = asked_;
      lock.unlock();
      const absl::Status status = follow_(recipient);
      lock.lock();
      failed_.Update(status);
      done_[recipient] = asked;
      ++rounds_[recipient];
      changed_.notify_all();
      changed_.wait_for(lock, lag_, [&] { return stop_; });
    }
  }

  const Follow follow_;
  const std::chrono::milliseconds lag_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t asked_ = 0;
  uint64_t done_[2] = {0, 0};
  uint64_t rounds_[2] = {0, 0};
  absl::Status failed_;
  bool stop_ = false;
  std::thread threads_[2];
};

class VerifyUnderTrafficTest : public VerifyTest {
 protected:
  // Orders of gene 5 are written on the source, those of gene 6 on the target.
  static std::string StatementFor(size_t server, std::mt19937_64& random) {
    std::string statement = RandomStatement(random);
    for (uint64_t i = 0; server == 1 && i < 20; ++i) {
      statement = absl::StrReplaceAll(statement, {{absl::StrCat((uint64_t{5} << 47) + i),
                                                   absl::StrCat((uint64_t{6} << 47) + i)}});
    }
    return statement;
  }
};

TEST_F(VerifyUnderTrafficTest, LaggingRows_AreNoDifferenceButRealOnesAreFound) {
  // No client writes these; the target's are changed behind the streams' backs.
  const std::string planted =
      absl::StrCat("INSERT INTO items (order_id, line, note, version) VALUES (",
                   7 + (uint64_t{7} << 47), ", 'a', 'n', 3), (", 8 + (uint64_t{7} << 47),
                   ", 'a', 'n', 3), (", 9 + (uint64_t{7} << 47), ", 'a', 'n', 3)");
  for (size_t side : {0, 1}) Write(side, "SET sql_log_bin = 0; " + planted);
  for (size_t server : {0, 1}) {
    const MysqlOptions options = As(server, "mover");
    std::string place;
    auto handle = mysql::LogInToAny(options, options.password.c_str(), place);
    ASSERT_TRUE(handle.ok()) << handle.status();
    const absl::Status taken = mysql::TakeOverRun(handle->get(), place, "first", 1);
    ASSERT_TRUE(taken.ok()) << taken;
  }
  std::unique_ptr<mysql::ChangeApplier> appliers[] = {OpenTo(0), OpenTo(1)};
  auto by_markers = mysql::MarkerPass::Open(As(0, "mover"), As(1, "mover"), "first");
  ASSERT_TRUE(by_markers.ok()) << by_markers.status();
  LaggingStreams streams(
      [&](size_t recipient) { return Follow(*appliers[recipient], 1 - recipient); },
      std::chrono::milliseconds(30));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> writes = 0;
  std::vector<std::thread> writers;
  for (size_t server : {0, 1}) {
    writers.emplace_back([&, server] {
      auto shop = SqlSession::Open(As(server, "locus")).value();
      std::mt19937_64 random(server);
      while (!stop) {
        const std::string statement = StatementFor(server, random);
        auto done = shop->Run(statement);
        ASSERT_TRUE(done.ok()) << statement << done.status();
        if (++writes % 8 == 0) streams.WaitForRound(1 - server);
      }
    });
  }
  auto options = Comparing(table_, 10);
  options.most_looks = 1000;
  uint64_t rechecked = 0;
  const int rounds = kUnderAsan || kUnderTsan ? 4 : 8;
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    options.most_waiting = round % 2 == 0 ? 1 : 50;
    // By the markers that a move has, or by what this test knows of its streams.
    options.pass = [&](mysql::TimePoint deadline) {
      return round % 4 < 2 ? (**by_markers)(deadline) : streams.Pass(deadline);
    };
    auto verifier = Verified(options);
    rechecked += verifier->counts().rechecked;
    EXPECT_EQ(verifier->counts().still_changing, 0u);
    if (round < rounds / 2) {
      EXPECT_THAT(Lines(*verifier), IsEmpty()) << "round " << round;
    } else {
      EXPECT_THAT(Keys(*verifier), ElementsAre(absl::StrCat(7 + (uint64_t{7} << 47), ",x61"),
                                               absl::StrCat(9 + (uint64_t{7} << 47), ",x61")))
          << "round " << round;
    }
    if (round + 1 == rounds / 2) {
      Write(1, absl::StrCat("SET sql_log_bin = 0; UPDATE items SET note = 'N' WHERE order_id = ",
                            7 + (uint64_t{7} << 47),
                            "; DELETE FROM items WHERE order_id = ", 9 + (uint64_t{7} << 47)));
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(rechecked, 0u) << "the streams were never behind: nothing was tested";
  std::cout << writes << " writes, " << rechecked << " rows rechecked\n";
}

// By a client that writes as fast as it can. It waits while the row is compared.
TEST_F(VerifyUnderTrafficTest, RowThatNeverRests_IsComparedWhileItIsKept) {
  const std::string one = Number(IdOf(5, 1)), two = Number(IdOf(5, 2));
  WriteBoth(absl::StrCat("INSERT INTO items (order_id, line, version) VALUES (", one,
                         ", 'a', 3), (", two, ", 'a', 3)"));
  Write(1, "UPDATE items SET note = 'other', version = 1000000 WHERE order_id = " + two);
  std::atomic<bool> stop = false;
  std::thread client([&] {
    auto session = SqlSession::Open(As(0, "mover")).value();
    for (int version = 4; !stop; ++version) {
      const auto done = session->Run(absl::StrCat("UPDATE items SET version = ", version));
      EXPECT_TRUE(done.ok()) << done.status();
    }
  });
  auto options = Comparing(table_);
  options.most_looks = 2;
  options.keep_time = absl::Milliseconds(500);
  const std::string version = "SELECT version FROM locus_shop.items WHERE order_id = " + one;
  // A stream for the first of the rows.
  options.pass = [&](mysql::TimePoint) {
    Write(1, absl::StrCat("UPDATE items SET version = ", servers_[0]->Value(version),
                          " WHERE order_id = ", one));
    return absl::OkStatus();
  };
  auto verifier = Verified(options);
  stop = true;
  client.join();
  EXPECT_EQ(verifier->counts().still_changing, 0u);
  EXPECT_EQ(verifier->counts().differences, 1u);
  EXPECT_THAT(Keys(*verifier), ElementsAre(HasSubstr(two)));
}

// As a process that is stopped while it keeps a row, or whose streams' shard hangs. An operator's
// own bound of idle transactions is longer.
TEST_F(VerifyUnderTrafficTest, StoppedWhileItKeepsARow_ClientsWaitForSecondsAtMost) {
  const std::string one = Number(IdOf(5, 1));
  WriteBoth(absl::StrCat("INSERT INTO items (order_id, line, version) VALUES (", one, ", 'a', 3)"));
  Write(1, "UPDATE items SET version = 2");
  servers_[0]->Sql(
      "SET GLOBAL idle_transaction_timeout = 60; SET GLOBAL idle_readonly_transaction_timeout = "
      "60");
  auto client = SqlSession::Open(As(0, "mover")).value();
  ASSERT_TRUE(client->Run("SET innodb_lock_wait_timeout = 20").ok());
  auto options = Comparing(table_);
  options.most_looks = 1;
  options.keep_time = absl::Milliseconds(150);
  int passes = 0;
  std::chrono::duration<double> waited{0};
  options.pass = [&](mysql::TimePoint) {
    if (passes == 0) Write(1, "UPDATE items SET version = 3");
    const auto begun = std::chrono::steady_clock::now();
    const auto done = client->Run("UPDATE items SET version = version + 1");
    EXPECT_TRUE(done.ok()) << done.status();
    if (++passes > 1) waited = std::chrono::steady_clock::now() - begun;
    return absl::OkStatus();
  };
  auto verifier = MustOpen(options);
  const auto slice = verifier->VerifySlice();
  servers_[0]->Sql(
      "SET GLOBAL idle_transaction_timeout = 0; SET GLOBAL idle_readonly_transaction_timeout = 0");
  EXPECT_TRUE(absl::IsUnavailable(slice.status())) << slice.status();
  EXPECT_EQ(passes, 2);
  EXPECT_GT(waited.count(), 1);
  EXPECT_LT(waited.count(), 4);
}

}  // namespace
}  // namespace locus
