// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_
#define LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/routing/router.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_source.h"
#include "routing/router/follow_rules.h"
#include "routing/router/follow_schedule.h"
#include "routing/router/last_good_table.h"
#include "routing/router/last_good_writer.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"

namespace locus::internal {

// Asks a TableSource for its tables, offers them to a router, and keeps the last-good one in a
// file. FollowSchedule decides when to ask, FollowRules what follows from an answer.
// Thread safety: Want and the const methods may be called from any thread.
class TableFollower {
 public:
  // Judges the table, and installs it if the judgement says so.
  using Offer = std::function<TableJudgement(std::shared_ptr<const RoutingTable>)>;

  // Whether callers wait for a newer table than the one in force.
  using Waiting = std::function<bool()>;

  // `options` were checked. What `offer` and `waiting` need outlives the follower. `write` replaces
  // WriteLastGoodTable in tests.
  TableFollower(std::unique_ptr<TableSource> source, RouterOptions options, Offer offer,
                Waiting waiting, LastGoodWriter::Write write = nullptr);
  // Waits for the question to the source that is under way, and for the file as LastGoodWriter.
  ~TableFollower();

  // Offers the first table, from the source or from the file, on the caller's thread. Errors as
  // Router::Open.
  absl::Status Open();
  // Follows from then on. UNAVAILABLE: the system has no thread for it.
  absl::Status Start();

  // One more caller waits: the source is asked soon, as FollowSchedule decides.
  void Want();

  // For messages: where the source is, and what it answered last.
  std::string LastAnswer() const;
  // Sets the members about the source and the file, given that `epoch` is in force.
  void Fill(uint64_t epoch, RouterStats& stats) const;

 private:
  using Answer = absl::StatusOr<std::optional<SourcedTable>>;

  // One turn of the following thread; returns after how long it wants the next.
  absl::Duration Run();
  // Asks until there is a table, or the time to open is over: then the status says why there is
  // none from the source.
  absl::Status AskUntilOpen();
  Answer Ask(absl::Duration within);
  // The consequences of an answer to the question asked then. `early`: no news, before it was due.
  FollowRules::Step Take(const Answer& answer, absl::Duration asked_at, bool early,
                         TableJudgement& judgement);
  // Before the source's first table is judged: it must be newer than the one in the file, if that
  // is of the same table.
  void OfferKeptBefore(const RoutingTable& first);
  void OfferKept();
  void Report(const RouterEvent& event) const;

  const std::unique_ptr<TableSource> source_;
  const RouterOptions options_;
  const Offer offer_;
  const Waiting waiting_;

  // Of the thread that asks.
  std::shared_ptr<const RoutingTable> kept_;  // of the file, while it may still be offered
  uint64_t kept_epoch_ = 0;                   // in the file, or on its way there; 0: unknown

  mutable Mutex report_mutex_;  // held while on_event runs
  mutable Mutex mutex_;
  FollowRules rules_ ABSL_GUARDED_BY(mutex_);
  FollowSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LastGoodWriter> writer_;  // nullptr: there is no file
  std::unique_ptr<LoadDriver> driver_;      // last: its end waits for a Run under way
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_ROUTER_TABLE_FOLLOWER_H_
