// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_TABLE_PLACE_H_
#define LOCUS_TESTS_SOURCE_TABLE_PLACE_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/routing/routing_table.h"
#include "locus/routing/table_publisher.h"
#include "locus/routing/table_source.h"
#include "tests/support/sanitizers.h"

namespace locus {

// A fresh place for routing tables, with none in it, under the suites of TableSource
// (table_source_contract.cc) and of TablePublisher (table_publisher_contract.cc).
class TablePlaceUnderTest {
 public:
  virtual ~TablePlaceUnderTest() = default;
  // Another handle on the place, as another process has it.
  virtual std::unique_ptr<TableSource> Follow() = 0;
  // nullptr: this place has no TablePublisher of ours. Then there is PutRaw.
  virtual std::unique_ptr<TablePublisher> MakePublisher() = 0;
  // Puts a document there past all publishers, for sources to find. False: such a document cannot
  // be put there (TablePlaceKind::takes_any_text says so), and nothing changed.
  virtual bool PutRaw(const std::string& document) = 0;
};

// Declared, so that what a place cannot do is asserted instead of skipped.
struct TablePlaceKind {
  std::string name;
  std::function<std::unique_ptr<TablePlaceUnderTest>()> make;
  // Whether PutRaw takes what is no routing table.
  bool takes_any_text = true;
};
inline void PrintTo(const TablePlaceKind& kind, std::ostream* out) { *out << kind.name; }

// Tables that differ in the shards' endpoints and labels, which are functions of the epoch; a vnode
// moves. Any of them may be published after any other.
inline RoutingTable TableOfEpoch(uint64_t epoch) {
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= 3; ++id) {
    shards.push_back({.id = id,
                      .name = absl::StrCat("orders-", id),
                      .endpoint = absl::StrCat("mysql://host:3306/orders-", id),
                      .labels = {{"epoch", absl::StrCat(epoch)}}});
  }
  VnodeMove move{0, 0, 2, 2500};
  return RoutingTable::Make(epoch, std::move(shards), {{1000, 1}, {65535, 3}}, {move}).value();
}

// Publishes where a guarded change is not what the test is about.
inline absl::Status PublishAnyway(TablePublisher& publisher, const RoutingTable& table,
                                  uint64_t expected) {
  absl::StatusOr<RoutingTable> newest = publisher.Current();
  const RoutingTable* before = newest.ok() ? &*newest : nullptr;
  return publisher.Publish(table, expected, GuardedChangesBetween(before, table));
}

// ThreadSanitizer makes a table cost fifty times as much, and finds in a few what it would in many.
inline constexpr uint64_t kBurst = kUnderTsan ? 30 : 100;
inline constexpr uint32_t kMostRanges = kUnderTsan ? 4096 : ShardGene::kCount;

// Every vnode a range of its own, each owned by another shard than the one before it.
inline RoutingTable TableOfAllRanges(uint64_t epoch) {
  std::vector<VnodeRange> ranges;
  for (uint32_t vnode = 0; vnode < kMostRanges; ++vnode) {
    ranges.push_back({static_cast<uint16_t>(vnode), 1 + vnode % 3});
  }
  return RoutingTable::Make(epoch, TableOfEpoch(epoch).shards(), std::move(ranges)).value();
}

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_TABLE_PLACE_H_
