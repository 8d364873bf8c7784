// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/worker_blocks.h"

#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::cluster_machine {
namespace {

absl::Time At(int64_t ms) { return absl::FromUnixMillis(ms); }

// The records of a space and their blocks, beside worker::FindFree, which looks at each of them.
class Twins {
 public:
  void Store(uint64_t worker, absl::Time ceiling, bool held) {
    const auto found = records_.find(worker);
    WorkerRecord record;
    record.worker = worker;
    record.token = 1;
    record.ceiling = ceiling;
    if (held) record.nonce = "n";
    blocks_.Changed(found == records_.end() ? nullptr : &found->second, record);
    records_[worker] = record;
  }
  const WorkerRecord* Find(uint64_t worker) const {
    const auto found = records_.find(worker);
    return found == records_.end() ? nullptr : &found->second;
  }

  // The result of an acquire: the worker, or the status.
  std::string Naive(const WorkerAcquire& acquire, absl::Time now) const {
    const auto found = worker::FindFree(SpaceName(), acquire, now, scan_);
    return found.ok() ? absl::StrCat(found->worker) : found.status().ToString();
  }
  std::string Ours(const WorkerAcquire& acquire, absl::Time now) {
    reads_ = 0;
    const WorkerRange range = acquire.range;
    auto free = blocks_.FirstFree(acquire.start, range.last, now, scan_);
    if (!free && acquire.start > range.first) {
      free = blocks_.FirstFree(range.first, acquire.start - 1, now, scan_);
    }
    if (free) return absl::StrCat(*free);
    const WorkerBlocks::Taken taken = blocks_.In(range.first, range.last, scan_);
    return worker::AllTaken(SpaceName(), range, taken.held, taken.next_free, now).ToString();
  }
  // Records that the last call of Ours read.
  uint64_t reads() const { return reads_; }

 private:
  std::map<uint64_t, WorkerRecord> records_;
  WorkerBlocks blocks_;
  mutable uint64_t reads_ = 0;
  const worker::Scan scan_ = [this](uint64_t first, uint64_t last, const worker::Visit& visit) {
    for (auto at = records_.lower_bound(first); at != records_.end() && at->first <= last; ++at) {
      ++reads_;
      if (!visit(at->second)) break;
    }
    return absl::OkStatus();
  };
};

WorkerAcquire AcquireOf(WorkerRange range, uint64_t start) {
  WorkerAcquire acquire;
  acquire.range = range;
  acquire.start = start;
  acquire.nonce = "another";
  return acquire;
}

TEST(WorkerBlocksTest, RandomHistories_AnswerAsAScanDoes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int history = 0; history < 60; ++history) {
    Twins twins;
    const uint64_t most = 200 + random() % 1500;
    int64_t now = 1'000'000;
    // From nearly empty to full.
    const uint64_t unused = history % 3 == 0 ? 0 : random() % most;
    for (uint64_t worker = 0; worker < most - unused; ++worker) {
      twins.Store(worker, At(now + static_cast<int64_t>(random() % 1000)), random() % 8 != 0);
    }
    for (int step = 0; step < 200; ++step) {
      now += static_cast<int64_t>(random() % 8);
      const uint64_t worker = random() % most;
      const WorkerRecord* record = twins.Find(worker);
      switch (random() % 4) {
        case 0:  // granted or renewed
          twins.Store(worker, At(now + static_cast<int64_t>(500 + random() % 600)), true);
          break;
        case 1:  // released, or ended
          if (record != nullptr) {
            twins.Store(worker, std::min(record->ceiling, At(now + 3)), false);
          }
          break;
        default:  // the one that ends first is renewed
          if (record != nullptr && !record->nonce.empty()) {
            twins.Store(worker, record->ceiling + absl::Milliseconds(100), true);
          }
      }
      const uint64_t first = random() % most;
      const uint64_t last = first + random() % (most - first);
      for (const WorkerRange range : {WorkerRange{first, last}, WorkerRange{0, most - 1}}) {
        const WorkerAcquire acquire =
            AcquireOf(range, range.first + random() % (range.last - range.first + 1));
        // Also at a time when few of them are free.
        for (const int64_t at : {now, now - 600}) {
          ASSERT_EQ(twins.Ours(acquire, At(at)), twins.Naive(acquire, At(at)))
              << range.first << ".." << range.last << " from " << acquire.start;
        }
      }
    }
  }
}

TEST(WorkerBlocksTest, FullRange_ReadsNothingTwice) {
  Twins twins;
  constexpr uint64_t kWorkers = 1 << 16;
  for (uint64_t worker = 0; worker < kWorkers; ++worker) {
    twins.Store(worker, At(5000 + static_cast<int64_t>(worker)), true);
  }
  const WorkerAcquire acquire = AcquireOf({0, kWorkers - 1}, 777);
  EXPECT_EQ(twins.Ours(acquire, At(4000)), twins.Naive(acquire, At(4000)));
  twins.Ours(acquire, At(4000));
  EXPECT_LE(twins.reads(), 512u);  // of the block where the search begins, from both sides
  // The last free one.
  twins.Store(60'000, At(1), false);
  EXPECT_EQ(twins.Ours(acquire, At(4000)), "60000");
  EXPECT_LE(twins.reads(), 512u);
  twins.Store(60'000, At(9000), true);
  // Each renewal costs one reading of its block at most.
  for (uint64_t worker = 0; worker < 100; ++worker) {
    twins.Store(worker, At(200'000), true);
    EXPECT_EQ(twins.Ours(acquire, At(4000)), twins.Naive(acquire, At(4000)));
    twins.Ours(acquire, At(4000));
    EXPECT_LE(twins.reads(), 768u);
  }
}

}  // namespace
}  // namespace locus::cluster_machine
