// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MYSQL_H_
#define LOCUS_ROUTING_ENGINE_MYSQL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"

namespace locus {

// The place of a routing table in MariaDB: the database tables `routing_table`, with a row for each
// epoch, and `routing_table_head` in `mariadb.database`. Timeouts, accounts and TLS are those of
// MysqlOptions.
struct MysqlTableOptions {
  MysqlOptions mariadb;
  // How often the source asks for the newest epoch, 10 ms to 1 h. The server reads one index entry;
  // it sends the document only if it is new. Longer: routers see a new table later.
  absl::Duration poll_every = absl::Seconds(1);
  // With several `mariadb.hosts`: how often the source asks all of them for their highest epoch, 10
  // ms to 1 h. Longer: a replica that has fallen behind hides newer tables for longer. Shorter:
  // hosts that do not answer cost their connect_timeout more often.
  absl::Duration ask_all_every = absl::Seconds(30);

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// Follows the row with the highest epoch. A document that was replaced under the same epoch also
// counts as new, and so does an older row after the newest one was deleted. The account needs
// SELECT on routing_table; a read-only replica is sufficient.
//
// With several hosts, the source asks one of them every `poll_every`, initially the first that
// answers. It asks all of them every `ask_all_every`, when that one fails, and after LookNow, which
// skips those that did not answer last time. Then it stays with the one that has the highest epoch,
// the first in the list if there are several. A table that any host has is therefore returned after
// at most ask_all_every + poll_every and the time that asking takes, provided that the host answers
// then. Until then, and while that host does not answer, a host that is behind may hide it, and an
// older table may be returned. A deleted row counts as long as any host has it.
//
// Errors beyond those of TableSource: FAILED_PRECONDITION: also if routing_table was not created by
// locus, or the database does not exist. NOT_FOUND: routing_table is empty or missing on every host
// that allows the read. Hosts that fail are skipped silently while another host has a table. If
// servers hang, Next may exceed its deadline by (hosts.size() + 1) * (connect_timeout + timeout) of
// MysqlOptions; LookNow does not cut that short.
// Fork: in a forked child Next returns FAILED_PRECONDITION, and destruction touches no socket.
class MysqlTableSource : public TableSource {
 public:
  // Does not connect, so a service can start while the server is down. INVALID_ARGUMENT: bad
  // options.
  static absl::StatusOr<std::unique_ptr<MysqlTableSource>> Open(const MysqlTableOptions& options);
  ~MysqlTableSource() override;

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override;
  void LookNow() override;
  std::string place() const override;

  MysqlStats Stats() const;

 private:
  class Rep;
  explicit MysqlTableSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Adds a row for each published table, in a transaction that excludes all other publishers, also on
// other nodes of a Galera cluster. Keeps the newest 1,000 rows. Times are the server's.
//
// The account needs SELECT, INSERT and DELETE on routing_table, and SELECT and UPDATE on
// routing_table_head. FAILED_PRECONDITION: also if these database tables are missing, the server is
// read-only, its settings are not durable (MysqlOptions::accept_weak_durability), or its
// max_allowed_packet is too small for the document. DATA_LOSS: also for publishing while the newest
// row is not a routing table; once it is deleted, the row before it counts. A conflict with another
// transaction is retried with growing pauses for up to MysqlOptions::timeout, then UNAVAILABLE.
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction touches no
// socket.
class MysqlTablePublisher : public TablePublisher {
 public:
  // Creates the database tables if they are missing. FAILED_PRECONDITION: other tables have these
  // names. The account needs CREATE, SELECT and INSERT; also ALTER, where an earlier version made
  // them: the columns of PublicationNote are added.
  static absl::Status CreateSchema(const MysqlTableOptions& options);

  // Does not connect. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<MysqlTablePublisher>> Open(
      const MysqlTableOptions& options);
  ~MysqlTablePublisher() override;

  absl::StatusOr<RoutingTable> Current() override;
  using TablePublisher::Publish;
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override;
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override;
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override;
  std::string place() const override;

  MysqlStats Stats() const;

 private:
  class Rep;
  explicit MysqlTablePublisher(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_MYSQL_H_
