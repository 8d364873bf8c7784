// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_
#define LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"

namespace locus::internal {

// Keeps the newest table in a file, on a thread of its own: writing waits for a disk, which may
// take seconds, and following a source must not.
// Thread safety: all methods may be called from any thread.
class LastGoodWriter {
 public:
  // Writes the table, durably.
  using Write = std::function<absl::Status(const RoutingTable&)>;
  // Called after a failure unlike the one before, from the writing thread.
  using OnFailure = std::function<void(uint64_t epoch, const absl::Status&)>;

  LastGoodWriter(Write write, OnFailure on_failure);
  // Writes what is still to be written.
  ~LastGoodWriter();

  // The file held this table when the process started.
  void BeganWith(uint64_t epoch);
  // Why the file that was there could not be used; forgotten by the next write.
  void BeganDamaged(const absl::Status& status);
  // Has the table written, unless a later call comes before its turn.
  void Put(std::shared_ptr<const RoutingTable> table);
  // Tries once more if the last write failed.
  void Retry();
  // False: there is a table to write and the system has no thread for it.
  bool started() const;

  // Sets the members about the last-good file.
  void Fill(RouterStats& stats) const;

 private:
  void WriteNewest();

  const Write write_;
  const OnFailure on_failure_;

  mutable Mutex mutex_;
  std::shared_ptr<const RoutingTable> pending_ ABSL_GUARDED_BY(mutex_);
  bool failed_ ABSL_GUARDED_BY(mutex_) = false;  // pending_ was tried, and waits for Retry
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t writes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t failures_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t epoch_in_file_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: unknown
  absl::Status error_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for a write under way
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_LAST_GOOD_WRITER_H_
