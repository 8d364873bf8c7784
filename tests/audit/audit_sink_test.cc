// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/audit.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;
using nlohmann::json;

// The rows that a writer got, and its answers; outlives the sinks of a test.
class Place {
 public:
  absl::Status Take(std::string_view rows) {
    MutexLock lock(mutex_);
    ++calls_;
    changed_.NotifyAll();
    while (stalled_) changed_.Wait(mutex_);
    if (!answer_.ok()) return answer_;
    std::vector<json> batch;
    for (size_t begin = 0; begin < rows.size();) {
      const size_t end = rows.find('\n', begin);
      batch.push_back(json::parse(rows.substr(begin, end - begin)));
      begin = end + 1;
    }
    batches_.push_back(batch.size());
    for (json& row : batch) rows_.push_back(std::move(row));
    changed_.NotifyAll();
    return absl::OkStatus();
  }
  void Answer(absl::Status status) {
    MutexLock lock(mutex_);
    answer_ = std::move(status);
  }
  void Stall(bool stalled) {
    MutexLock lock(mutex_);
    stalled_ = stalled;
    changed_.NotifyAll();
  }
  // False: not within 20 s.
  bool WaitForCalls(int calls) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    MutexLock lock(mutex_);
    while (calls_ < calls) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      changed_.WaitUntil(mutex_, deadline);
    }
    return true;
  }
  std::vector<json> rows() {
    MutexLock lock(mutex_);
    return rows_;
  }
  std::vector<size_t> batches() {
    MutexLock lock(mutex_);
    return batches_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  absl::Status answer_ ABSL_GUARDED_BY(mutex_);
  bool stalled_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<json> rows_ ABSL_GUARDED_BY(mutex_);
  std::vector<size_t> batches_ ABSL_GUARDED_BY(mutex_);
};

class PlaceWriter : public AuditWriter {
 public:
  explicit PlaceWriter(Place& place) : place_(place) {}
  absl::Status Write(std::string_view rows) override { return place_.Take(rows); }

 private:
  Place& place_;
};

class AuditSinkTest : public ::testing::Test {
 protected:
  AuditSinkTest() {
    options_.batch = 10;
    options_.longest_wait = absl::Hours(1);  // tests flush
    options_.linger = absl::ZeroDuration();
    options_.process = "test/1";
  }
  std::unique_ptr<AuditSink> Open() {
    auto sink = AuditSink::Open(std::make_unique<PlaceWriter>(place_), options_);
    EXPECT_TRUE(sink.ok()) << sink.status();
    return sink.ok() ? *std::move(sink) : nullptr;
  }
  static AuditRecord Numbered(uint64_t worker) {
    AuditRecord record;
    record.worker = worker;
    return record;
  }
  std::vector<uint64_t> Workers() {
    std::vector<uint64_t> workers;
    for (const json& row : place_.rows()) {
      if (row["kind"] != "gap") workers.push_back(row["worker"].get<uint64_t>());
    }
    return workers;
  }
  uint64_t Gaps() {
    uint64_t lost = 0;
    for (const json& row : place_.rows()) {
      if (row["kind"] == "gap") lost += row["first"].get<uint64_t>();
    }
    return lost;
  }

  TemporaryDirectory directory_;
  Place place_;
  AuditSinkOptions options_;
};

TEST_F(AuditSinkTest, Record_BecomesARowWithAllItsMembers) {
  auto sink = Open();
  AuditRecord record;
  record.kind = AuditRecord::Kind::kSegment;
  record.time = absl::FromUnixMicros(1'795'424'400'000'123);
  record.space = "orders";
  record.place = "a \"place\"\n\xff";
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  record.detail = std::string(2000, 'x');
  record.worker = 17;
  record.token = 18;
  record.floor = absl::FromUnixMillis(19);
  record.ceiling = absl::FromUnixMillis(20);
  record.section = 21;
  record.first = 22;
  record.end = UINT64_MAX;
  record.nonce = "n0nce";
  record.holder = std::string(2000, 'h');
  sink->Record(record);
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  ASSERT_EQ(place_.rows().size(), 1u);
  json row = place_.rows()[0];
  EXPECT_EQ(row["id"].get<std::string>().size(), 36u);
  row.erase("id");
  EXPECT_EQ(row["detail"].get<std::string>().size(), 1024u);
  row.erase("detail");
  EXPECT_EQ(row["holder"].get<std::string>().size(), 1024u);
  row.erase("holder");
  EXPECT_EQ(row, json::parse(R"({"day":"2026-11-23","time_us":1795424400000123,
      "kind":"segment","space":"orders","place":"a \"place\"\n\ufffd","process":"test/1",
      "trace_id":"4bf92f3577b34da6a3ce929d0e0e4736","worker":17,"token":18,"floor_ms":19,
      "ceiling_ms":20,"section":21,"first":22,"end":18446744073709551615,"nonce":"n0nce"})"));
}

TEST_F(AuditSinkTest, IdOfTheCaller_IsKept) {
  auto sink = Open();
  AuditRecord record = Numbered(1);
  record.id = "orders/17/0";
  sink->Record(record);
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(place_.rows().at(0)["id"], "orders/17/0");
}

TEST_F(AuditSinkTest, FullBatch_IsWrittenAtOnce_AndTheRestAfterTheLongestWait) {
  auto sink = Open();
  for (uint64_t i = 0; i < 10; ++i) sink->Record(Numbered(i));
  EXPECT_TRUE(place_.WaitForCalls(1));
  sink.reset();
  EXPECT_EQ(place_.batches()[0], 10u);
  options_.longest_wait = absl::Milliseconds(1);
  sink = Open();
  sink->Record(Numbered(10));
  EXPECT_TRUE(place_.WaitForCalls(2));
}

TEST_F(AuditSinkTest, StalledWriter_DoesNotStallCallers_AndTheOldestAreCounted) {
  options_.queue = 50;
  auto sink = Open();
  place_.Stall(true);
  for (uint64_t i = 0; i < 10; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(place_.WaitForCalls(1));  // that batch is in the writer's hands
  for (uint64_t i = 10; i < 110; ++i) sink->Record(Numbered(i));
  EXPECT_EQ(sink->Stats().dropped, 50u);
  place_.Stall(false);
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  const std::vector<uint64_t> workers = Workers();
  ASSERT_EQ(workers.size(), 60u);
  for (uint64_t i = 0; i < 60; ++i) EXPECT_EQ(workers[i], i < 10 ? i : i + 50);
  EXPECT_EQ(Gaps(), 50u);
  EXPECT_EQ(sink->Stats().written, 61u) << "the gap's record, too";
}

TEST_F(AuditSinkTest, WriterAway_WithoutADirectory_IsTriedAgainInOrder) {
  auto sink = Open();
  place_.Answer(absl::UnavailableError("away"));
  for (uint64_t i = 0; i < 25; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(place_.WaitForCalls(3));
  EXPECT_EQ(sink->Flush(absl::Milliseconds(1)).code(), absl::StatusCode::kDeadlineExceeded);
  place_.Answer(absl::OkStatus());
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  const std::vector<uint64_t> workers = Workers();
  ASSERT_EQ(workers.size(), 25u);
  EXPECT_TRUE(std::is_sorted(workers.begin(), workers.end()));
  EXPECT_EQ(sink->Stats().dropped, 0u);
}

TEST_F(AuditSinkTest, WriterAway_WithADirectory_IsWrittenLaterInOrder_AlsoByTheNextSink) {
  options_.spill_directory = directory_ / "spill";
  place_.Answer(absl::UnavailableError("away"));
  auto sink = Open();
  for (uint64_t i = 0; i < 35; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(place_.WaitForCalls(2));
  sink.reset();
  EXPECT_TRUE(Workers().empty());
  place_.Answer(absl::OkStatus());
  sink = Open();
  for (uint64_t i = 35; i < 60; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 60; ++i) expected.push_back(i);
  EXPECT_EQ(Workers(), expected);
  std::set<std::string> ids;
  for (const json& row : place_.rows()) ids.insert(row["id"].get<std::string>());
  EXPECT_EQ(ids.size(), 60u);
  EXPECT_EQ(sink->Stats().spilled, 0u);
}

TEST_F(AuditSinkTest, RowsThatTheWriterRefuses_AreCountedAndHoldNothingUp) {
  auto sink = Open();
  place_.Answer(absl::InvalidArgumentError("no such column"));
  for (uint64_t i = 0; i < 10; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(sink->Stats().dropped, 10u);
  place_.Answer(absl::OkStatus());
  sink->Record(Numbered(10));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(Workers(), (std::vector<uint64_t>{10}));
  EXPECT_EQ(Gaps(), 10u);
}

TEST_F(AuditSinkTest, GapsThatAreLostThemselves_AreReportedInFull) {
  auto sink = Open();
  place_.Answer(absl::InvalidArgumentError("no such column"));
  for (uint64_t i = 0; i < 40; ++i) {
    sink->Record(Numbered(i));
    ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  }
  EXPECT_EQ(sink->Stats().dropped, 40u);
  place_.Answer(absl::OkStatus());
  sink->Record(Numbered(40));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(Gaps(), 40u);
}

TEST_F(AuditSinkTest, LossBeforeTheEnd_LeavesItsGap) {
  options_.linger = absl::Seconds(20);
  auto sink = Open();
  place_.Answer(absl::InvalidArgumentError("no such column"));
  for (uint64_t i = 0; i < 10; ++i) sink->Record(Numbered(i));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  place_.Answer(absl::OkStatus());
  sink.reset();
  EXPECT_EQ(Gaps(), 10u);
}

TEST_F(AuditSinkTest, EndWhileAllIsRefused_ComesAtOnce) {
  options_.linger = absl::Minutes(10);
  auto sink = Open();
  place_.Answer(absl::InvalidArgumentError("no such column"));
  for (uint64_t i = 0; i < 10; ++i) sink->Record(Numbered(i));
  sink.reset();
  EXPECT_EQ(Gaps(), 0u);
}

TEST_F(AuditSinkTest, SpillDirectoryFullAtTheEnd_LeavesTheGapInIt) {
  options_.spill_directory = directory_ / "spill";
  options_.spill_bytes = 1 << 20;
  options_.queue = 20'000;
  options_.batch = 1000;
  place_.Answer(absl::UnavailableError("away"));
  auto sink = Open();
  for (uint64_t i = 0; i < 10'000; ++i) sink->Record(Numbered(i));
  sink.reset();
  place_.Answer(absl::OkStatus());
  sink = Open();
  sink->Record(Numbered(10'000));
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(Workers().size() + Gaps(), 10'001u);
  EXPECT_GT(Gaps(), 0u);
}

TEST_F(AuditSinkTest, ManyThreads_LoseNothingAndKeepEachThreadsOrder) {
  options_.batch = 100;
  auto sink = Open();
  constexpr uint64_t kThreads = 4, kEach = 5000;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&sink, thread] {
      for (uint64_t i = 0; i < kEach; ++i) {
        AuditRecord record = Numbered(i);
        record.section = static_cast<uint32_t>(thread);
        sink->Record(std::move(record));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(sink->Flush(absl::Seconds(60)).ok());
  uint64_t next[kThreads] = {};
  for (const json& row : place_.rows()) {
    EXPECT_EQ(row["worker"], next[row["section"].get<size_t>()]++);
  }
  for (uint64_t count : next) EXPECT_EQ(count, kEach);
}

TEST_F(AuditSinkTest, ForkedChild_RecordsNothingAndEnds) {
  auto sink = Open();
  sink->Record(Numbered(1));
  const pid_t child = fork();
  if (child == 0) {
    sink->Record(Numbered(2));
    const bool refused = !sink->Flush(absl::Seconds(1)).ok();
    sink.reset();
    _exit(refused ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  ASSERT_TRUE(sink->Flush(absl::Minutes(2)).ok());
  EXPECT_EQ(Workers(), (std::vector<uint64_t>{1}));
}

TEST_F(AuditSinkTest, BadOptions_AreNamed) {
  options_.queue = 5;
  auto sink = AuditSink::Open(std::make_unique<PlaceWriter>(place_), options_);
  EXPECT_EQ(sink.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(sink.status().message()), ::testing::HasSubstr("queue is 5"));
}

}  // namespace
}  // namespace locus
