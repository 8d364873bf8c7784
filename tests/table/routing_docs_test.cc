// SPDX-License-Identifier: Apache-2.0
// The C++ in docs/use/routing.md is what stands between the marks below: it compiles, and it does
// what the text around it says.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "gtest/gtest.h"
#include "locus/routing/router.h"

namespace {

struct Order {
  locus::OrderId id;
  uint64_t buyer;
};

// The orders in each shard's database.
using Databases = std::map<uint32_t, std::vector<Order>>;

std::vector<Order> SelectByIds(const Databases& databases, const locus::RoutedShard& shard,
                               std::span<const locus::OrderId> ids) {
  std::vector<Order> found;
  for (const Order& order : databases.at(shard.id)) {
    if (std::find(ids.begin(), ids.end(), order.id) != ids.end()) found.push_back(order);
  }
  return found;
}

std::vector<Order> SelectByBuyer(const Databases& databases, const locus::RoutedShard& shard,
                                 uint64_t buyer) {
  std::vector<Order> found;
  for (const Order& order : databases.at(shard.id)) {
    if (order.buyer == buyer) found.push_back(order);
  }
  return found;
}

// docs: begin
class OrderReader {
 public:
  OrderReader(const locus::Router& router, const Databases& databases)
      : router_(router), databases_(databases) {}

  // One statement a shard, however many orders. A reader of its own for each thread.
  std::vector<Order> Find(std::span<const locus::OrderId> ids) {
    std::vector<Order> found;
    router_.Group(ids, groups_);
    for (const locus::ShardOrders& orders : groups_.shards()) {
      for (const Order& order : SelectByIds(databases_, *orders.shard, orders.ids)) {
        found.push_back(order);
      }
    }
    return found;
  }

  // One shard; two while the buyer's vnode moves. What one of them has of the other's part is a
  // copy that is not in force yet, or no longer.
  std::vector<Order> FindOfBuyer(uint64_t buyer) {
    std::vector<Order> found;
    for (const locus::BuyerRoute& route : router_.RoutesOf(locus::BuyerKey::Uint64(buyer))) {
      if (route.empty()) continue;
      for (const Order& order : SelectByBuyer(databases_, *route.shard, buyer)) {
        if (route.Holds(order.id)) found.push_back(order);
      }
    }
    return found;
  }

 private:
  const locus::Router& router_;
  const Databases& databases_;
  locus::OrderGroups groups_;
};
// docs: end

std::string ReadFile(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(RoutingDocsTest, Example_IsInTheDocsAsItIsCompiled) {
  std::string source = ReadFile(LOCUS_THIS_FILE);
  const std::string mark = "\n// docs: ";
  size_t begin = source.find('\n', source.find(mark + "begin") + 1) + 1;
  std::string example = source.substr(begin, source.find(mark + "end") + 1 - begin);
  ASSERT_GT(example.size(), 1000u);
  EXPECT_NE(ReadFile(LOCUS_ROUTING_DOCS).find("```cpp\n" + example + "```\n"), std::string::npos);
}

TEST(RoutingDocsTest, Example_FindsEachOrderOnceWhileItsVnodeMoves) {
  constexpr uint64_t kBuyer = 7;
  uint16_t gene = locus::ShardGene::Of(locus::BuyerKey::Uint64(kBuyer)).value();
  locus::RoutingTable even = locus::RoutingTable::MakeEven({{"a", "h"}, {"b", "i"}}).value();
  uint32_t owner = even.OwnerOf(locus::ShardGene::FromUint16(gene)).id;
  locus::Router router(
      locus::RoutingTable::Make(1, even.shards(), even.ranges(), {{gene, gene, 3 - owner, 5000}})
          .value());
  // Copied in full: each database has every order.
  Databases databases;
  std::vector<locus::OrderId> ids;
  for (uint64_t sequence = 0; sequence < 100; ++sequence) {
    ids.push_back(locus::OrderId::FromParts(locus::ShardGene::FromUint16(gene), sequence).value());
    for (uint32_t shard : {1u, 2u}) databases[shard].push_back({ids.back(), kBuyer});
  }
  OrderReader reader(router, databases);
  EXPECT_EQ(reader.Find(ids).size(), 100u);
  EXPECT_EQ(reader.FindOfBuyer(kBuyer).size(), 100u);
  EXPECT_EQ(reader.FindOfBuyer(kBuyer + 1).size(), 0u);
}

}  // namespace
