// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_PLACES_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_PLACES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/console/console_api.h"
#include "apps/locusd/ids/query.h"
#include "locus/routing/routing_table.h"
#include "src/base/run/mutex.h"

namespace locus::locusd {

// The places of ConsoleParts, opened when they are needed, and what is asked of them. Answers are
// JSON texts of web/src/api.ts. Most calls wait for a place.
// Thread safety: all methods may be called from any thread.
class ConsolePlaces {
 public:
  explicit ConsolePlaces(ConsoleParts parts) : parts_(std::move(parts)) {}

  const ConsoleParts& parts() const { return parts_; }
  // nullptr: there is no ID service.
  std::shared_ptr<const IdParts> ids() const { return parts_.ids ? parts_.ids() : nullptr; }
  // In force. NOT_FOUND: there is none; UNAVAILABLE: not yet.
  absl::StatusOr<std::shared_ptr<const RoutingTable>> Table() const;
  // Its source, as JSON.
  absl::StatusOr<std::string> Source() const;

  absl::StatusOr<std::string> TableOf(const Query& query);
  absl::StatusOr<std::string> History(const Query& query);
  absl::StatusOr<std::string> Diff(const Query& query);
  // `load`: of each vnode; empty: it is not known.
  absl::StatusOr<std::string> Plan(const std::string& body, const std::vector<double>& load);
  // Of the publication `by`, which gets the reason that the body gives.
  absl::StatusOr<std::string> Publish(const std::string& body, ConsolePublication& by);
  const std::string& table_place() const { return parts_.table_place; }
  absl::StatusOr<std::string> Leases(const Query& query);
  absl::StatusOr<std::string> Members();
  absl::StatusOr<std::string> Types(const Query& query) const;
  // Why there are no sequence types; OK: there may be some.
  absl::Status WhyNoTypes() const;
  // `may_decode`: the client may know what order_nos hide.
  absl::StatusOr<std::string> Inspect(const Query& query, bool may_decode) const;

 private:
  // What a function opened.
  template <typename T>
  struct Kept {
    internal::Mutex mutex;
    std::shared_ptr<T> place ABSL_GUARDED_BY(mutex);
  };
  template <typename T, typename Open>
  static absl::StatusOr<std::shared_ptr<T>> OpenOnce(Kept<T>& kept, const Open& open,
                                                     const char* absent);
  absl::StatusOr<std::shared_ptr<TablePublisher>> Publisher();
  // The newest of the place, or the one in force where nothing can be published.
  absl::StatusOr<RoutingTable> Newest();

  const ConsoleParts parts_;
  Kept<TablePublisher> publisher_;
  Kept<WorkerLeaseStore> leases_;
  Kept<LocusdCluster> cluster_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_CONSOLE_PLACES_H_
