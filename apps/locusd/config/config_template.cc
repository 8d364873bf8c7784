// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_template.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::locusd {
namespace {

constexpr char kHead[] =
    R"(# locusd: /etc/locusd/locusd.toml. `locusd --config FILE --check` reads it and says what is wrong.
# Lines behind "#" show the defaults; docs/locusd.md and docs/http.md explain the keys.
)";

constexpr char kNode[] = R"(cluster = "orders"
data = "/var/lib/locusd"

[raft]                              # from node to node
listen = "127.0.0.1:7071"
# advertise = "HOST:PORT"           # where others reach it: `listen`
# authority = "/etc/locusd/ca.pem"  # TLS: all three, or none; needed beyond loopback
# certificate = "/etc/locusd/node.pem"
# key = "/etc/locusd/node.key"
# election = "600ms"
# compact_entries = 10000
# compact_bytes = 16777216
)";

constexpr char kDataOfAudit[] =
    R"(# data = "/var/lib/locusd"          # for [audit]: what waits for ClickHouse
)";

constexpr char kApi[] = R"(
[api]                               # for clients and operators
listen = "127.0.0.1:7070"
)";

constexpr char kApiOfNode[] = R"(# advertise = "HOST:PORT"
)";

constexpr char kApiRest[] =
    R"(# token_files = []                  # mode 0600, one token each; needed beyond loopback, as is TLS
# operator_token_files = []         # the same for operators; empty: token_files serve them too
# certificate = "/etc/locusd/api.pem"
# key = "/etc/locusd/api.key"
# threads = 1
# connections = 1024
# connections_per_address = 768     # 0: no limit
# header_bytes = 16384
# body_bytes = 1048576
# request_timeout = "10s"
# idle_timeout = "60s"
# rate = 10000                      # requests a second from one address; 0: no limit
# burst = 10000
# under_way = 1024                  # requests that are not answered yet
# drain_delay = "0s"                # /readyz says no for so long before the end
)";

constexpr char kApiForward[] =
    R"(# forward = 64                      # requests handed on to the leader at once; 0: never
# forward_authority = ""            # PEM, for the leader's API; those of the system
# store = false                     # keeps order IDs, counters, rules, strict sections, too
)";

constexpr char kIds[] = R"(
[ids]                               # IDs over HTTP; what has no section is not offered
# buyers = "uint64"                 # keys of buyers: "uint64" or "text"
# space = "orders"                  # of order IDs, and of the keys of their order_nos
# keys = ""                         # key ring of order_nos, mode 0600: `locus keys new`; none
# wait = "2s"                       # for a store, until a request gets 503
# waiters = 4                       # threads that wait
# waiting = 256                     # requests that may wait at once
# remember = "10m"                  # how long an Idempotency-Key gets the same IDs
# remember_bytes = 67108864

[ids.orders]                        # order IDs; stores as in `locus --store`
store = "sqlite:/var/lib/locusd/ids.db"
# password_file = ""                # mode 0600; none
create = true                       # a missing file, tables, space; the default is false
# wide = false                      # 128-bit IDs once a vnode's 47 bits are used up
# horizon = "10m"                   # how long it goes on without the store

[ids.sequences]                     # numbers
store = "sqlite:/var/lib/locusd/ids.db"
# password_file = ""
# ceiling = ""                      # for redis: sqlite or mysql, so that no number repeats
# ceiling_password_file = ""
create = true                       # a missing file or tables; `locus seq create` marks them, once
# names = []                        # the only sequences there are; any
# most = 1000                       # sequences
# horizon = "10m"

[ids.snowflake]                     # Snowflake IDs by a worker lease of this process
leases = "sqlite:/var/lib/locusd/ids.db"
# password_file = ""                # of locusd://: its token
# space = "orders"                  # of worker leases; made by `locus lease create`
create = true                       # a missing file or tables; the default is false
# ttl = "10m"
# max_skew = "10s"
# datacenter = 0                    # 0 to 31: only its 32 worker IDs; without the line, all

# [ids.table]                       # routing table: shards of orders, /v1/route
# place = "file:/var/lib/locusd/table.json"
# password_file = ""
# last_good_file = ""               # to start while the place does not answer; none
# confirm_every = "5s"
)";

constexpr char kStrict[] = R"(
[strict]                            # strict sequences: docs/strict.md
name = "node-1"                     # of this node; no two of a set have one name
store = "sqlite:/var/lib/locusd/strict.db"
# password_file = ""                # mode 0600; none
create = true                       # a missing file, tables, the set; the default is false
# advertise = "HOST:PORT"           # where clients and other nodes reach the API: `api.listen`
# set = "orders"                    # the same on all nodes: users of two sets are two users
# first_uid = 0                     # these five are stored with the set, and alike on all nodes
# uids = 4294967296
# section_size = 100000
# step = 10000
# ttl = "10s"
# sections = []                     # exactly these, as "0-99"; spread over the nodes by load
# weight = 100                      # this node's part of the load, against the others'
# memory_bytes = 1073741824         # that the numbers of keys may have
# token_file = ""                   # shown to the other nodes: a token with the scope strict; none
# authority = ""                    # PEM, for the other nodes' APIs; those of the system
)";

constexpr char kToken[] = R"(
# [[token]]                         # a client, beside token_files; as many as there are clients
# name = "shop"                     # for logs and metrics
# file = "/etc/locusd/shop.token"   # mode 0600
# scopes = ["ids", "route"]         # ids, route, decode, leases, store, operate,
#                                   # publish, strict, read
# expires = "2099-12-31T00:00:00Z"  # without the line, never
# rate = 0                          # requests a second; 0: no limit
# burst = 1000
)";

constexpr char kConsole[] = R"(
[console]                           # the operator's page, at / of the API
# environment = "production"        # named in its header; without the line, not
# colour = "red"                    # of that name: red, amber, green or blue; grey
# move_file = ""                    # by `locus move new`: whose moves it shows; the table's only
# streams = 128                     # pages that get events, at once
)";

constexpr char kLog[] = R"(
[log]
# level = "info"                    # trace, debug, info, warn, error
)";

constexpr char kHealth[] = R"(
# [health]                          # probes of holders; without this section, none
# allowed = ["10.1.0.0/16"]         # blocks of addresses that may be probed: the holders' network
# authority = ""                    # PEM, for https URLs; those of the system
# interval = "10s"
# timeout = "2s"
# failures = 3                      # in a row
# at_once = 64
# per_second = 100
)";

constexpr char kAudit[] = R"(
# [audit]                           # where facts go; without this section, nowhere
# clickhouse = "127.0.0.1:8123"     # HOST:PORT of its HTTP interface
# database = "default"
# table = "locus_audit"
# user = ""                         # empty: that of the server
# password_file = ""                # mode 0600
# tls = false
# authority = ""                    # PEM; those of the system
# timeout = "5s"
# renewals = 0                      # one renewal of so many is recorded; 0: none
# queue = 65536                     # records in memory
# spill_bytes = 268435456           # of DATA/audit, where records wait while ClickHouse is away
)";

}  // namespace

std::string ConfigTemplate(const TemplateRoles& roles) {
  std::string text = kHead;
  std::string names;
  for (const auto& [has, name] :
       {std::pair(roles.cluster_node, "cluster-node"), std::pair(roles.id_service, "id-service"),
        std::pair(roles.sequence_node, "sequence-node")}) {
    if (has) absl::StrAppend(&names, names.empty() ? "" : ", ", "\"", name, "\"");
  }
  absl::StrAppend(&text,
                  "# Of cluster-node, id-service and sequence-node, one or several:\nroles = [",
                  names, "]\n");
  if (roles.cluster_node) {
    text += kNode;
  } else {
    text += kDataOfAudit;
  }
  text += kApi;
  if (roles.cluster_node) text += kApiOfNode;
  text += kApiRest;
  if (roles.cluster_node) text += kApiForward;
  if (roles.id_service) text += kIds;
  if (roles.sequence_node) text += kStrict;
  text += kToken;
  text += kConsole;
  text += kLog;
  if (roles.cluster_node) text += kHealth;
  text += kAudit;
  return text;
}

}  // namespace locus::locusd
