// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/shared/moves/move_file.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::Printable;
using internal::ToAbsl;

namespace {

// As a basic string of TOML. What is no UTF-8 cannot be one, and makes the file unreadable.
std::string TomlText(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&out, "\\u", absl::Hex(c, absl::kZeroPad4));
    } else {
      absl::StrAppend(&out, c == '\\' || c == '"' ? "\\" : "", std::string(1, c));
    }
  }
  return out + "\"";
}

std::string NameOf(const RoutingTable& table, uint32_t shard) {
  const Shard* found = table.FindShard(shard);
  return Printable(found == nullptr ? "" : found->name, RoutingTable::kMaxNameBytes);
}

std::string RangesOf(const std::vector<FencedRange>& ranges) {
  constexpr size_t kMost = 8;
  std::vector<std::string> parts;
  for (const FencedRange& range : ranges) {
    if (parts.size() == kMost) {
      parts.push_back(absl::StrCat("and ", ranges.size() - kMost, " more"));
      break;
    }
    parts.push_back(absl::StrCat(range.lo, "-", range.hi));
  }
  return absl::StrJoin(parts, ", ");
}

std::string MovesOfTable(const std::string& name, const RoutingTable& table) {
  absl::StatusOr<std::vector<MoveLeg>> legs = MoveLegsOf(table);
  if (!legs.ok()) {
    return absl::StrCat("# The moves of the table cannot run: ", legs.status().message(), "\n");
  }
  if (legs->empty()) return "# The table has no moves yet: `locus plan apply` begins some.\n";
  std::string text = absl::StrCat("# The moves of epoch ", table.epoch(), ":\n");
  for (const MoveLeg& leg : *legs) {
    absl::StrAppend(&text, "#   ", name, ".", leg.source, ">", leg.target, "   ",
                    NameOf(table, leg.source), " -> ", NameOf(table, leg.target), ", vnodes ",
                    RangesOf(leg.ranges), "\n");
  }
  return text;
}

constexpr char kAccounts[] = R"toml(
# The accounts that move orders, as USER() shows them on the shards: NAME@HOST, the host exactly
# that from which they connect. The guards let them pass, so nobody else may log in by these names.
movers = ["locus_mover@10.0.0.5"]

# Every table that has rows of orders, also order lines, payments, and the like. A table that is
# left out stays where it is.
[[tables]]
name = "orders"
# How a row says to which order it belongs:
#   "order_id"         a BIGINT with narrow order IDs
#   "order_id_bytes"   a VARBINARY(16) with order IDs of 8 and 16 bytes
#   "gene_and_cohort"  two columns, of tables that have only an order_no
key = "order_id"
order_id = "order_id"           # the column of the order ID
# gene = "shard_gene"           # these two where key = "gene_and_cohort"
# cohort = "cohort"
primary_key = ["order_id"]      # its columns, in the order of the key
version = "version"             # BIGINT UNSIGNED NOT NULL; rises with each change of a row
replaces = false                # true: clients use REPLACE on it, which is otherwise refused

# [[tables]]
# name = "order_items"
# primary_key = ["order_id", "line"]

[accounts]
# Accounts NAME@HOST that may keep rights which a move does not survive, such as DROP, ALTER and
# TRUNCATE of its tables. Their owners must not use them while it runs. root needs no mention.
administrators = []

[accounts.mover]
user = "locus_mover"
password_file = "/etc/locus/mover.password"  # permissions 0600; the password is its first line
# "beyond_loopback": TLS with a verified certificate, except to this host. "always": to this host
# as well. "never": anyone on the network path can read and change orders.
tls = "$tls"
# tls_ca = "/etc/locus/ca.pem"  # the authorities that may sign; without it, those of the system
connect_timeout = "$connect"      # one attempt to connect. Longer: a dead shard is noticed later
timeout = "$timeout"              # one answer. Shorter: a busy shard is taken for a dead one

# Of a shard, by its name in the routing table. hosts: where it is reached, instead of the endpoint's
# host. candidates: the replicas that a failover may promote; a band is handed over only when each
# of them has it, so without them a promotion may lose orders.
)toml";

constexpr char kPace[] = R"toml(
[pace]
by = $by               # cohorts of one step, of 10000. More: fewer steps, more orders wait at each
dwell = "$dwell"           # watched after a step before the next. Longer: faults show earlier
accept_within = "$accept"   # the other shard's time to accept a band; then the step is taken back
fence_wait = "$fence"   # a step's wait for writers; every writer of the vnodes queues meanwhile
chunk_time = "$chunk"   # one chunk of the copy. Longer: faster, and more load at a time

[gates]
# What must hold before a step.
lag = "$lag"                  # of both streams. Larger: bands wait longer at a step
oldest_transaction = "$oldest"   # on either shard: a step waits for those that hold its fence
history_list = $history          # row versions that InnoDB keeps for old readers
patience = "$patience"                # a gate that fails for longer holds the move
# Run by /bin/sh before each step, with LOCUS_MOVE, LOCUS_SHARE and LOCUS_NEXT_SHARE in its
# environment; exit 0 lets the step go on. Empty: none.
command = ""
command_rolls_back = false     # true: its failure takes the move back to share 0
)toml";

}  // namespace

std::string NewMoveFile(const std::string& name, const std::string& table_place,
                        const RoutingTable& table) {
  std::string text = absl::StrCat(
      "# A move of orders between shards; see docs/move/move-file.md. Check it with `locus move "
      "preflight`.\n",
      MovesOfTable(name, table),
      "\n# a-z, 0-9, - _ and . The shards keep what they know of the moves under this name: give "
      "it once.\nname = ",
      TomlText(name),
      "\n# The place where the routing table is published: file:PATH, or another URI.\ntable = ",
      TomlText(table_place),
      "\n# Which of the table's moves are this file's, as SOURCE>TARGET; without it, all that no "
      "other\n# file has begun.\n# moves = [\"1>2\"]\n");
  const MysqlOptions mover;
  absl::StrAppend(&text, absl::StrReplaceAll(
                             kAccounts, {{"$tls", ToAbsl(ToString(mover.tls))},
                                         {"$connect", absl::FormatDuration(mover.connect_timeout)},
                                         {"$timeout", absl::FormatDuration(mover.timeout)}}));
  std::vector<MoveLeg> legs = MoveLegsOf(table).value_or(std::vector<MoveLeg>());
  for (const Shard& shard : table.shards()) {
    for (const MoveLeg& leg : legs) {
      if (leg.source != shard.id && leg.target != shard.id) continue;
      absl::StrAppend(&text, "# [shards.", TomlText(shard.name),
                      "]\n# hosts = [\"10.0.0.11:3306\"]\n"
                      "# candidates = [\"10.0.0.12:3306\", \"10.0.0.13:3306\"]\n");
      break;
    }
  }
  const MovePace pace;
  const MoveGates gates;
  absl::StrAppend(&text, absl::StrReplaceAll(
                             kPace, {{"$by", absl::StrCat(pace.by)},
                                     {"$dwell", absl::FormatDuration(pace.dwell)},
                                     {"$accept", absl::FormatDuration(pace.accept_within)},
                                     {"$fence", absl::FormatDuration(pace.fence_wait)},
                                     {"$chunk", absl::FormatDuration(pace.chunk_time)},
                                     {"$lag", absl::FormatDuration(gates.lag)},
                                     {"$oldest", absl::FormatDuration(gates.oldest_transaction)},
                                     {"$history", absl::StrCat(gates.history_list)},
                                     {"$patience", absl::FormatDuration(gates.patience)}}));
  return text;
}

}  // namespace locus::apps
