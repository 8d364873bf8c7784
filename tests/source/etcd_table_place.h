// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_ETCD_TABLE_PLACE_H_
#define LOCUS_TESTS_SOURCE_ETCD_TABLE_PLACE_H_

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/routing/engine/etcd.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/source/table_place.h"

namespace locus {

inline EtcdTableOptions TablesIn(const EtcdOptions& etcd) {
  EtcdTableOptions options;
  options.etcd = etcd;
  return options;
}

// Fail the test when refused.
inline std::unique_ptr<EtcdTableSource> MustFollow(const EtcdOptions& etcd) {
  auto source = EtcdTableSource::Open(TablesIn(etcd));
  EXPECT_TRUE(source.ok()) << source.status();
  return *std::move(source);
}
inline std::unique_ptr<EtcdTablePublisher> MustMakePublisher(const EtcdOptions& etcd) {
  auto publisher = EtcdTablePublisher::Open(TablesIn(etcd));
  EXPECT_TRUE(publisher.ok()) << publisher.status();
  return *std::move(publisher);
}

inline absl::StatusOr<std::optional<SourcedTable>> NextWithin(TableSource& source,
                                                              const std::string& known,
                                                              absl::Duration within) {
  return source.Next(known, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(within));
}

// As a follower does: asks until there are news, through any errors.
inline SourcedTable NewsOf(TableSource& source, const std::string& known) {
  SourcedTable news;
  EXPECT_TRUE(WaitUntil([&] {
    auto answer = NextWithin(source, known, absl::Seconds(1));
    if (!answer.ok() || !answer->has_value()) return false;
    news = **answer;
    return true;
  }));
  return news;
}
inline uint64_t EpochOf(const SourcedTable& table) {
  auto parsed = RoutingTable::Parse(table.document);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() ? parsed->epoch() : 0;
}

// Repeats what may be repeated.
inline void MustPublish(TablePublisher& publisher, const RoutingTable& table, uint64_t expected) {
  absl::Status status;
  EXPECT_TRUE(WaitUntil([&] {
    status = PublishAnyway(publisher, table, expected);
    return !absl::IsUnavailable(status);
  }));
  EXPECT_TRUE(status.ok()) << status;
}

// As many shards and ranges as anybody has, in no order at all.
inline RoutingTable ScatteredTable(uint64_t epoch, uint32_t shards_wanted) {
  std::minstd_rand random(1);
  std::vector<Shard> shards;
  for (uint32_t id = 1; id <= shards_wanted; ++id) {
    shards.push_back({.id = id,
                      .name = absl::StrCat("orders-", id),
                      .endpoint = absl::StrCat("mysql://10.", random() % 256, ".", random() % 256,
                                               ".", random() % 256, ":3306/orders-", id),
                      .labels = {{"tier", random() % 2 == 0 ? "hot" : "cold"}}});
  }
  std::vector<VnodeRange> ranges;
  for (uint32_t vnode = 0; vnode < ShardGene::kCount; ++vnode) {
    ranges.push_back(
        {static_cast<uint16_t>(vnode), static_cast<uint32_t>(1 + random() % shards_wanted)});
  }
  return RoutingTable::Make(epoch, std::move(shards), std::move(ranges)).value();
}

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_ETCD_TABLE_PLACE_H_
