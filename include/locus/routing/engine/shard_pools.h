// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_SHARD_POOLS_H_
#define LOCUS_ROUTING_ENGINE_SHARD_POOLS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/mysql.h"
#include "locus/routing/routing_table.h"

struct st_mysql;

namespace locus {
namespace internal {
class ShardPool;
class ShardSession;
}  // namespace internal

// How to connect to shards, without the password. Limits are per shard.
struct ShardPoolsSettings {
  // The same account on every shard: endpoints carry no credentials.
  std::string user;

  // For connecting to a server, and for the ping of a connection that was idle. Rounded up to whole
  // seconds, 1 s to 1 h. Longer: a server that hangs is noticed later.
  absl::Duration connect_timeout = absl::Seconds(3);
  // For one statement. Rounded up to whole seconds, 1 s to 1 h. The server ends a statement that
  // takes longer (max_statement_time; innodb_lock_wait_timeout for lock waits), and the connection
  // stays usable. If no answer arrives at all, the connection is given up a second later. Longer:
  // callers hang longer on a server that is gone.
  absl::Duration timeout = absl::Seconds(5);

  // 1 to 10,000. More: more load on a shard that is slow already. Fewer: callers wait. The servers'
  // max_connections must allow this number from every process.
  size_t max_connections = 16;
  // Connections kept however long they are idle; at most max_connections. None is made before a
  // caller needs it.
  size_t min_idle = 1;
  // Idle connections above min_idle are closed after this time, and at most a quarter of it later;
  // 10 ms to 24 h. A value below the servers' wait_timeout saves reconnecting.
  absl::Duration idle_timeout = absl::Minutes(1);
  // A connection this old is closed when it is given back or idle; 10 ms to 30 days. Shorter: a
  // change behind a DNS name or a proxy takes effect sooner.
  absl::Duration max_lifetime = absl::Minutes(30);
  // A connection idle for longer is pinged (one round trip) before it is handed out; 0 s to 24 h.
  // After a shorter time only its socket is checked. 0: always pinged.
  absl::Duration ping_after = absl::Seconds(5);
  // After a failed attempt to connect, the pool makes none for a pause. Meanwhile callers share the
  // connections that are open; if there are none, callers are refused at once. Pauses start at
  // 50 ms and double up to this value, less a random part of up to a half. 50 ms to 1 h. Longer: a
  // shard that recovers is used later.
  absl::Duration longest_pause = absl::Seconds(5);

  // For endpoints that do not mention TLS; ?tls=on and ?tls_ca=FILE ask for it.
  MysqlOptions::Tls tls = MysqlOptions::Tls::kBeyondLoopback;
  // PEM file with the authorities that may sign the servers' certificates, for endpoints that name
  // none. Empty: the system's.
  std::string tls_ca_file;
  // False: a read-only server (a replica) is refused.
  bool accept_read_only = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

struct ShardPoolsOptions : ShardPoolsSettings {
  // Kept in memory that core dumps omit, and wiped afterwards. The client library's copy is wiped
  // as soon as a connection is open. Wiping the caller's own copy is up to the caller.
  std::string password;
};

// One shard as ShardPools::Stats() reports it. Counters start at 0 when ShardPools is made and only
// rise, also when the shard's endpoint changes.
struct ShardPoolStats {
  uint32_t shard = 0;
  std::string name;
  std::string place;  // host:port/database

  // Now:
  size_t open = 0;     // connections, idle ones included; also those to an earlier endpoint that
                       // are still in use
  size_t idle = 0;     // connections that no caller uses
  size_t waiting = 0;  // callers that wait for a connection
  // How many connections the pool allows itself: max_connections, or, in the pause after a failed
  // attempt to connect (such as "Too many connections"), those that are open.
  size_t limit = 0;
  // Callers are refused: the shard does not answer, and no connection is open.
  bool refusing = false;
  absl::Status last_error;  // OK: nothing failed since the last connection was made

  // Counters:
  uint64_t taken = 0;       // connections handed out
  uint64_t waits = 0;       // callers for whom no connection was idle, so that they had to wait
  uint64_t timeouts = 0;    // callers that got none by their deadline
  uint64_t refusals = 0;    // callers refused because the shard does not answer
  uint64_t connects = 0;    // connections made
  uint64_t reconnects = 0;  // those of them that replaced a connection which broke
  uint64_t failures = 0;    // attempts to connect that failed, and connections that broke
  uint64_t retargets = 0;   // changes of the endpoint
};

// A connection that its holder uses alone. Destroying it gives it back to the pool.
//
// Giving it back ends everything begun on it. An open transaction is rolled back. Session and user
// variables, temporary tables, locks and prepared statements are gone, and the role is again the
// one that the account has after login. This costs a round trip, at most `timeout` and a second; a
// second one, which sets the session up again, overlaps with handing the connection to the next
// caller. If it fails, or if the last call on the handle lost the connection, the connection is
// closed instead. A MYSQL_STMT that is still open must not be used afterwards; its owner closes it.
//
// Thread safety: one thread at a time. May outlive its ShardPools. A forked child may only destroy
// it, which touches no socket.
class ShardConnection {
 public:
  ShardConnection(ShardConnection&&) noexcept;
  ShardConnection& operator=(ShardConnection&&) noexcept;
  ~ShardConnection();

  // The Connector/C handle (MYSQL*, from <mysql.h>). Set: autocommit, utf8mb4, sql_mode strict
  // (STRICT_ALL_TABLES, NO_ENGINE_SUBSTITUTION), max_statement_time and innodb_lock_wait_timeout
  // of ShardPoolsSettings::timeout, and idle_transaction_timeout: the server ends the session, and
  // rolls back, when a transaction is idle for a minute, or for the timeout and a second if that is
  // longer. Isolation level, time zone and everything else are the server's. One statement a call:
  // no CLIENT_MULTI_STATEMENTS. A write to a TLS connection that the server closed may raise
  // SIGPIPE: ignore it in your program, as with Connector/C alone. The handle belongs to this
  // object: do not close it.
  st_mysql* handle() const;
  // "host:port/database", for messages.
  const std::string& place() const;

  // Has the connection closed when it is given back.
  void Spoil() { spoiled_ = true; }

 private:
  friend class internal::ShardPool;
  ShardConnection(std::shared_ptr<internal::ShardPool> pool,
                  std::unique_ptr<internal::ShardSession> session);
  void GiveBack();

  std::shared_ptr<internal::ShardPool> pool_;
  std::unique_ptr<internal::ShardSession> session_;
  bool spoiled_ = false;
};

// Pools of connections to the MariaDB servers of a routing table's shards: one pool a shard, for
// the shards that one Router returns. A shard's endpoint is
//
//   mysql://host[:3306]/database[?tls=on|?tls_ca=FILE]
//
// where an IPv6 address is written in brackets, and %XX is a byte in database and FILE.
//
// A thread of each shard makes connections when callers need them, so no caller waits for a server
// beyond its deadline. Callers wait in line; a connection that is given back goes straight to the
// first of them. A connection that the server closed is noticed before it is handed out.
//
// When an attempt to connect fails (too many connections, refused), callers share the connections
// that are open. A shard that does not answer at all hurts only its own callers, and only until
// that is noticed: then they are refused at once, except one now and then that tries again.
//
// Pools are kept by shard id. A shard with another endpoint re-targets its pool: new connections go
// there; connections to the old endpoint are closed when idle, or when given back. The epoch says
// which endpoint is newer: a shard of an older table with another endpoint gets ABORTED, so that
// shards from before and after a change do not re-target the pool in turn. Without epochs the
// endpoint passed last counts, except that the endpoint before gets ABORTED until no caller has
// asked for the newer one for a second. A connection always leads to the endpoint of the shard that
// was passed. What belongs to a shard that no table holds any more is closed after max_lifetime.
//
// Thread safety: all methods may be called from any thread.
// Fork: in a forked child every call returns FAILED_PRECONDITION or nothing, and destruction
// touches no socket; the child may make pools of its own.
class ShardPools {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Does not connect. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<ShardPools>> Create(const ShardPoolsOptions& options);
  // Closes idle connections; those in use are closed when given back. Waits for an attempt to
  // connect that is under way. No other call may be under way.
  ~ShardPools();
  ShardPools(const ShardPools&) = delete;
  ShardPools& operator=(const ShardPools&) = delete;

  // A connection to `shard` by `deadline`. Callers are served in the order in which they came.
  //
  // DEADLINE_EXCEEDED: all connections were in use, or the server took too long; the message says
  // which. UNAVAILABLE: the server cannot be reached, or could not a moment ago and the pool
  // refuses callers until its next attempt. FAILED_PRECONDITION: the server refuses until an
  // operator repairs the cause (access denied, unknown database, a certificate that does not
  // verify, a read-only server), or this is a forked child. ABORTED: the shard got another endpoint
  // while the caller waited: route again. INVALID_ARGUMENT: the endpoint does not have the form
  // above. Messages name the shard, and its server unless the endpoint cannot be parsed; never the
  // password.
  absl::StatusOr<ShardConnection> Take(const RoutedShard& shard, TimePoint deadline);
  // The same for a shard of the table of `epoch` or of a later one: pass what Router::epoch()
  // returned before the shard was routed to. ABORTED also: a table of a higher epoch gives the
  // shard another endpoint: route again.
  absl::StatusOr<ShardConnection> Take(const RoutedShard& shard, uint64_t epoch,
                                       TimePoint deadline);

  // One entry per shard that was passed to Take, ordered by id. Takes each pool's lock for a
  // moment.
  std::vector<ShardPoolStats> Stats() const;

 private:
  class Rep;
  explicit ShardPools(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_SHARD_POOLS_H_
