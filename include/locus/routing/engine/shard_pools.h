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
#include "locus/engine/mariadb.h"
#include "locus/routing/routing_table.h"

struct st_mysql;

namespace locus {

// How to connect to shards. Limits are per shard.
struct ShardPoolsOptions {
  // The same account on every shard: endpoints carry no credentials.
  std::string user;
  // Kept in memory that core dumps leave out and wiped afterwards; the client library's copy is
  // wiped as soon as a connection stands. The caller's own copy is the caller's affair.
  std::string password;

  // For reaching a server, and for the sign of life of a connection that was idle; rounded up to
  // whole seconds, 1 s to 1 h. Longer: a server that hangs is found out later.
  absl::Duration connect_timeout = absl::Seconds(3);
  // For one statement, rounded up to whole seconds, 1 s to 1 h. The server ends it then
  // (max_statement_time; lock waits too, innodb_lock_wait_timeout), and the connection stays good;
  // where no answer comes at all, the connection is given up a second later. Longer: callers hang
  // longer on a server that is gone.
  absl::Duration timeout = absl::Seconds(5);

  // 1 to 10,000. More: more load on a shard that is slow already; fewer: callers wait.
  size_t max_connections = 16;
  // Connections that are kept however long they are idle; at most max_connections. None is made
  // before somebody needs it.
  size_t min_idle = 1;
  // Idle connections above min_idle are closed after this, and at most a quarter of it later; 10 ms
  // to 24 h. Shorter than the servers' wait_timeout saves reconnecting.
  absl::Duration idle_timeout = absl::Minutes(1);
  // A connection this old is closed when it is given back, or idle; 10 ms to 30 days. Shorter:
  // load that was moved behind a name or a proxy follows sooner.
  absl::Duration max_lifetime = absl::Minutes(30);
  // A connection that was idle for longer is asked for a sign of life (a round trip) before it is
  // handed out; one that was idle for less is only looked at. 0 s to 24 h; 0: always asked.
  absl::Duration ping_after = absl::Seconds(5);
  // After a server could not be reached, callers are refused at once for a pause, after which one
  // of them tries again. Pauses begin at 50 ms and double up to this, less a random part of up to a
  // half. 50 ms to 1 h. Longer: a shard that is back is used later.
  absl::Duration longest_pause = absl::Seconds(5);

  // Of endpoints that say nothing about TLS; ?tls=on and ?tls_ca=FILE ask for it.
  MariadbOptions::Tls tls = MariadbOptions::Tls::kBeyondLoopback;
  // PEM file with the authorities that may sign the servers' certificates, where the endpoint names
  // none. Empty: those that the system trusts.
  std::string tls_ca_file;
  // False: a server that is read-only (a replica) is refused.
  bool accept_read_only = false;

  // INVALID_ARGUMENT, naming the option, its value and the limit.
  absl::Status Check() const;
};

// What a ShardPools knows of one shard.
struct ShardPoolStats {
  uint32_t shard = 0;
  std::string name;
  std::string place;   // host:port/database
  size_t open = 0;     // connections, idle ones included; also those still in use elsewhere after
                       // the endpoint changed
  size_t idle = 0;     // connections nobody uses
  size_t waiting = 0;  // callers that wait for one
  uint64_t taken = 0;  // connections handed out
  uint64_t connects = 0;    // connections made
  uint64_t failures = 0;    // attempts to connect that failed, and connections that broke
  uint64_t retargets = 0;   // changes of the endpoint
  bool refusing = false;    // callers without a connection are refused: the shard does not answer
  absl::Status last_error;  // OK: nothing failed since the last connection was made
};

class ShardPool;
class ShardSession;

// A connection that its holder uses alone, given back when it is destroyed.
//
// Giving it back ends what was begun on it: an open transaction is rolled back; session variables,
// user variables, temporary tables, locks and prepared statements are gone. That costs two round
// trips, each at most `timeout` and a second; where it fails, and where the last call on the handle
// lost the connection, the connection is closed instead. A MYSQL_STMT that is still open is closed
// by its owner afterwards, and must not be used.
//
// Thread safety: one thread at a time. May outlive its ShardPools. In a forked child it may be
// destroyed, which touches no socket, and nothing else.
class ShardConnection {
 public:
  ShardConnection(ShardConnection&&) noexcept;
  ShardConnection& operator=(ShardConnection&&) noexcept;
  ~ShardConnection();

  // For Connector/C, as it is (MYSQL*, from <mysql.h>): autocommit, utf8mb4, sql_mode strict
  // (STRICT_ALL_TABLES, NO_ENGINE_SUBSTITUTION), max_statement_time and innodb_lock_wait_timeout of
  // ShardPoolsOptions::timeout. Isolation level, time zone and everything else are the server's.
  // One statement a call: no CLIENT_MULTI_STATEMENTS. A write to a TLS connection that the server
  // closed may raise SIGPIPE: ignore that in your program, as with Connector/C alone.
  // Not to be closed; the owner is this object.
  st_mysql* handle() const;
  // "host:port/database", for messages.
  const std::string& place() const;

  // Closes it when it is given back.
  void Spoil() { spoiled_ = true; }

 private:
  friend class ShardPool;
  ShardConnection(std::shared_ptr<ShardPool> pool, std::unique_ptr<ShardSession> session);
  void GiveBack();

  std::shared_ptr<ShardPool> pool_;
  std::unique_ptr<ShardSession> session_;
  bool spoiled_ = false;
};

// Pools of connections to the MariaDB servers of a routing table's shards, one a shard, for the
// shard handles of one Router. A shard's endpoint is
//
//   mysql://host[:3306]/database[?tls=on|?tls_ca=FILE]
//
// where an IPv6 address stands in brackets, and %XX is a byte in database and FILE.
//
// Connections are made on need, by a thread of each shard, so no caller waits for a server beyond
// its deadline. Those that a server closed are found before they are handed out. A shard that does
// not answer hurts only its own callers, and these only until it is found out: from then on they
// are refused at once, but for one now and then that tries again.
//
// Pools go by shard id. A handle with another endpoint re-targets the shard's pool: new connections
// are made there, idle ones to the old endpoint are closed, and those in use when given back. The
// handle seen last counts, or where epochs are given, the one of the highest epoch: an older one
// is refused, so that handles before and after a change do not re-target the pool in turn. A
// connection always is to the endpoint of the handle it was asked for with. What belongs to a shard
// that is in no table any more is closed after max_lifetime.
//
// Thread safety: all methods may be called from any thread.
// Fork: in a forked child every call answers FAILED_PRECONDITION or nothing, and destruction
// touches no socket; the child may make pools of its own.
class ShardPools {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // Connects nothing. INVALID_ARGUMENT: bad options.
  static absl::StatusOr<std::unique_ptr<ShardPools>> Create(const ShardPoolsOptions& options);
  // Closes what is idle; what is in use is closed when given back. Waits for an attempt to connect
  // that is under way. No other call may be under way.
  ~ShardPools();
  ShardPools(const ShardPools&) = delete;
  ShardPools& operator=(const ShardPools&) = delete;

  // A connection to `shard`, by `deadline`. Callers are served in the order they came.
  //
  // DEADLINE_EXCEEDED: all connections were in use, or the server took too long; the message says
  // which. UNAVAILABLE: the server cannot be reached; or it could not a moment ago and callers are
  // refused, with the reason of then. FAILED_PRECONDITION: it refuses, until somebody repairs:
  // access denied, unknown database, a certificate that does not verify, a read-only server; or
  // this is a forked child. ABORTED: the shard got another endpoint while the caller waited: route
  // again. INVALID_ARGUMENT: the endpoint is none of the form above. Messages name the shard, and
  // its server unless the endpoint cannot be read; never the password.
  absl::StatusOr<ShardConnection> Take(const Shard& shard, TimePoint deadline);
  // The same with a handle of the table of `epoch` or a later one: what Router::epoch() said before
  // the shard was routed to. ABORTED also: the shard was asked for with a higher epoch and another
  // endpoint: route again.
  absl::StatusOr<ShardConnection> Take(const Shard& shard, uint64_t epoch, TimePoint deadline);

  // Of each shard that was asked for, in the order of their ids.
  std::vector<ShardPoolStats> Stats() const;

 private:
  class Rep;
  explicit ShardPools(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_SHARD_POOLS_H_
