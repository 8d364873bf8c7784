// SPDX-License-Identifier: Apache-2.0
// What grouping orders allocates, by counting the calls of operator new. Not under ThreadSanitizer,
// whose own operator new nothing may replace.
#include <cstdlib>
#include <new>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/routing/router.h"
#include "tests/table/random_table.h"

namespace {

uint64_t allocations = 0;  // these tests run on one thread

void* CountedAllocation(size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Not inlined: g++ takes a free() in their place for one of what new gave.
[[gnu::noinline]] void* operator new(size_t size) { return CountedAllocation(size); }
[[gnu::noinline]] void* operator new[](size_t size) { return CountedAllocation(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace locus {
namespace {

RoutingTable EvenTable(size_t shards) {
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 1; i <= shards; ++i) {
    names.emplace_back(absl::StrCat("s", i), absl::StrCat("host-", i));
  }
  return RoutingTable::MakeEven(names).value();
}

std::vector<OrderId> OrdersOfAllVnodes(size_t size, RandomTable& random) {
  std::vector<OrderId> ids;
  ids.reserve(size);
  for (size_t i = 0; i < size; ++i) {
    ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(random.Vnode()));
    ids.push_back(OrderId::FromParts(gene, i).value());
  }
  return ids;
}

TEST(RouterGroupMemoryTest, FirstUse_AllocatesByShardsAndNotByOrder) {
  RandomTable random(1);
  Router router(EvenTable(16));
  std::vector<OrderId> ids = OrdersOfAllVnodes(100000, random);
  OrderGroups groups;
  uint64_t before = allocations;
  router.Group(ids, groups);
  // Three arrays over the orders, three that grow with the shards.
  EXPECT_LE(allocations - before, 32u);
  EXPECT_GT(allocations, before);
}

TEST(RouterGroupMemoryTest, UsedAgain_AllocatesNothing) {
  RandomTable random(2);
  Router router(EvenTable(64));
  std::vector<OrderId> many = OrdersOfAllVnodes(50000, random);
  OrderGroups groups;
  router.Group(many, groups);
  for (size_t size : {50000, 1, 20000, 50000}) {
    uint64_t before = allocations;
    router.Group(std::span(many).first(size), groups);
    EXPECT_EQ(allocations, before) << size;
  }
}

}  // namespace
}  // namespace locus
