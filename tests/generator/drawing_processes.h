// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_GENERATOR_DRAWING_PROCESSES_H_
#define LOCUS_TESTS_GENERATOR_DRAWING_PROCESSES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "tests/support/child_process.h"

namespace locus {

// Processes that draw order IDs from one space until they are stopped, and note each in memory that
// outlives their kill -9: as runs of neighbouring sequences of a vnode, so that a hundred million
// IDs take little memory and still every one of them is compared with every other.
// Make it before the test starts threads.
class DrawingProcesses {
 public:
  struct Options {
    int processes = 4;
    uint64_t buyers = 1000;  // 1, 2, 3, ...
    absl::Duration horizon = absl::Seconds(20);
    // IDs a second and process; 0: as fast as they come.
    uint64_t rate = 20'000;
    uint64_t seed = 1;
  };
  // Called in each process; asked again until it answers a store.
  using Open = std::function<absl::StatusOr<std::shared_ptr<SegmentStore>>()>;

  DrawingProcesses(Open open, const Options& options);
  ~DrawingProcesses();
  DrawingProcesses(const DrawingProcesses&) = delete;
  DrawingProcesses& operator=(const DrawingProcesses&) = delete;

  // All processes together, since the beginning.
  uint64_t drawn() const;
  // Calls for IDs that failed, by absl::StatusCode, and allocations that failed, of all processes.
  uint64_t failed_calls() const;
  uint64_t failed_calls(absl::StatusCode code) const;
  uint64_t store_failures() const;
  uint64_t losses() const;

  // False: not within the time.
  bool WaitForEach(uint64_t more_ids, absl::Duration within = absl::Minutes(2)) const;
  // Waits until each process could continue for this long without its store.
  bool WaitForAutonomy(absl::Duration at_least, absl::Duration within = absl::Seconds(120)) const;

  void KillAndRestart(int process);
  // kill -9 for all.
  void Stop();

  // After Stop: the IDs that were drawn more than once, described; empty: none.
  std::string Repeated() const;

 private:
  struct Run {
    uint64_t gene;
    uint64_t first;
    uint64_t last;
  };
  static constexpr uint64_t kMostRuns = 1 << 22;
  // Of one process and those that took its place.
  struct Notes {
    std::atomic<uint64_t> drawn;
    std::atomic<uint64_t> runs;
    std::atomic<bool> full;
    std::array<std::atomic<uint64_t>, 17> failed;  // by status code
    std::atomic<uint64_t> store_failures;
    std::atomic<uint64_t> losses;
    std::atomic<int64_t> autonomy_ns;
    Run run[kMostRuns];
  };

  ChildProcess Start(int process);
  int Draw(Notes& notes, uint64_t seed) const;
  bool DrawFrom(std::shared_ptr<SegmentStore> store, Notes& notes, uint64_t seed) const;
  template <typename Count>
  uint64_t Sum(Count count) const;

  const Open open_;
  const Options options_;
  uint64_t starts_ = 0;
  std::vector<Notes*> notes_;
  std::vector<ChildProcess> children_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_GENERATOR_DRAWING_PROCESSES_H_
