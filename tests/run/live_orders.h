// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_LIVE_ORDERS_H_
#define LOCUS_TESTS_RUN_LIVE_ORDERS_H_

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "locus/routing/file_table.h"
#include "tests/fence/two_shards.h"

namespace locus {

// Writers that insert, change, delete and read back orders of vnodes 0..99 and 200..299 with one
// item each, and remember what was acknowledged. Half of them have the first routing table for
// ever, the others take each new one.
class LiveOrders {
 public:
  // `shards_die`: shards may be away for a while. A write whose answer was lost is looked for.
  LiveOrders(FileTablePublisher& publisher, size_t writers, bool shards_die = false)
      : shards_die_(shards_die) {
    const std::string place = publisher.place();  // "file PATH"
    const std::string path = place.substr(place.find('/'));
    fresh_ = Router::Open(FileTableSource::Open(path).value()).value();
    stale_ = std::make_unique<Router>(publisher.Current().value());
    pools_ = ShopPools();
    by_fresh_ = std::make_unique<FencedTransactions>(*fresh_, *pools_);
    by_stale_ = std::make_unique<FencedTransactions>(*stale_, *pools_);
    kept_.resize(writers);
    for (size_t i = 0; i < writers; ++i) {
      threads_.emplace_back([this, i] { Write(i); });
    }
  }
  ~LiveOrders() { Stop(); }

  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  // Waits until so many more writes are acknowledged.
  void WaitForWrites(uint64_t more) {
    const uint64_t before = done_;
    ASSERT_TRUE(WaitUntil([&] { return done_ > before + more || failed_; }));
  }
  uint64_t done() const { return done_; }
  // Writes that got no answer, or an error.
  uint64_t faults() const { return faults_; }
  uint64_t refusals() const { return by_stale_->Stats().refusals + by_fresh_->Stats().refusals; }

  // After Stop: order ID and value of each order that there must be.
  std::map<std::string, std::string> Expected() const {
    std::map<std::string, std::string> rows;
    for (const auto& kept : kept_) {
      for (const auto& [id, value] : kept) rows[Number(id)] = absl::StrCat(value);
    }
    return rows;
  }

 private:
  using Kept = std::map<OrderId, uint64_t>;

  static absl::Status Execute(ShardConnection& connection, const std::string& statement) {
    if (mysql_real_query(connection.handle(), statement.data(), statement.size()) != 0) {
      return ShardErrorOf(connection);
    }
    return mysql_affected_rows(connection.handle()) == 0 ? absl::NotFoundError("no such order")
                                                         : absl::OkStatus();
  }

  void Write(size_t number) {
    Kept& kept = kept_[number];
    FencedTransactions& fenced = number % 2 == 0 ? *by_fresh_ : *by_stale_;
    uint64_t random = number * 7919 + 1;
    for (uint64_t i = 1; !stop_; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const uint32_t gene = static_cast<uint32_t>(random >> 40) % 200;
      const OrderId id =
          IdOf(gene < 100 ? gene : gene + 100, (uint64_t{number} << 32) + (random >> 50) % 64);
      const bool there = kept.contains(id);
      const bool removes = there && i % 5 == 0;
      const std::string by_id = " WHERE order_id = " + Number(id);
      std::vector<std::string> statements;
      if (removes) {
        statements = {"DELETE FROM items" + by_id, "DELETE FROM orders" + by_id};
      } else if (there) {
        statements = {absl::StrCat("UPDATE orders SET value = ", i, by_id),
                      absl::StrCat("UPDATE items SET value = ", i, by_id)};
      } else {
        const std::string values = absl::StrCat("(order_id, value) VALUES (", Number(id), ", ", i);
        statements = {absl::StrCat("INSERT INTO orders ", values, ")"),
                      absl::StrCat("INSERT INTO items (order_id, line, value) VALUES (", Number(id),
                                   ", 1, ", i, ")")};
      }
      absl::Status status =
          fenced.Run(id, {}, In(absl::Seconds(60)), [&](ShardConnection& connection) {
            for (const std::string& statement : statements) {
              if (auto done = Execute(connection, statement); !done.ok()) return done;
            }
            return absl::OkStatus();
          });
      if (!status.ok() && shards_die_) {
        ++faults_;
        const std::string before = there ? absl::StrCat(kept[id]) : "";
        const absl::StatusOr<std::string> now = Settled(fenced, id);
        if (now.ok() && *now == before) continue;
        status = now.status();
        if (now.ok() && *now != (removes ? "" : absl::StrCat(i))) {
          status = absl::DataLossError(absl::StrCat("neither before nor after: ", *now));
        }
      }
      if (!status.ok()) {
        failed_ = true;
        ADD_FAILURE() << number << ": " << statements[0] << ": " << status;
        return;
      }
      if (removes) {
        kept.erase(id);
      } else {
        kept[id] = i;
      }
      ++done_;
      // A pace that the streams can follow on any machine.
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (i % 7 == 0) ReadBack(fenced, id, kept);
    }
  }
  // The value of the order, "" where there is none, once its writer has ended.
  absl::StatusOr<std::string> Settled(FencedTransactions& fenced, const OrderId& id) {
    const auto give_up = In(absl::Minutes(3));
    while (true) {
      std::string value;
      const absl::Status status = fenced.Run(
          id, {.kind = FencedCall::Kind::kRead, .fence_first = true}, In(absl::Seconds(30)),
          [&](ShardConnection& connection) {
            value = Ask(connection, absl::StrCat("SELECT value FROM orders WHERE order_id = ",
                                                 Number(id), " FOR UPDATE"));
            if (value.starts_with("error")) return ShardErrorOf(connection);
            return value.empty() ? absl::NotFoundError("none") : absl::OkStatus();
          });
      if (status.ok()) return value;
      if (absl::IsNotFound(status)) return std::string();
      if (std::chrono::steady_clock::now() > give_up) return status;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  // A fenced read is never stale.
  void ReadBack(FencedTransactions& fenced, const OrderId& id, const Kept& kept) {
    std::string value;
    const absl::Status status = fenced.Run(
        id, {.kind = FencedCall::Kind::kRead, .fence_first = true}, In(absl::Seconds(60)),
        [&](ShardConnection& connection) {
          value = Ask(connection, "SELECT value FROM orders WHERE order_id = " + Number(id));
          if (value.starts_with("error")) return ShardErrorOf(connection);
          return value.empty() ? absl::NotFoundError("none") : absl::OkStatus();
        });
    const bool answered = status.ok() || absl::IsNotFound(status);
    if (shards_die_ && !answered) return;
    auto found = kept.find(id);
    if (found == kept.end()) {
      EXPECT_TRUE(absl::IsNotFound(status)) << id << " " << status << value;
    } else {
      EXPECT_TRUE(status.ok()) << id << " " << status;
      EXPECT_EQ(value, absl::StrCat(found->second)) << id;
    }
  }

  const bool shards_die_;
  std::unique_ptr<Router> fresh_, stale_;
  std::unique_ptr<ShardPools> pools_;
  std::unique_ptr<FencedTransactions> by_fresh_, by_stale_;
  std::vector<Kept> kept_;
  std::atomic<bool> stop_ = false, failed_ = false;
  std::atomic<uint64_t> done_ = 0, faults_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_RUN_LIVE_ORDERS_H_
