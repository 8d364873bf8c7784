// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_URI_STORE_URI_H_
#define LOCUS_ROUTING_URI_STORE_URI_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace locus::internal {

// Where a store is:
//
//   sqlite:PATH                                       PATH is all after the colon, as it stands
//   mysql://[user@]host[:3306][,host...]/database     several hosts: the nodes of a Galera cluster
//   redis://[user@]host[:6379][,host...][/0]          several hosts: nodes of a Redis Cluster
//   redis+sentinel://[user@]host[:26379][,host...]/master-name
//   etcd://[user@]host[:2379][,host...][/prefix]
//   zookeeper://[user@]host[:2181][,host...][/prefix] no counters
//   locusd://host[:7070][,host...]                    the API of each node; raft:// is the same
//
// as locus/routing/uri.h says.
struct StoreUri {
  enum class Engine { kSqlite, kMysql, kRedis, kRedisSentinel, kEtcd, kZookeeper, kLocusd };
  struct Host {
    std::string name;  // an IPv6 address without its brackets
    uint16_t port = 0;
    friend bool operator==(const Host&, const Host&) = default;
  };

  std::string text;  // as it was written
  Engine engine = Engine::kSqlite;
  // sqlite: the file. mysql: the database. redis+sentinel: the master's name. etcd and
  // zookeeper: the prefix, which may be empty. redis, locusd: empty.
  std::string path;
  std::vector<Host> hosts;  // at least one; none for sqlite
  std::string user;
  uint32_t redis_database = 0;
  std::map<std::string, std::string> settings;  // after the '?'

  // The value of a setting, "" where it has none.
  std::string Setting(const std::string& name) const;

  // INVALID_ARGUMENT, naming the text, what is wrong in it and the forms there are. A password in
  // it is not repeated. `what`: what messages call it.
  static absl::StatusOr<StoreUri> Parse(std::string_view text, std::string_view what = "store");
};

// The text of a URI, quoted for a message, without what may be a password in it.
std::string ShownUri(std::string_view text);
// Whether a password may stand in it.
bool MayHavePassword(std::string_view uri);

// For the help of --store, of counters.
inline constexpr char kStoreUriHelp[] =
    "sqlite:PATH, mysql://USER@HOST:PORT/DB, redis://HOST:PORT/DB, "
    "redis+sentinel://H1:P1,H2:P2/MASTER, etcd://H1:P1,H2:P2/PREFIX or locusd://H1:P1,H2:P2";

// The same for stores of order IDs.
inline constexpr char kSegmentUriHelp[] =
    "sqlite:PATH, mysql://USER@HOST:PORT/DB, redis://HOST:PORT/DB, "
    "redis+sentinel://H1:P1,H2:P2/MASTER, etcd://H1:P1,H2:P2/PREFIX, "
    "zookeeper://H1:P1,H2:P2/PREFIX or locusd://H1:P1,H2:P2";

// The same for places of worker leases.
inline constexpr char kLeaseUriHelp[] =
    "sqlite:PATH, mysql://USER@HOST:PORT/DB, redis://HOST:PORT/DB, "
    "redis+sentinel://H1:P1,H2:P2/MASTER, etcd://H1:P1,H2:P2/PREFIX, "
    "zookeeper://H1:P1,H2:P2/PREFIX or locusd://H1:P1,H2:P2";

// The same for clusters of locusd.
inline constexpr char kClusterUriHelp[] = "locusd://H1:P1,H2:P2";

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_URI_STORE_URI_H_
