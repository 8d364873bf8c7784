// SPDX-License-Identifier: Apache-2.0
// Moves of orders that clients delete all the while, 2,000 a second, or write as fast as they can.
#include <algorithm>
#include <iostream>

#include "absl/strings/str_join.h"
#include "migration/fence/moved_tables.h"
#include "tests/run/move_fixture.h"

namespace locus {
namespace {

using internal::Ending;
using internal::Phase;
using internal::Wish;

// Orders 1..kOrders of each moved vnode, whose values are their numbers. Every tenth stays for
// ever; the others up to kOldOrders were deleted before the move.
constexpr uint64_t kOrders = 500, kAtOnce = 50, kOldOrders = 100;

std::string IdText(uint32_t gene, uint64_t number) { return Number(IdOf(gene, number)); }

// Clients that delete the orders of a vnode, 45 in a transaction, and insert one of those again.
// Together they delete 2,000 orders a second, or as many as the machine can.
class DeletingClients {
 public:
  static constexpr uint32_t kClients = 4;

  explicit DeletingClients(FileTablePublisher& publisher) {
    const std::string place = publisher.place();  // "file PATH"
    router_ = Router::Open(FileTableSource::Open(place.substr(place.find('/'))).value()).value();
    ShardPoolsOptions options = PoolOptions();
    options.user = "shop";
    options.max_connections = 16;
    pools_ = MakePools(options);
    fenced_ = std::make_unique<FencedTransactions>(*router_, *pools_);
    for (uint32_t i = 0; i < 200; ++i) next_[i < 100 ? i : i + 100] = kOldOrders + 1;
    for (uint32_t i = 0; i < kClients; ++i) {
      threads_.emplace_back([this, i] {
        Work(i);
        ++ended_;
      });
    }
  }
  ~DeletingClients() { Stop(); }

  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  uint64_t deleted() const { return deleted_; }
  void WaitForDeletes(uint64_t more) {
    const uint64_t before = deleted_;
    ASSERT_TRUE(WaitUntil([&] { return deleted_ >= before + more || ended_ == kClients; }));
    ASSERT_FALSE(failed_);
  }

  // After Stop: what there must be of the moved vnodes, and what must not.
  std::map<std::string, std::string> Expected() const {
    std::map<std::string, std::string> rows;
    for (const auto& [gene, next] : next_) {
      for (uint64_t i = 1; i <= kOrders; ++i) {
        if (i % 10 == 0 || i >= next) rows[IdText(gene, i)] = absl::StrCat(i);
        // The first of each batch was inserted again.
        if (i < next && i > kOldOrders && i % kAtOnce == 1) rows[IdText(gene, i)] = "7";
      }
    }
    return rows;
  }

 private:
  static absl::Status Execute(ShardConnection& connection, const std::string& statement,
                              uint64_t rows) {
    if (mysql_real_query(connection.handle(), statement.data(), statement.size()) != 0) {
      return ShardErrorOf(connection);
    }
    const uint64_t changed = mysql_affected_rows(connection.handle());
    if (changed == rows) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(changed, " rows of ", rows, ": ", statement));
  }

  void Work(uint32_t client) {
    constexpr std::chrono::milliseconds kPace{90};  // 45 orders each
    auto beat = std::chrono::steady_clock::now();
    for (uint64_t first = kOldOrders + 1; first + kAtOnce <= kOrders + 1; first += kAtOnce) {
      for (auto& [gene, next] : next_) {
        if (gene % kClients != client) continue;
        std::vector<std::string> ids;
        for (uint64_t i = first; i < first + kAtOnce; ++i) {
          if (i % 10 != 0) ids.push_back(IdText(gene, i));
        }
        const absl::Status status = fenced_->Run(
            IdOf(gene, first), {}, In(absl::Seconds(60)), [&](ShardConnection& connection) {
              const absl::Status deleted =
                  Execute(connection,
                          absl::StrCat("DELETE FROM orders WHERE order_id IN (",
                                       absl::StrJoin(ids, ", "), ")"),
                          ids.size());
              if (!deleted.ok()) return deleted;
              return Execute(
                  connection,
                  absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", ids[0], ", 7)"), 1);
            });
        if (!status.ok()) {
          failed_ = true;
          ADD_FAILURE() << "client " << client << ": " << status;
          return;
        }
        next = first + kAtOnce;
        deleted_ += ids.size();
        beat += kPace;
        std::this_thread::sleep_until(beat);
        if (stop_) return;
      }
    }
  }

  std::unique_ptr<Router> router_;
  std::unique_ptr<ShardPools> pools_;
  std::unique_ptr<FencedTransactions> fenced_;
  // The first order of each vnode that has not been deleted; each is of one client.
  std::map<uint32_t, uint64_t> next_;
  std::atomic<bool> stop_ = false, failed_ = false;
  std::atomic<uint64_t> deleted_ = 0;
  std::atomic<uint32_t> ended_ = 0;
  std::vector<std::thread> threads_;
};

class BusyClientsTest : public MoveFixture {
 protected:
  // The triggers of versions stand already, as beside or after another move: the source has
  // tombstones when this move begins.
  void MakeOrders() {
    for (size_t server : {0, 1}) {
      auto tables =
          mysql::MovedTables::Create(As(server, "mover"), move_.tables, move_.movers).value();
      ASSERT_TRUE(tables.Install("another").ok());
    }
    ASSERT_EQ(IdText(299, kOrders), absl::StrCat((uint64_t{299} << 47) + kOrders));
    Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) SELECT (g.seq << 47) + n.seq, n.seq"
                        " FROM seq_0_to_299 AS g JOIN seq_1_to_",
                        kOrders, " AS n WHERE g.seq NOT BETWEEN 100 AND 199"));
    Sql(0, absl::StrCat("DELETE FROM orders WHERE value <= ", kOldOrders, " AND value % 10 <> 0"));
  }
};

TEST_F(BusyClientsTest, TwoThousandDeletesASecond_TheMoveArrivesAndNothingComesBack) {
  MakeOrders();
  if (HasFatalFailure()) return;
  DeletingClients clients(*publisher_);
  clients.WaitForDeletes(1000);
  const auto begun = std::chrono::steady_clock::now();
  const uint64_t before = clients.deleted();
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  if (HasFatalFailure()) return;
  Ask([](Wish& wish) {
    wish.goal = 10000;
    wish.by = 10000;
  });
  WaitForShare(10000);
  if (HasFatalFailure()) return;
  const double took =
      absl::ToDoubleSeconds(absl::FromChrono(std::chrono::steady_clock::now() - begun));
  std::cout << clients.deleted() - before << " orders deleted in the " << took
            << " s of the move\n";
  clients.WaitForDeletes(1000);  // on the target
  Ask([](Wish& wish) { wish.ending = Ending::kFinalize; });
  WaitForPhase(Phase::kFinalized);
  clients.Stop();
  runner->End();

  const std::map<std::string, std::string> expected = clients.Expected();
  const std::map<std::string, std::string> there = OrdersOn(1);
  std::vector<std::string> lost, back;
  for (const auto& [id, value] : expected) {
    const auto found = there.find(id);
    if (found == there.end() || found->second != value) lost.push_back(id);
  }
  for (const auto& [id, value] : there) {
    if (!expected.contains(id)) back.push_back(id);
  }
  EXPECT_TRUE(lost.empty()) << lost.size() << " orders, for instance " << lost[0];
  EXPECT_TRUE(back.empty()) << back.size() << " orders, for instance " << back[0];
}

// Whenever the comparison looks at it, it has been written since.
TEST_F(BusyClientsTest, OrderThatIsWrittenAllTheTime_DoesNotHoldTheMove) {
  const std::string id = IdText(7, 1);
  Sql(0, absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", id, ", 0)"));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> written = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      auto session = SqlSession::Open(As(0, "shop")).value();
      const std::string write =
          absl::StrCat("UPDATE orders SET value = value + 1 WHERE order_id = ", id);
      while (!stop) written += session->Run(write).ok();
    });
  }
  Begin();
  auto runner = StartRunner("one");
  WaitForPhase(Phase::kReady);
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(WaitUntil([&] { return OrdersOn(1)[id] == absl::StrCat(written.load()); }));
}

}  // namespace
}  // namespace locus
