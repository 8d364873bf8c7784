// SPDX-License-Identifier: Apache-2.0
// What moves, and how even it is afterwards, when shards come, go and change their weights: locus
// plan beside jump consistent hash, ketama and Redis Cluster's rebalance, on the same keys. Prints
// the tables of docs/inside/routing.md; figures do not depend on the machine.
// usage: rebalance_peers [FILE]
//        FILE: a buyer key (uint64) a line, as often as the buyer ordered; blank lines are skipped.
//        Without it: 1,000,000 random keys, once each.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/planner/placement_peers.h"
#include "locus/internal/gene_hash.h"
#include "locus/routing/rebalance.h"

namespace locus {

using internal::GeneOf8;
using internal::Xxh64Of8;

namespace {

struct Buyer {
  uint64_t key;
  double orders;
};
using Buyers = std::vector<Buyer>;

Buyers MadeUpBuyers() {
  std::mt19937_64 random(1);
  Buyers buyers;
  for (int i = 0; i < 1000000; ++i) buyers.push_back({random(), 1});
  return buyers;
}

Buyers ReadBuyers(const char* path) {
  std::ifstream file(path);
  std::map<uint64_t, double> orders;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) ++orders[std::stoull(line)];
  }
  Buyers buyers;
  for (auto [key, count] : orders) buyers.push_back({key, count});
  if (!buyers.empty()) return buyers;
  std::fprintf(stderr, "rebalance_peers: no keys in %s\n", path);
  std::exit(1);
}

// From `before` shards of weight 1 to shards of these weights; the last one is who comes or goes.
struct Change {
  std::string what;
  uint32_t before;
  std::vector<uint32_t> after;

  size_t shards() const { return std::max<size_t>(before, after.size()); }
  uint32_t weight(size_t shard) const { return shard < after.size() ? after[shard] : 0; }
  double part_after(size_t shard) const {
    return weight(shard) / std::accumulate(after.begin(), after.end(), 0.0);
  }
  double part_before(size_t shard) const { return shard < before ? 1.0 / before : 0; }
};

std::vector<Change> Changes() {
  std::vector<Change> changes;
  for (uint32_t n : {4, 8, 16}) {
    changes.push_back({std::to_string(n) + " shards, one more", n, std::vector(n + 1, 1u)});
  }
  for (uint32_t n : {4, 8, 16}) {
    changes.push_back({std::to_string(n) + " shards, one less", n, std::vector(n - 1, 1u)});
  }
  for (uint32_t n : {4, 8, 16}) {
    std::vector<uint32_t> weights(n, 1);
    weights[0] = 2;
    changes.push_back({std::to_string(n) + " shards, one of double weight", n, weights});
  }
  return changes;
}

// The shard of each buyer before and after.
struct Placement {
  std::vector<uint32_t> before;
  std::vector<uint32_t> after;
};
using Place = std::function<uint32_t(uint64_t key)>;

Placement PlaceEach(const Buyers& buyers, const Place& before, const Place& after) {
  Placement placement;
  for (const Buyer& buyer : buyers) {
    placement.before.push_back(before(buyer.key));
    placement.after.push_back(after(buyer.key));
  }
  return placement;
}

ShardGene GeneOf(uint64_t key) { return ShardGene::FromUint16(GeneOf8(key)); }

// Shard i has the id i + 1.
Placement ByLocus(const Change& change, const Buyers& buyers, bool by_load) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < change.before; ++i)
    names.emplace_back("s" + std::to_string(i), "host-s" + std::to_string(i));
  RoutingTable table = RoutingTable::MakeEven(names).value();

  RebalanceRequest request;
  for (size_t i = 0; i < change.shards(); ++i) {
    std::string name = "s" + std::to_string(i);
    if (i >= change.before) {
      request.add.push_back(
          {.name = name, .endpoint = "host-" + name, .weight = 100 * change.weight(i)});
    } else if (change.weight(i) == 0) {
      request.remove.push_back(name);
    } else if (change.weight(i) != 1) {
      request.weights[name] = 100 * change.weight(i);
    }
  }
  if (by_load) {
    request.load.resize(ShardGene::kCount);
    for (const Buyer& buyer : buyers) request.load[GeneOf8(buyer.key)] += buyer.orders;
  }
  RoutingTable after = AfterRebalance(PlanRebalance(table, request).value());
  auto in = [](const RoutingTable& of) {
    return [&of](uint64_t key) { return of.OwnerOf(GeneOf(key)).id - 1; };
  };
  return PlaceEach(buyers, in(table), in(after));
}

// A shard of weight 2 is two buckets, the second of them numbered after all others.
Placement ByJumpHash(const Change& change, const Buyers& buyers) {
  std::vector<uint32_t> shard_of_bucket(change.after.size());
  std::iota(shard_of_bucket.begin(), shard_of_bucket.end(), 0);
  for (uint32_t shard = 0; shard < change.after.size(); ++shard) {
    for (uint32_t n = 1; n < change.after[shard]; ++n) shard_of_bucket.push_back(shard);
  }
  auto buckets = static_cast<uint32_t>(shard_of_bucket.size());
  return PlaceEach(
      buyers, [&](uint64_t key) { return peers::JumpHash(Xxh64Of8(key), change.before); },
      [&](uint64_t key) { return shard_of_bucket[peers::JumpHash(Xxh64Of8(key), buckets)]; });
}

peers::Ketama KetamaOf(const std::vector<uint32_t>& weights) {
  std::vector<peers::Ketama::Server> servers;
  for (uint32_t weight : weights) {
    servers.push_back({"10.0.0." + std::to_string(servers.size() + 1) + ":11211", weight});
  }
  return peers::Ketama(servers);
}

Placement ByKetama(const Change& change, const Buyers& buyers) {
  peers::Ketama before = KetamaOf(std::vector(change.before, 1u));
  peers::Ketama after = KetamaOf(change.after);
  auto in = [](const peers::Ketama& circle) {
    return [&circle](uint64_t key) { return circle.ServerOf(std::to_string(key)); };
  };
  return PlaceEach(buyers, in(before), in(after));
}

Placement ByRedis(const Change& change, const Buyers& buyers) {
  std::vector<float> weights;
  for (size_t i = 0; i < change.shards(); ++i) {
    weights.push_back(static_cast<float>(change.weight(i)));
  }
  peers::RedisSlots before = peers::CreateRedisCluster(change.before);
  peers::RedisSlots after = peers::RebalanceRedisCluster(before, weights);
  auto in = [](const peers::RedisSlots& slots) {
    return [&slots](uint64_t key) { return slots[peers::RedisSlotOf(std::to_string(key))]; };
  };
  return PlaceEach(buyers, in(before), in(after));
}

// What every scheme has to move for the parts that are asked for.
double FewestMoved(const Change& change) {
  double moved = 0;
  for (size_t i = 0; i < change.shards(); ++i) {
    moved += std::max(0.0, change.part_after(i) - change.part_before(i));
  }
  return moved;
}

// "20.02 % / 1.004": orders that moved, and the load of the shard that has most of its part.
std::string Cell(const Change& change, const Buyers& buyers, const Placement& placement) {
  double all = 0;
  double moved = 0;
  std::vector<double> load(change.shards());
  for (size_t i = 0; i < buyers.size(); ++i) {
    all += buyers[i].orders;
    load[placement.after[i]] += buyers[i].orders;
    if (placement.before[i] != placement.after[i]) moved += buyers[i].orders;
  }
  double peak = 0;
  for (size_t shard = 0; shard < change.after.size(); ++shard) {
    peak = std::max(peak, load[shard] / all / change.part_after(shard));
  }
  char text[64];
  std::snprintf(text, sizeof text, "%.2f %% / %.3f", 100 * moved / all, peak);
  return text;
}

void PrintTable(const Buyers& buyers) {
  std::puts(
      "| change | has to move | locus plan | locus plan --load | jump hash | ketama | Redis "
      "Cluster "
      "|\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |");
  for (const Change& change : Changes()) {
    std::printf("| %s | %.2f %% | %s | %s | %s | %s | %s |\n", change.what.c_str(),
                100 * FewestMoved(change),
                Cell(change, buyers, ByLocus(change, buyers, false)).c_str(),
                Cell(change, buyers, ByLocus(change, buyers, true)).c_str(),
                Cell(change, buyers, ByJumpHash(change, buyers)).c_str(),
                Cell(change, buyers, ByKetama(change, buyers)).c_str(),
                Cell(change, buyers, ByRedis(change, buyers)).c_str());
  }
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fputs("usage: rebalance_peers [FILE]\n", stderr);
    return 2;
  }
  locus::PrintTable(argc == 2 ? locus::ReadBuyers(argv[1]) : locus::MadeUpBuyers());
}
