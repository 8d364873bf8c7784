// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/router.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

constexpr uint32_t kInstalls = 10000;
static_assert(kInstalls <= RoutingTable::kMaxPermyriad);

// The vnodes from 0 on that each table changes, and that readers ask for.
// With sanitizers fewer: a word takes many times as long.
constexpr int kVnodes = kUnderTsan ? 4096 : kUnderAsan ? 16384 : ShardGene::kCount;

// Table E gives every one of kVnodes the same word, from which E can be read back: permyriad E,
// owner and target as functions of E with periods that have no common divisor. Each description
// names E in every part but its id. The other vnodes stay with a shard of their own.
uint32_t OwnerOf(uint64_t epoch) { return static_cast<uint32_t>(1 + epoch % 3); }
uint32_t TargetOf(uint64_t epoch) { return static_cast<uint32_t>(1 + (epoch + 1 + epoch % 2) % 3); }

RoutingTable TableOf(uint64_t epoch) {
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= 3; ++id) {
    shards.push_back({.id = id,
                      .name = absl::StrCat(id, "-", epoch),
                      .endpoint = absl::StrCat("host-", id, "-", epoch),
                      .weight = static_cast<uint32_t>(epoch),
                      .labels = {{"epoch", absl::StrCat(epoch)}}});
  }
  constexpr uint16_t kLast = kVnodes - 1;
  std::vector<VnodeRange> ranges = {{kLast, OwnerOf(epoch)}};
  if (kVnodes < ShardGene::kCount) {
    shards.push_back({.id = 4, .name = "others", .endpoint = "host", .labels = {}});
    ranges.push_back({65535, 4});
  }
  VnodeMove move{0, kLast, TargetOf(epoch), static_cast<uint32_t>(epoch)};
  return RoutingTable::Make(epoch, shards, ranges, {move}).value();
}

// Of every epoch from 1.
const std::vector<RoutingTable>& Tables() {
  static const std::vector<RoutingTable> tables = [] {
    std::vector<RoutingTable> made;
    for (uint64_t epoch = 1; epoch <= kInstalls; ++epoch) made.push_back(TableOf(epoch));
    return made;
  }();
  return tables;
}

ShardGene GeneOf(uint64_t number) {
  return ShardGene::FromUint16(static_cast<uint16_t>(number % kVnodes));
}

// Whether it is whole and as table `epoch` describes it.
bool IsOf(uint64_t epoch, const RoutedShard& shard, uint32_t id) {
  return epoch >= 1 && epoch <= kInstalls && shard == Tables()[epoch - 1].shards()[id - 1];
}

// Whether table `epoch` gives order `id` to `shard`.
bool Gives(uint64_t epoch, const OrderId& id, const RoutedShard& shard) {
  return IsOf(epoch, shard, id.cohort() < epoch ? TargetOf(epoch) : OwnerOf(epoch));
}

// One of the threads that route while tables are installed. Checks every answer.
class Reader {
 public:
  Reader(const Router& router, uint64_t seed) : router_(router), random_(seed) {}

  void RunUntil(const std::atomic<bool>& done) {
    while (!done.load()) CheckSome();
    CheckSome();
  }

  // The first error.
  const std::string& failure() const { return failure_; }

 private:
  void CheckSome() {
    for (int i = 0; i < 64; ++i) {
      CheckGene();
      CheckOrder();
    }
  }

  void CheckGene() {
    ShardGene gene = GeneOf(random_());
    uint64_t before = router_.epoch();
    GeneRoute route = router_.Route(gene);
    uint64_t after = router_.epoch();
    uint64_t from = route.permyriad;
    Require(before <= after && last_epoch_ <= before, "the epoch fell");
    last_epoch_ = after;
    Require(from >= before, "an answer of a table before the epoch that was read");
    Require(from <= after + 1, "an answer of a table that was not installed yet");
    Require(route.target != nullptr, "a torn answer: no target");
    if (route.target == nullptr) return;
    Require(route.owner->id == OwnerOf(from) && route.target->id == TargetOf(from),
            "a torn answer: shards and permyriad of two tables");
    Require(IsOf(from, *route.owner, OwnerOf(from)) && IsOf(from, *route.target, TargetOf(from)),
            "a torn answer: descriptions of another table");
  }

  void CheckOrder() {
    ShardGene gene = GeneOf(random_());
    OrderId id = OrderId::FromParts(gene, random_() & OrderId::kMaxSequence).value();
    uint64_t before = router_.epoch();
    const RoutedShard& shard = router_.Route(id);
    uint64_t after = router_.epoch();
    bool given = false;
    for (uint64_t epoch = before; epoch <= after + 1; ++epoch) given |= Gives(epoch, id, shard);
    Require(given, "an order on a shard that no table of the time gives it to");
  }

  void Require(bool holds, const char* otherwise) {
    if (!holds && failure_.empty()) failure_ = otherwise;
  }

  const Router& router_;
  std::mt19937_64 random_;
  uint64_t last_epoch_ = 0;
  std::string failure_;
};

TEST(RouterStressTest, ReadersDuringInstalls_SeeWholeTablesInOrder) {
  const std::vector<RoutingTable>& tables = Tables();
  Router router(tables[0]);
  std::atomic<bool> done = false;
  std::vector<Reader> readers = {Reader(router, 1), Reader(router, 2)};
  std::vector<std::thread> threads;
  for (Reader& reader : readers) threads.emplace_back([&] { reader.RunUntil(done); });
  for (size_t i = 1; i < tables.size(); ++i) EXPECT_TRUE(router.Install(tables[i]).ok());
  done = true;
  for (std::thread& thread : threads) thread.join();
  for (const Reader& reader : readers) EXPECT_EQ(reader.failure(), "");
  EXPECT_EQ(router.epoch(), kInstalls);
}

TEST(RouterStressTest, CompetingInstallers_LeaveTheHighestEpoch) {
  constexpr uint64_t kTables = kInstalls / 10;
  Router router(TableOf(1));
  std::atomic<uint64_t> installed = 0;
  auto install_every_second = [&](uint64_t first) {
    for (uint64_t epoch = first; epoch <= kTables; epoch += 2) {
      absl::Status status = router.Install(TableOf(epoch));
      installed += status.ok();
      EXPECT_TRUE(status.ok() || absl::IsAborted(status)) << status;
    }
  };
  std::thread even(install_every_second, 2);
  std::thread odd(install_every_second, 3);
  even.join();
  odd.join();
  EXPECT_GE(installed.load(), kTables / 2);
  EXPECT_EQ(router.epoch(), kTables);
  for (uint64_t vnode = 0; vnode < kVnodes; ++vnode) {
    ASSERT_EQ(router.Route(GeneOf(vnode)).permyriad, kTables);
  }
}

// 0: in a child, kVnodes have words of whole tables.
int ExitCodeOfRoutingAll(const Router& router) {
  for (uint64_t vnode = 0; vnode < kVnodes; ++vnode) {
    GeneRoute route = router.Route(GeneOf(vnode));
    if (route.target == nullptr || route.owner->id != OwnerOf(route.permyriad)) return 1;
    if (route.permyriad < router.epoch()) return 2;
  }
  return 0;
}

TEST(RouterStressTest, ForkedDuringInstalls_ChildRoutes) {
  Router router(TableOf(1));
  std::atomic<bool> done = false;
  std::thread installer([&] {
    for (uint64_t epoch = 2; epoch <= kInstalls && !done; ++epoch) {
      EXPECT_TRUE(router.Install(Tables()[epoch - 1]).ok());
    }
  });
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    ASSERT_NE(child, -1);
    if (child == 0) _exit(ExitCodeOfRoutingAll(router));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  done = true;
  installer.join();
}

}  // namespace
}  // namespace locus
