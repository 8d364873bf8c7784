// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_
#define LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"
#include "routing/router/follow_rules.h"
#include "src/base/mutex.h"
#include "src/generator/load_driver.h"

namespace locus {

// Asks a TableSource for its tables, offers them to a router, keeps the last good one in a file.
// What follows from an answer is decided by FollowRules.
// Thread safety: Look and the const methods may be called from any thread.
class TableFollower {
 public:
  // Judges the table, and installs it where the verdict is so.
  using Offer = std::function<TableVerdict(const RoutingTable&)>;

  // `options` were checked. What `offer` needs outlives the follower.
  TableFollower(std::unique_ptr<TableSource> source, RouterOptions options, Offer offer);
  // Waits for the question to the source that is under way.
  ~TableFollower();

  // Offers the first table, from the source or from the file, on the caller's thread. Errors as
  // Router::Open says.
  absl::Status Open();
  // Follows from then on. UNAVAILABLE: the system has no thread for it.
  absl::Status Start();
  // Has the source asked once more, beginning after this call. Calls that come while it is asked
  // share the question after that; such questions begin FollowRules::kLeastPause apart.
  void Look();

  // For messages: where, and what it said last.
  std::string LastWord() const;
  // The members of the source and of the file, where `epoch` is in force.
  void Fill(uint64_t epoch, RouterStats& stats) const;

 private:
  absl::Duration Run();
  // As Run does it, until there is a table or the time to open is over; the status is why there is
  // none from the source.
  absl::Status AskUntilOpen();
  absl::StatusOr<std::optional<SourcedTable>> Ask(absl::Duration within);
  // What follows from an answer to what was asked then. `early`: no news, before it was due.
  FollowRules::Step Take(const absl::StatusOr<std::optional<SourcedTable>>& answer,
                         absl::Duration asked_at, bool early, TableVerdict& verdict);
  void BeginLook() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Keep();
  void Tell(const RouterEvent& event) const;
  double Random() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<TableSource> source_;
  const RouterOptions options_;
  const Offer offer_;

  // Of the thread that asks.
  std::optional<RoutingTable> to_keep_;  // not in the file yet
  uint64_t kept_epoch_ = 0;              // in the file; 0: unknown

  mutable Mutex mutex_;
  FollowRules rules_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  absl::Status last_good_error_ ABSL_GUARDED_BY(mutex_);
  // Since boot: when the source is asked again, and when it is if somebody wishes it.
  absl::Duration due_ ABSL_GUARDED_BY(mutex_);
  absl::Duration due_if_wished_ ABSL_GUARDED_BY(mutex_);
  absl::Duration next_look_ ABSL_GUARDED_BY(mutex_);  // not before
  bool wished_ ABSL_GUARDED_BY(mutex_) = false;       // by Look, for the next question
  bool asking_ ABSL_GUARDED_BY(mutex_) = false;
  bool looking_ ABSL_GUARDED_BY(mutex_) = false;  // the question under way answers at once
  bool resting_ ABSL_GUARDED_BY(mutex_) = false;  // it ends when the next look may begin
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;   // Look turned it into such a one
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for a Run under way
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_
