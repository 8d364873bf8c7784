// SPDX-License-Identifier: Apache-2.0
#include "tests/generator/drawing_processes.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "locus/order_id_generator.h"
#include "tests/support/private_server.h"

namespace locus {

DrawingProcesses::DrawingProcesses(Open open, const Options& options)
    : open_(std::move(open)), options_(options) {
  for (int i = 0; i < options_.processes; ++i) {
    void* memory = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    notes_.push_back(static_cast<Notes*>(memory));
  }
  for (int i = 0; i < options_.processes; ++i) children_.push_back(Start(i));
}

DrawingProcesses::~DrawingProcesses() {
  children_.clear();
  for (Notes* notes : notes_) munmap(notes, sizeof(Notes));
}

ChildProcess DrawingProcesses::Start(int process) {
  uint64_t seed = options_.seed * 1000 + ++starts_;
  return ChildProcess([this, process, seed] { return Draw(*notes_[process], seed); });
}

int DrawingProcesses::Draw(Notes& notes, uint64_t seed) const {
  alarm(0);  // a soak takes longer; the process dies with the test
  while (true) {
    absl::StatusOr<std::shared_ptr<SegmentStore>> store = open_();
    if (!store.ok()) {
      ++notes.failed[static_cast<size_t>(store.status().code())];
      absl::SleepFor(absl::Milliseconds(10));
      continue;
    }
    if (!DrawFrom(*std::move(store), notes, seed)) return 1;
  }
}

// False: there is no room for more notes.
bool DrawingProcesses::DrawFrom(std::shared_ptr<SegmentStore> store, Notes& notes,
                                uint64_t seed) const {
  OrderIdGenerator::Options options;
  options.horizon = options_.horizon;
  auto generator = OrderIdGenerator::Create(std::move(store), options);
  if (!generator.ok()) {
    ++notes.failed[static_cast<size_t>(generator.status().code())];
    absl::SleepFor(absl::Milliseconds(10));
    return true;
  }
  constexpr size_t kBatch = 100;
  std::mt19937_64 random(seed);
  std::vector<BuyerKey> buyers;
  std::vector<OrderId> ids(kBatch);
  std::map<uint64_t, uint64_t> run_of;  // by gene
  uint64_t failures_before = notes.store_failures, losses_before = notes.losses;
  absl::Time start = absl::Now();
  for (uint64_t drawn = 0;; drawn += kBatch) {
    buyers.clear();
    while (buyers.size() < kBatch) {
      buyers.push_back(BuyerKey::Uint64(1 + random() % options_.buyers));
    }
    auto soon = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    absl::StatusOr<size_t> filled = (*generator)->NextBatch(buyers, ids, soon);
    if (!filled.ok()) ++notes.failed[static_cast<size_t>(filled.status().code())];
    for (size_t i = 0; i < filled.value_or(0); ++i) {
      uint64_t gene = ids[i].gene().value(), sequence = ids[i].sequence();
      auto [at, is_first] = run_of.try_emplace(gene, 0);
      if (!is_first && notes.run[at->second].last + 1 == sequence) {
        notes.run[at->second].last = sequence;
      } else {
        at->second = notes.runs;
        if (at->second == kMostRuns) {
          notes.full = true;
          return false;
        }
        notes.run[at->second] = {gene, sequence, sequence};
        notes.runs.store(at->second + 1);
      }
      ++notes.drawn;
    }
    GeneratorStats stats = (*generator)->Stats();
    notes.store_failures = failures_before + stats.store_failures;
    notes.losses = losses_before + stats.losses;
    notes.autonomy_ns =
        stats.autonomy == absl::InfiniteDuration() ? 0 : absl::ToInt64Nanoseconds(stats.autonomy);
    if (options_.rate == 0) continue;
    absl::Duration due =
        absl::Seconds(static_cast<double>(drawn + kBatch) / static_cast<double>(options_.rate));
    absl::SleepFor(start + due - absl::Now());
  }
}

template <typename Count>
uint64_t DrawingProcesses::Sum(Count count) const {
  uint64_t sum = 0;
  for (const Notes* notes : notes_) sum += count(*notes);
  return sum;
}

uint64_t DrawingProcesses::drawn() const {
  return Sum([](const Notes& notes) { return notes.drawn.load(); });
}

uint64_t DrawingProcesses::failed_calls(absl::StatusCode code) const {
  return Sum([&](const Notes& notes) { return notes.failed[static_cast<size_t>(code)].load(); });
}

uint64_t DrawingProcesses::failed_calls() const {
  return Sum([](const Notes& notes) {
    uint64_t sum = 0;
    for (const auto& count : notes.failed) sum += count;
    return sum;
  });
}

uint64_t DrawingProcesses::store_failures() const {
  return Sum([](const Notes& notes) { return notes.store_failures.load(); });
}

uint64_t DrawingProcesses::losses() const {
  return Sum([](const Notes& notes) { return notes.losses.load(); });
}

bool DrawingProcesses::WaitForEach(uint64_t more_ids, absl::Duration within) const {
  std::vector<uint64_t> wanted;
  for (const Notes* notes : notes_) wanted.push_back(notes->drawn + more_ids);
  auto drawn = [&] {
    for (size_t i = 0; i < notes_.size(); ++i) {
      if (notes_[i]->drawn < wanted[i]) return false;
    }
    return true;
  };
  return WaitUntil(drawn, within);
}

bool DrawingProcesses::WaitForAutonomy(absl::Duration at_least, absl::Duration within) const {
  auto reached = [&] {
    return std::all_of(notes_.begin(), notes_.end(), [&](const Notes* notes) {
      return absl::Nanoseconds(notes->autonomy_ns.load()) >= at_least;
    });
  };
  return WaitUntil(reached, within);
}

void DrawingProcesses::KillAndRestart(int process) {
  children_[process].Kill(SIGKILL);
  children_[process].Wait();
  children_[process] = Start(process);
}

void DrawingProcesses::Stop() {
  for (ChildProcess& child : children_) {
    child.Kill(SIGKILL);
    child.Wait();
  }
  children_.clear();
}

std::string DrawingProcesses::Repeated() const {
  std::vector<Run> all;
  for (const Notes* notes : notes_) {
    if (notes->full) return "a process had no room for more notes";
    all.insert(all.end(), notes->run, notes->run + notes->runs);
  }
  std::sort(all.begin(), all.end(), [](const Run& a, const Run& b) {
    return std::tie(a.gene, a.first) < std::tie(b.gene, b.first);
  });
  std::string text;
  uint64_t highest = 0;  // of the gene so far
  for (size_t i = 0; i < all.size(); ++i) {
    bool same_gene = i > 0 && all[i].gene == all[i - 1].gene;
    if (same_gene && all[i].first <= highest && text.size() < 2000) {
      absl::StrAppend(&text, "gene ", all[i].gene, ": sequences ", all[i].first, " to ",
                      std::min(all[i].last, highest), " twice\n");
    }
    highest = same_gene ? std::max(highest, all[i].last) : all[i].last;
  }
  return text;
}

}  // namespace locus
