// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_FAULT_PAGE_H_
#define LOCUS_TESTS_PROOF_FAULT_PAGE_H_

#include <atomic>
#include <cstdint>

namespace locus::proof {

// Names the file of a process' page; read by preloaded_faults.so.
inline constexpr char kFaultPageVariable[] = "LOCUS_PROOF_FAULTS";

// Names the file of a process' routes, where it has no network of its own: lines "listen ADDRESS
// PORT REAL" and "call ADDRESS PORT REAL". What the process takes for ADDRESS:PORT is
// 127.0.0.1:REAL.
inline constexpr char kRoutesVariable[] = "LOCUS_PROOF_ROUTES";

// The faults that a test makes in one process from outside: a file of this size, all zero for no
// fault, mapped by the test and by the object that is preloaded into the process.
struct FaultPage {
  std::atomic<int64_t> clock_shift_ns;  // of CLOCK_REALTIME
  std::atomic<int64_t> sync_delay_us;   // before each fsync and fdatasync
  // Above 0: counts down with each write to a file *-wal. The write that brings it to 0 is torn:
  // half of it reaches the file, or, with `lost`, zeros do and the process continues to its next
  // fdatasync. Then the process gets SIGKILL. So nothing that was synced is harmed.
  std::atomic<int64_t> tear_after;
  std::atomic<int64_t> lost;
  std::atomic<int64_t> disk_full;  // writes to a file *-wal fail
  std::atomic<int64_t> torn;       // set by the process: it was torn
  std::atomic<int64_t> slept_ns;   // CLOCK_BOOTTIME goes ahead: the machine was suspended
};
static_assert(std::atomic<int64_t>::is_always_lock_free, "two processes share it");

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_FAULT_PAGE_H_
