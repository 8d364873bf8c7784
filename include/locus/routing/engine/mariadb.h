// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MARIADB_H_
#define LOCUS_ROUTING_ENGINE_MARIADB_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mariadb.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

namespace locus {

// Where in MariaDB the routing table is kept: the tables `routing_table`, a row for each epoch, and
// `routing_table_head` of `mariadb.database`. Timeouts, accounts and TLS are those of
// MariadbOptions.
struct MariadbTableOptions {
  MariadbOptions mariadb;
  // How often the source asks for the newest epoch, 10 ms to 1 h. An answer is the read of one
  // index entry; the document travels only when it is another one. Longer: routers learn of a new
  // table later.
  absl::Duration poll_every = absl::Seconds(1);
  // Where `mariadb.hosts` are several: how often the source asks all of them which has the highest
  // epoch, 10 ms to 1 h. Longer: a replica that has fallen behind hides newer tables for longer.
  // Shorter: hosts that do not answer cost their connect_timeout more often.
  absl::Duration ask_all_every = absl::Seconds(30);

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Follows the row with the highest epoch. A row whose document was replaced under the same epoch is
// news too, and so is an older one where the newest was deleted. The account needs SELECT on
// routing_table; a read-only replica will do.
//
// Of several hosts one is asked each `poll_every`, at first the first that answers. All are asked
// each `ask_all_every`, when that one fails, and after LookNow (those that did not answer last time
// are then left out). The one with the highest epoch is asked from then on; of several such, the
// first in the list. So a table that any host has is handed out ask_all_every + poll_every later,
// and the time that asking takes, if that host answers then, however far behind the others are.
// Until then it may be hidden by a host that is behind. While it cannot be had, what the others
// have is handed out, also where it is older; and a row that was deleted counts as long as any host
// has it.
//
// Errors beyond those of TableSource: FAILED_PRECONDITION also where a table of the name is none of
// ours, or the database is not there. NOT_FOUND: the table is empty, or not there, on every host
// that does not refuse. Hosts that fail are passed over in silence while one has a table. Where
// servers hang, Next blocks for up to (hosts.size() + 1) * (connect_timeout + timeout) of
// MariadbOptions beyond its deadline; LookNow does not cut that short. Fork: in a forked child Next
// answers FAILED_PRECONDITION, and destruction touches no socket.
class MariadbTableSource : public TableSource {
 public:
  // Connects nothing: a service may start while the server is away. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<MariadbTableSource>> Open(
      const MariadbTableOptions& options);
  ~MariadbTableSource() override;

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override;
  void LookNow() override;
  std::string place() const override;

  MariadbStats Stats() const;

 private:
  class Rep;
  explicit MariadbTableSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Adds a row for each table that it publishes, in one transaction which excludes that of every
// other publisher, also of those that write to other nodes of a Galera cluster. Keeps the newest
// 1,000 rows. Times are the server's.
//
// The account needs SELECT, INSERT and DELETE on routing_table, SELECT and UPDATE on
// routing_table_head. FAILED_PRECONDITION also where these tables are not there, the server is
// read-only, its settings are not durable (MariadbOptions::accept_weak_durability), or its
// max_allowed_packet is too small for the document. DATA_LOSS also for publishing where the newest
// row is no routing table; once it is deleted, the one before it counts. A conflict with another
// transaction is tried again with growing pauses, up to MariadbOptions::timeout, then UNAVAILABLE.
// Fork: in a forked child every call answers FAILED_PRECONDITION, and destruction touches no
// socket.
class MariadbTablePublisher : public TablePublisher {
 public:
  // Creates the tables; changes nothing where they are there. FAILED_PRECONDITION: a table of such
  // a name belongs to somebody else. The account needs CREATE, SELECT and INSERT for this.
  static absl::Status CreateSchema(const MariadbTableOptions& options);

  // Connects nothing. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<MariadbTablePublisher>> Open(
      const MariadbTableOptions& options);
  ~MariadbTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected,
                       const GuardedChanges& named) override;
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override;
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override;
  std::string place() const override;

  MariadbStats Stats() const;

 private:
  class Rep;
  explicit MariadbTablePublisher(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_MARIADB_H_
