// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_MOVES_WATCH_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_MOVES_WATCH_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/console/move_look.h"
#include "locus/routing/routing_table.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// Looks at the moves of a file on a thread of its own, once for everybody, and only while somebody
// wants to know.
// Thread safety: all methods may be called from any thread.
class MovesWatch {
 public:
  struct State {
    MoveLook::Seen seen;
    absl::Time looked_at = absl::InfinitePast();  // the last time that they answered
    absl::Status error;                           // of the last look
  };
  using Table = std::function<std::shared_ptr<const RoutingTable>()>;
  using Told = std::function<void(const State&)>;

  // `table` may answer nullptr. `on_look` is called after each look, by the watch's thread.
  MovesWatch(std::unique_ptr<MoveLook> look, Table table, Told on_look);
  // Waits for the look under way.
  ~MovesWatch();

  // Goes on looking each kPause until this moment of the steady clock.
  void Want(absl::Duration until);
  // What the last look saw of the shards' load.
  ShardWrites Writes();
  // Calls `told` with a state that is not older than kFresh, now or later; with UNAVAILABLE where
  // too many wait.
  void Ask(std::function<void(absl::StatusOr<State>)> told);

 private:
  static constexpr absl::Duration kPause = absl::Seconds(1);
  static constexpr absl::Duration kFresh = absl::Seconds(3);
  static constexpr size_t kMostWaiting = 256;

  void Run();

  const std::unique_ptr<MoveLook> look_;
  const Table table_;
  const Told on_look_;
  internal::Mutex mutex_;
  internal::CondVar changed_;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration wanted_until_ ABSL_GUARDED_BY(mutex_);
  absl::Duration last_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();  // look, its end
  State state_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::function<void(absl::StatusOr<State>)>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// JSON of GET /v1/moves. `file`: the move file.
std::string MovesJson(const RoutingTable& table, const std::string& file,
                      const MovesWatch::State& state);
// The same where nobody looks at the shards.
std::string MovesJsonOfTable(const RoutingTable& table);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_MOVES_WATCH_H_
