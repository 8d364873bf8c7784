// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_
#define LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/status/status.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Keeps the newest table in a file, on a thread of its own: writing waits for a disk, which may
// take seconds, and following a source must not.
// Thread safety: all methods may be called from any thread.
class LastGoodWriter {
 public:
  // Writes the table, durably. May outlive the writer: see the destructor.
  using Write = std::function<absl::Status(const RoutingTable&)>;
  // Called after a failure unlike the one before, from the writing thread. Never after the end of
  // the writer.
  using OnFailure = std::function<void(uint64_t epoch, const absl::Status&)>;

  // How long the destructor waits for the disk.
  static constexpr std::chrono::milliseconds kPatience{5000};

  LastGoodWriter(Write write, OnFailure on_failure, std::chrono::milliseconds patience = kPatience);
  // Writes what is still to be written, also what failed before, and waits for it. Not for longer
  // than `patience`, so that a process can end while its disk stalls: the thread then runs on by
  // itself until the write returns.
  ~LastGoodWriter();

  // The file held this table when the process started.
  void BeganWith(uint64_t epoch);
  // Why the file that was there could not be used; forgotten by the next write.
  void BeganDamaged(const absl::Status& status);
  // Has the table written, unless a later call comes before its turn.
  void Put(std::shared_ptr<const RoutingTable> table);
  // Tries once more if the last write failed, or if the system had no thread for it.
  void Retry();
  // False: there is a table to write and the system has no thread for it.
  bool started() const;

  // Sets the members about the last-good file.
  void Fill(RouterStats& stats) const;

 private:
  struct State;
  static void Run(State& state);
  static void WriteNewest(State& state);
  // Starts the thread unless it runs; it stays without one if the system has none now.
  void Start();

  // Shared with the thread, which may outlive this object.
  const std::shared_ptr<State> state_;
  const std::chrono::milliseconds patience_;
  Mutex start_mutex_;
  std::thread thread_ ABSL_GUARDED_BY(start_mutex_);
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_
