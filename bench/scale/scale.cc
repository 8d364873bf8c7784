// SPDX-License-Identifier: Apache-2.0
// Prints the figures of docs/run/scale.md: what installations of four sizes ask of their parts.
// Figures that follow from locus itself are computed by its own code: generators on a store for two
// hours of simulated time, routing tables, commands and snapshots of a cluster. What was
// measured is given, with where docs/inside/benchmarks.md and docs/run/engines.md say so.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"
#include "locus/routing/engine/mysql.h"
#include "locus/routing/routing_table.h"
#include "locus/snowflake_layout.h"
#include "locus/strict_store.h"
#include "locus/testing/manual_clock.h"
#include "locus/testing/manual_executor.h"
#include "src/cluster/machine/codec.h"
#include "src/cluster/machine/machine.h"
#include "src/raft/core/codec.h"
#include "src/raft/core/types.h"
#include "src/raft/node/shell.h"
#include "src/worker/renewal.h"

namespace locus {
namespace {

struct Size {
  const char* name;
  double orders;     // a second, of all buyers
  double instances;  // processes that make order IDs
  int shards;
  double users;  // who have strict sequences
};
constexpr Size kSizes[] = {
    {"one process", 50, 1, 1, 20'000},
    {"a shop", 2'000, 20, 4, 1'000'000},
    {"a country", 100'000, 400, 64, 100'000'000},
    {"the largest", 10'000'000, 5'000, 2'000, 4'294'967'296},
};

// Measured: docs/inside/benchmarks.md and docs/run/engines.md.
constexpr double kCopiedRows = 80'000;      // a second, "Moving orders"
constexpr double kAppliedInserts = 61'000;  // a second, a transaction each
constexpr double kMariadbLeases = 1'855;    // a second of one thread, p50 0.53 ms
constexpr double kMariadbRows = 60'672;     // a second, 256 in a transaction, by one thread
constexpr double kLeaseRenewals = 21'376;   // a second, "Leases in locusd"
constexpr double kClusterLeases = 10'152;   // of order IDs, a second, "Leases in locusd"
constexpr double kHttpIds = 6e6;            // a second of one thread, batches of 100
constexpr double kDaysKept = 30;

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "scale: %s\n", value.status().ToString().c_str());
  std::exit(1);
}

// Counts what is leased from it.
class CountingStore : public SegmentStore {
 public:
  explicit CountingStore(Clock& clock) : store_(clock) {}

  absl::Status Create(const SpaceName& space, const SpaceOptions& options,
                      absl::Time now) override {
    return store_.Create(space, options, now);
  }
  absl::StatusOr<SpaceOptions> ReadOptions(const SpaceName& space) override {
    return store_.ReadOptions(space);
  }
  absl::StatusOr<SegmentReply> Allocate(const SpaceName& space, const SpaceOptions& options,
                                        std::span<const SegmentRequest> requests,
                                        absl::Time now) override {
    absl::StatusOr<SegmentReply> reply = store_.Allocate(space, options, requests, now);
    if (!reply.ok()) return reply;
    ++calls;
    for (const SegmentGrant& grant : reply->grants) {
      ++leases;
      sequences += static_cast<double>(grant.segment.length);
    }
    return reply;
  }
  absl::StatusOr<SpaceView> Show(const SpaceName& space, absl::Time now) override {
    return store_.Show(space, now);
  }
  absl::Status DeclareRestored(const SpaceName& space, absl::Time now) override {
    return store_.DeclareRestored(space, now);
  }
  absl::StatusOr<BaseRaise> Raise(const SpaceName& space, uint64_t to, RaiseReach reach,
                                  absl::Time now) override {
    return store_.Raise(space, to, reach, now);
  }

  double calls = 0, leases = 0, sequences = 0;

 private:
  MemorySegmentStore store_;
};

struct StoreLoad {
  double calls = 0;      // of all instances, a second
  double sections = 0;   // in them
  double sequences = 0;  // that all instances lease of one section, a second
};

// One of the instances for two hours, of which the second is counted.
StoreLoad LoadOfStore(const Size& size) {
  fakes::ManualClock clock;
  fakes::ManualExecutor executor;
  auto store = std::make_shared<CountingStore>(clock);
  OrderIdGenerator::Options options;
  options.create_space = true;
  options.clock = &clock;
  options.executor = &executor;
  auto generator = Must(OrderIdGenerator::Create(store, options));
  std::mt19937_64 random(20261125);
  double owed = 0;
  for (int second = 0; second < 7'200; ++second) {
    if (second == 3'600) store->calls = store->leases = store->sequences = 0;
    clock.Advance(absl::Seconds(1));
    executor.RunDelayed();
    for (owed += size.orders / size.instances; owed >= 1; --owed) {
      const auto gene = ShardGene::FromUint16(static_cast<uint16_t>(random()));
      if (!generator->TryNext(gene).ok()) executor.RunReady();
    }
    executor.RunReady();
  }
  return {store->calls / 3'600 * size.instances, store->leases / 3'600 * size.instances,
          store->sequences / 3'600 / 256 * size.instances};
}

size_t BytesOfTable(int shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 1; i <= shards; ++i) {
    names.emplace_back(absl::StrFormat("orders-%04d", i),
                       absl::StrFormat("mysql://orders-%04d.db.example:3306/orders", i));
  }
  return Must(RoutingTable::MakeEven(names, "9f1c02d7b5a64e38")).ToJson().size();
}

struct LeaseLoad {
  double renewals = 0;  // a second
  size_t command = 0;   // bytes of the log for one renewal
  size_t snapshot = 0;  // bytes, with a lease for each instance
  double traffic = 0;   // bytes a second from the leader to each follower
};

// Bytes of the message that carries one command, or of a heartbeat.
size_t BytesOfAppend(const std::string* command) {
  raft::Append append;
  append.term = append.prev_term = 3;
  append.prev_index = append.commit = 1'000'000;
  append.round = append.acked = 1'000'000;
  if (command != nullptr) append.entries.push_back({3, raft::Entry::Kind::kCommand, *command, {}});
  return raft::Encode(raft::Message(append)).size();
}

LeaseLoad LoadOfLeases(const Size& size) {
  namespace machine = cluster_machine;
  const WorkerLeaseTerm term;
  machine::Machine state;
  const absl::Time now = absl::FromUnixSeconds(1767225600);
  state.Apply({now, false, {{std::nullopt, SpaceName(), machine::Create{{}, now}, {}}}});
  const std::string holder = R"({"host":"orders-0001.example","pid":12345,"name":"orders"})";
  WorkerGrant last;
  for (int i = 0; i < static_cast<int>(size.instances); ++i) {
    WorkerAcquire acquire;
    acquire.range = {0, 65'535};
    acquire.start = static_cast<uint64_t>(i);
    acquire.nonce = absl::StrFormat("%032x", i);
    acquire.holder = holder;
    acquire.caller_now = now;
    const auto applied = state.Apply({now, false, {{std::nullopt, SpaceName(), acquire, {}}}});
    if (!applied.answers[0].grant) {
      std::fprintf(stderr, "scale: %s\n", applied.answers[0].status.ToString().c_str());
      std::exit(1);
    }
    last = *applied.answers[0].grant;
  }
  WorkerRenew renew;
  renew.worker = last.worker;
  renew.token = last.token;
  renew.ceiling = last.ceiling;
  renew.nonce = absl::StrFormat("%032x", 1);
  renew.holder = holder;
  renew.caller_now = now;
  const machine::Command command{now, false, {{std::nullopt, SpaceName(), renew, {}}}};
  const std::string bytes = Must(machine::Encode(command));
  const double renewals = size.instances / absl::ToDoubleSeconds(worker::RenewalInterval(term.ttl));
  const double heartbeats = 10e3 / static_cast<double>(raft::ShellOptions().election.count());
  return {renewals, bytes.size(), state.Snapshot().size(),
          renewals * static_cast<double>(BytesOfAppend(&bytes)) +
              heartbeats * static_cast<double>(BytesOfAppend(nullptr))};
}

double SectionsOf(const Size& size) {
  StrictSetOptions set;
  set.uids = static_cast<uint64_t>(size.users);
  return set.sections();
}
// Rows a second: an owner renews a lease three times in its ttl.
double StrictRenewals(const Size& size) {
  return SectionsOf(size) / absl::ToDoubleSeconds(StrictSetOptions().ttl / 3);
}

std::string Number(double value) {
  if (value != 0 && value < 10) return absl::StrFormat("%.2g", value);
  std::string digits = absl::StrFormat("%.0f", value);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}
std::string Bytes(double bytes) {
  if (bytes >= 1e6) return absl::StrFormat("%.1f MB", bytes / 1e6);
  return bytes >= 1e3 ? absl::StrFormat("%.1f kB", bytes / 1e3) : Number(bytes) + " B";
}
std::string Span(double seconds) {
  if (seconds >= 172'800) return absl::StrFormat("%.1f days", seconds / 86'400);
  if (seconds >= 7'200) return absl::StrFormat("%.1f hours", seconds / 3'600);
  return seconds >= 120 ? absl::StrFormat("%.1f minutes", seconds / 60)
                        : absl::StrFormat("%.1f seconds", seconds);
}

void Row(const std::string& what, const std::function<std::string(const Size&)>& figure) {
  std::printf("| %s |", what.c_str());
  for (const Size& size : kSizes) std::printf(" %s |", figure(size).c_str());
  std::printf("\n");
}

void PrintLoads(const std::vector<StoreLoad>& loads) {
  std::printf("| |");
  for (const Size& size : kSizes) std::printf(" %s |", size.name);
  std::printf("\n| --- |");
  for (size_t i = 0; i < std::size(kSizes); ++i) std::printf(" --- |");
  std::printf("\n");
  Row("orders a second", [](const Size& size) { return Number(size.orders); });
  Row("service instances", [](const Size& size) { return Number(size.instances); });
  Row("shards", [](const Size& size) { return Number(size.shards); });
  Row("order IDs a second of one vnode",
      [](const Size& size) { return Number(size.orders / 65'536); });
  auto at = [&loads](const Size& size) -> const StoreLoad& {
    return loads[static_cast<size_t>(&size - kSizes)];
  };
  Row("store: leases a second, each one transaction",
      [&](const Size& size) { return Number(at(size).calls); });
  Row("store: rows written by them a second",
      [&](const Size& size) { return Number(at(size).sections); });
  Row("store: sequences leased of a section a second",
      [&](const Size& size) { return Number(at(size).sequences); });
  Row("routing table",
      [](const Size& size) { return Bytes(static_cast<double>(BytesOfTable(size.shards))); });
  Row("MariaDB as its place: reads of the epoch a second", [](const Size& size) {
    return Number(size.instances / absl::ToDoubleSeconds(MysqlTableOptions().poll_every));
  });
  Row("a new table: bytes sent", [](const Size& size) {
    return Bytes(static_cast<double>(BytesOfTable(size.shards)) * size.instances);
  });
  Row("worker leases: renewals a second",
      [](const Size& size) { return Number(LoadOfLeases(size).renewals); });
  Row("worker leases: log, a day", [](const Size& size) {
    const LeaseLoad load = LoadOfLeases(size);
    return Bytes(load.renewals * static_cast<double>(load.command) * 86'400);
  });
  Row("worker leases: snapshot",
      [](const Size& size) { return Bytes(static_cast<double>(LoadOfLeases(size).snapshot)); });
  Row("worker leases: Raft, from the leader to each follower, a second",
      [](const Size& size) { return Bytes(LoadOfLeases(size).traffic); });
  Row("strict sequences: users", [](const Size& size) { return Number(size.users); });
  Row("strict sequences: sections, of which each is one stored row",
      [](const Size& size) { return Number(SectionsOf(size)); });
  Row("strict sequences: rows renewed a second",
      [](const Size& size) { return Number(StrictRenewals(size)); });
  Row("a shard: orders a second",
      [](const Size& size) { return Number(size.orders / size.shards); });
  Row("a shard: vnodes", [](const Size& size) { return Number(65'536.0 / size.shards); });
  Row(absl::StrFormat("rows of one vnode, %.0f days kept", kDaysKept),
      [](const Size& size) { return Number(size.orders / 65'536 * 86'400 * kDaysKept); });
  Row("time to copy one vnode", [](const Size& size) {
    return Span(size.orders / 65'536 * 86'400 * kDaysKept / kCopiedRows);
  });
  Row("time to copy a shard", [](const Size& size) {
    return Span(size.orders / size.shards * 86'400 * kDaysKept / kCopiedRows);
  });
}

struct Limit {
  const char* what;
  double used, limit;
};

// Of the largest installation.
void PrintLimits(const StoreLoad& store) {
  const Size& size = kSizes[std::size(kSizes) - 1];
  const LeaseLoad leases = LoadOfLeases(size);
  std::vector<Limit> limits = {
      {"connections of a shard, one of each instance; MariaDB's max_connections", size.instances,
       151},
      {"worker IDs of the default Snowflake layout", size.instances,
       static_cast<double>(1 << SnowflakeOneWorkerLayout::kWidths.worker)},
      {"leases a second of one MariaDB, one thread", store.calls, kMariadbLeases},
      {"leases a second of order IDs of one cluster of locusd, 16 at once", store.calls,
       kClusterLeases},
      {"rows of strict sections renewed a second in one MariaDB, 256 at once", StrictRenewals(size),
       kMariadbRows},
      {"leases held of one cluster of locusd", size.instances,
       static_cast<double>(cluster_machine::kMostHeld)},
      {"renewals a second of one cluster of locusd", leases.renewals, kLeaseRenewals},
      {"inserts a second that a move follows", size.orders / size.shards, kAppliedInserts},
      {"shards of a routing table", static_cast<double>(size.shards),
       static_cast<double>(RoutingTable::kMaxShards)},
      {"sequences a second of a section", store.sequences,
       static_cast<double>(SpaceOptions().floor_rate)},
      {"IDs a second of a thread of the ID service, each instance one",
       size.orders / size.instances, kHttpIds},
  };
  std::sort(limits.begin(), limits.end(), [](const Limit& one, const Limit& other) {
    return one.used / one.limit > other.used / other.limit;
  });
  std::printf("\n| what | used | limit | part |\n| --- | --- | --- | --- |\n");
  for (const Limit& limit : limits) {
    std::printf("| %s | %s | %s | %.3g |\n", limit.what, Number(limit.used).c_str(),
                Number(limit.limit).c_str(), limit.used / limit.limit);
  }
}

}  // namespace
}  // namespace locus

int main() {
  std::vector<locus::StoreLoad> loads;
  for (const locus::Size& size : locus::kSizes) loads.push_back(locus::LoadOfStore(size));
  locus::PrintLoads(loads);
  locus::PrintLimits(loads.back());
}
