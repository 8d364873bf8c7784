// SPDX-License-Identifier: Apache-2.0
#include "verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "locus/order_no.h"
#include "nlohmann/json.hpp"

namespace shop {
namespace {

using locus::OrderId;

class Judgement {
 public:
  Judgement(const ExpectedOrders& expected, const locus::Router& router,
            const locus::OrderNoCodec& codec, bool final)
      : expected_(expected), router_(router), codec_(codec), final_(final) {
    verdict_.counts = expected.counts();
    verdict_.faults = expected.faults();
  }

  Verdict Run(const std::vector<ShardContents>& shards) {
    for (const auto& [number, order] : expected_.orders()) JudgeOrder(number, order, shards);
    for (const ShardContents& contents : shards) JudgeShard(contents);
    return std::move(verdict_);
  }

 private:
  // A shard whose orders were read, by its ID.
  static const StoredOrder* Find(const std::vector<ShardContents>& shards, uint32_t shard,
                                 uint64_t number) {
    for (const ShardContents& contents : shards) {
      if (contents.shard.id != shard) continue;
      auto found = contents.orders.find(number);
      return found == contents.orders.end() ? nullptr : &found->second;
    }
    return nullptr;
  }

  void JudgeOrder(uint64_t number, const ExpectedOrder& order,
                  const std::vector<ShardContents>& shards) {
    ++verdict_.orders;
    if (order.open) ++verdict_.open;
    auto id = OrderId::FromInt64(static_cast<int64_t>(number));
    if (!id.ok()) return Fault(verdict_.lost, number, "a record names no narrow order ID");
    const locus::RoutedShard& shard = router_.Route(*id);
    const StoredOrder* stored = Find(shards, shard.id, number);
    if (stored == nullptr) {
      if (!order.Allows({})) {
        Fault(verdict_.lost, number,
              absl::StrCat("lost: version ", order.acknowledged.version,
                           " was acknowledged, and shard ", shard.name, " does not have it"));
      }
      return;
    }
    ++verdict_.there;
    if (!order.Allows(stored->state())) {
      const bool deleted = !order.acknowledged.there();
      Fault(deleted ? verdict_.foreign : verdict_.changed, number,
            absl::StrCat("shard ", shard.name, " has ", TextOf(*stored),
                         deleted ? ", but it was deleted or never stored"
                                 : absl::StrCat(", and not the rows of the acknowledged version ",
                                                order.acknowledged.version)));
    }
    JudgeNumber(number, *id, *stored, shard);
  }

  void JudgeNumber(uint64_t number, const OrderId& id, const StoredOrder& stored,
                   const locus::RoutedShard& shard) {
    if (stored.version == 0) return;  // no row in orders: counted as changed
    auto no = locus::OrderNo::FromBytes(stored.no);
    auto decoded = no.ok() ? codec_.Decode(*no) : no.status();
    if (!decoded.ok())
      return Fault(verdict_.misrouted, number, "its order_no is none of this service");
    if (*decoded == id) return;  // and so has its gene, by which both are routed
    Fault(verdict_.misrouted, number,
          absl::StrCat("its order_no on shard ", shard.name, " is that of order ",
                       decoded->ToString(), " and leads to shard ", router_.Route(*decoded).name));
  }

  void JudgeShard(const ShardContents& contents) {
    for (const auto& [number, stored] : contents.orders) {
      if (!expected_.orders().contains(number)) {
        Fault(verdict_.foreign, number,
              absl::StrCat("shard ", contents.shard.name, " has ", TextOf(stored),
                           ", and no client inserted it"));
        continue;
      }
      auto id = OrderId::FromInt64(static_cast<int64_t>(number));
      if (!id.ok() || router_.Route(*id).id == contents.shard.id) continue;
      const locus::GeneRoute route = router_.Route(id->gene());
      const bool moves = route.target != nullptr && (route.owner->id == contents.shard.id ||
                                                     route.target->id == contents.shard.id);
      if (moves && !final_) {
        ++verdict_.copies;
        continue;
      }
      Fault(verdict_.doubled, number,
            absl::StrCat("shard ", contents.shard.name, " has ", TextOf(stored),
                         "; it belongs to shard ", router_.Route(*id).name));
    }
  }

  static std::string TextOf(const StoredOrder& stored) {
    return stored.version == 0 ? "rows of it, but none in orders"
                               : absl::StrCat("version ", stored.version);
  }

  void Fault(uint64_t& count, uint64_t number, const std::string& what) {
    constexpr size_t kMost = 20;
    ++count;
    if (verdict_.faults.size() < kMost) {
      verdict_.faults.push_back(absl::StrCat("order ", number, ": ", what));
    }
  }

  const ExpectedOrders& expected_;
  const locus::Router& router_;
  const locus::OrderNoCodec& codec_;
  const bool final_;
  Verdict verdict_;
};

double Milliseconds(uint32_t microseconds) { return microseconds / 1000.0; }

}  // namespace

bool Verdict::ok() const {
  return counts.inserts > 0 && counts.stale_reads == 0 && counts.contradictions == 0 && lost == 0 &&
         changed == 0 && doubled == 0 && foreign == 0 && misrouted == 0;
}

Verdict Judge(const ExpectedOrders& expected, const std::vector<ShardContents>& shards,
              const locus::Router& router, const locus::OrderNoCodec& codec, bool final) {
  return Judgement(expected, router, codec, final).Run(shards);
}

uint32_t Percentile(std::vector<uint32_t> values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto above = static_cast<size_t>(share * static_cast<double>(values.size()));
  return values[std::min(above, values.size() - 1)];
}

std::string TextOf(const Verdict& verdict) {
  const RecordCounts& counts = verdict.counts;
  std::string text = absl::StrFormat(
      "orders      %d, of which %d are there, %d as copies of a move, %d with an open write\n"
      "writes      %d acknowledged (%d inserts, %d updates, %d deletes), %d refused, %d answers"
      " lost\n"
      "fences      %d refusals; %d writes waited, p50 %.1f ms, p99 %.1f ms, max %.1f ms\n"
      "reads       %d fenced, %d without a fence\n"
      "stale %d  lost %d  changed %d  doubled %d  foreign %d  misrouted %d  contradictions %d\n",
      verdict.orders, verdict.there, verdict.copies, verdict.open, counts.acknowledged(),
      counts.inserts, counts.updates, counts.deletes, counts.refused, counts.unknown,
      counts.refusals, counts.waits.size(), Milliseconds(Percentile(counts.waits, 0.5)),
      Milliseconds(Percentile(counts.waits, 0.99)), Milliseconds(Percentile(counts.waits, 1)),
      counts.reads, counts.unfenced_reads, counts.stale_reads, verdict.lost, verdict.changed,
      verdict.doubled, verdict.foreign, verdict.misrouted, counts.contradictions);
  for (const std::string& fault : verdict.faults) absl::StrAppend(&text, "  ", fault, "\n");
  if (counts.inserts == 0) absl::StrAppend(&text, "no order was acknowledged: nothing to judge\n");
  return absl::StrCat(text, verdict.ok() ? "OK\n" : "FAILED\n");
}

std::string JsonOf(const Verdict& verdict) {
  const RecordCounts& counts = verdict.counts;
  const nlohmann::ordered_json json = {{"ok", verdict.ok()},
                                       {"orders", verdict.orders},
                                       {"there", verdict.there},
                                       {"copies", verdict.copies},
                                       {"open", verdict.open},
                                       {"acknowledged", counts.acknowledged()},
                                       {"inserts", counts.inserts},
                                       {"updates", counts.updates},
                                       {"deletes", counts.deletes},
                                       {"refused", counts.refused},
                                       {"refusals", counts.refusals},
                                       {"unknown", counts.unknown},
                                       {"waits", counts.waits.size()},
                                       {"wait_p50_us", Percentile(counts.waits, 0.5)},
                                       {"wait_p99_us", Percentile(counts.waits, 0.99)},
                                       {"wait_max_us", Percentile(counts.waits, 1)},
                                       {"reads", counts.reads},
                                       {"unfenced_reads", counts.unfenced_reads},
                                       {"stale_reads", counts.stale_reads},
                                       {"contradictions", counts.contradictions},
                                       {"lost", verdict.lost},
                                       {"changed", verdict.changed},
                                       {"doubled", verdict.doubled},
                                       {"foreign", verdict.foreign},
                                       {"misrouted", verdict.misrouted},
                                       {"faults", verdict.faults}};
  return absl::StrCat(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), "\n");
}

}  // namespace shop
