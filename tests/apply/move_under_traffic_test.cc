// SPDX-License-Identifier: Apache-2.0
// The parts of a move together: guards, version triggers, a stream each way with its applier, steps
// decided by the rules of the handover, and clients that follow the fence, while orders are
// written.
#include <array>
#include <atomic>
#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "migration/apply/change_applier.h"
#include "migration/cut_over/token.h"
#include "migration/mysql/binlog_reader.h"
#include "tests/fence/two_shards.h"
#include "tests/support/sanitizers.h"

namespace locus {
namespace {

using internal::BandFence;
using internal::Side;
using internal::Situation;
using mysql::BinlogReader;
using mysql::ChangeApplier;
using stream::ChangeTransaction;
using stream::GtidPosition;

constexpr char kDatabase[] = "locus_shop";
constexpr uint32_t kCohorts = 10000;

// Orders of vnodes 0..99, all on server 0 at first.
class MoveUnderTrafficTest : public ::testing::Test {
 protected:
  void SetUp() override {
    table_.guard.name = "orders";
    for (uint32_t i = 0; i < 2; ++i) {
      servers_[i] = std::make_unique<MariadbServer>(FencedServer(static_cast<uint16_t>(i + 1)));
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
      servers_[i]->Sql(
          absl::StrCat("CREATE DATABASE ", kDatabase, "; USE ", kDatabase,
                       "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT,"
                       " version BIGINT UNSIGNED NOT NULL DEFAULT 1); ",
                       absl::StrJoin(CreateTombstones(), "; "),
                       "; CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret';"
                       "GRANT SELECT, INSERT, UPDATE, DELETE ON locus_shop.* TO shop@'127.0.0.1'"));
    }
    shards_ = TwoShards(*servers_[0], *servers_[1], kDatabase);
    InstallFencesOfTwo(*servers_[0], *servers_[1], shards_, kDatabase);
    for (const auto& server : servers_) MakeVersionTriggers(*server, kDatabase, table_);
    router_ = std::make_unique<Router>(TableAt(0, 1, 0));
    stale_ = std::make_unique<Router>(TableAt(0, 1, 0));
    pools_ = ShopPools();
  }

  RoutingTable TableAt(uint32_t permyriad, uint64_t epoch, uint64_t step) {
    return TableOfStep(shards_, permyriad, epoch, step);
  }
  MysqlOptions As(size_t server, const std::string& user) {
    MysqlOptions options = servers_[server]->Account(kDatabase);
    options.user = user;
    return options;
  }
  void Sql(size_t server, const std::string& statements) {
    servers_[server]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }

  BandFence Fence(size_t server) {
    auto results = servers_[server]->Sql(
        "SELECT own_lo, own_hi, step, token FROM locus_shop.locus_fence WHERE lo = 0");
    const auto& row = results[0].rows[0];
    BandFence fence;
    fence.own_lo = static_cast<uint32_t>(std::stoul(*row[0]));
    fence.own_hi = static_cast<uint32_t>(std::stoul(*row[1]));
    fence.step = std::stoull(*row[2]);
    if (row[3]) std::tie(fence.token_share, fence.token_nonce) = internal::TokenIn(*row[3]);
    return fence;
  }
  Situation Now() { return SituationOf(Fence(0), Fence(1), kCohorts); }
  // UPDATE ... WHERE step = `seen`. Whether it changed the row; waits for writers at most 150 ms.
  bool Set(size_t server, const BandFence& row, uint64_t seen) {
    const std::string token =
        row.token_nonce == 0
            ? "NULL"
            : absl::StrCat("'", internal::TokenText(row.token_share, row.token_nonce), "'");
    auto session = SqlSession::Open(As(server, "mover")).value();
    auto results = session->Run(absl::StrCat(
        "SET STATEMENT max_statement_time = 0.15 FOR UPDATE locus_fence SET own_lo = ", row.own_lo,
        ", own_hi = ", row.own_hi, ", step = ", row.step, ", token = ", token,
        " WHERE lo = 0 AND step = ", seen));
    return results.ok() && (*results)[0].affected == 1;
  }
  // Steps to `share` as the protocol goes; the appliers do their half.
  void Step(uint32_t share) {
    const size_t donor = share > Now().share ? 0 : 1;
    ASSERT_TRUE(WaitUntil([&] {
      const BandFence source = Fence(0), target = Fence(1);
      auto row = LetGo(source, target, share, ++nonce_, kCohorts);
      return row && Set(donor, *row, (donor == 0 ? source : target).step);
    }));
    ASSERT_TRUE(WaitUntil([&] { return Now().kind == Situation::Kind::kAgreed; }));
    EXPECT_EQ(Now().share, share);
  }
  // Lets go of a band and takes it back at once. The recipient may have been quicker.
  void StepTakenBack(uint32_t share) {
    const uint32_t before = Now().share;
    const size_t donor = share > before ? 0 : 1;
    ASSERT_TRUE(WaitUntil([&] {
      const BandFence source = Fence(0), target = Fence(1);
      auto row = LetGo(source, target, share, ++nonce_, kCohorts);
      return row && Set(donor, *row, (donor == 0 ? source : target).step);
    }));
    ASSERT_TRUE(WaitUntil([&] {
      const BandFence source = Fence(0), target = Fence(1);
      const std::array<uint64_t, 2> steps = {source.step, target.step};
      if (auto row = Refuse(source, target, kCohorts)) Set(1 - donor, *row, steps[1 - donor]);
      if (auto row = Restore(source, target, kCohorts)) Set(donor, *row, steps[donor]);
      if (auto row = Level(source, target, kCohorts)) Set(1 - donor, *row, steps[1 - donor]);
      return Now().kind == Situation::Kind::kAgreed;
    }));
    EXPECT_TRUE(Now().share == before || Now().share == share);
  }

  // Follows the log of `from` and applies it to the other server, until `stop_`.
  void Stream(size_t from, GtidPosition start) {
    mysql::ApplierOptions options;
    options.server = As(1 - from, "mover");
    options.tables = {table_};
    options.move = "first";
    options.recipient = from == 0 ? Side::kTarget : Side::kSource;
    options.ranges = {{0, 99}};
    auto applier = ChangeApplier::Open(options, start);
    ASSERT_TRUE(applier.ok()) << applier.status();
    mysql::BinlogReaderOptions reading;
    reading.server = As(from, "mover");
    reading.stream.position = (*applier)->position();
    reading.stream.spool.directory = servers_[from]->path("");
    reading.stream.wanted = [&](std::string_view database, std::string_view table) {
      return database == kDatabase && (*applier)->Wants(table);
    };
    reading.heartbeat = absl::Milliseconds(200);
    auto reader = BinlogReader::Open(reading);
    ASSERT_TRUE(reader.ok()) << reader.status();
    while (!stop_streams_) {
      auto item = (*reader)->Next(In(absl::Milliseconds(200)));
      if (absl::IsDeadlineExceeded(item.status())) continue;
      ASSERT_TRUE(item.ok()) << item.status();
      auto* transaction = std::get_if<ChangeTransaction>(&*item);
      if (transaction == nullptr) continue;
      const absl::Status applied = (*applier)->Apply(*transaction);
      ASSERT_TRUE(applied.ok()) << applied;
    }
    EXPECT_EQ((*applier)->counts().rogue, 0u) << (*applier)->rogue_text();
  }

  // Inserts, changes, deletes and reads its own orders; remembers what was acknowledged.
  struct Kept {
    std::map<OrderId, uint64_t> values;
    uint64_t done = 0;
  };
  static absl::Status Execute(ShardConnection& connection, const std::string& statement) {
    if (mysql_real_query(connection.handle(), statement.data(), statement.size()) != 0) {
      return ShardErrorOf(connection);
    }
    return mysql_affected_rows(connection.handle()) == 0 ? absl::NotFoundError("no such order")
                                                         : absl::OkStatus();
  }
  void Write(uint32_t number, FencedTransactions& fenced, Kept& kept) {
    uint64_t random = number * 7919 + 1;
    for (uint64_t i = 1; !stop_writers_; ++i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const OrderId id = IdOf(static_cast<uint32_t>(random >> 40) % 100,
                              (uint64_t{number} << 32) + (random >> 50) % 64);
      const bool there = kept.values.contains(id);
      const bool removes = there && i % 5 == 0;
      const std::string by_id = " WHERE order_id = " + Number(id);
      const std::string statement =
          removes ? "DELETE FROM orders" + by_id
          : there ? absl::StrCat("UPDATE orders SET value = ", i, by_id)
                  : absl::StrCat("INSERT INTO orders (order_id, value) VALUES (", Number(id), ", ",
                                 i, ")");
      const FencedCall call{.kind = i % 2 == 0 ? FencedCall::Kind::kStatement
                                               : FencedCall::Kind::kTransaction};
      const absl::Status status =
          fenced.Run(id, call, In(absl::Seconds(60)),
                     [&](ShardConnection& connection) { return Execute(connection, statement); });
      ASSERT_TRUE(status.ok()) << number << ": " << statement << ": " << status;
      if (removes) {
        kept.values.erase(id);
      } else {
        kept.values[id] = i;
      }
      ++kept.done;
      ++done_;
      if (i % 7 == 0) ReadBack(fenced, id, kept);
    }
  }
  // A fenced read is never stale.
  void ReadBack(FencedTransactions& fenced, const OrderId& id, const Kept& kept) {
    std::string value;
    const absl::Status status = fenced.Run(
        id, {.kind = FencedCall::Kind::kRead, .fence_first = true}, In(absl::Seconds(60)),
        [&](ShardConnection& connection) {
          value = Ask(connection, "SELECT value FROM orders WHERE order_id = " + Number(id));
          return value.empty() ? absl::NotFoundError("none") : absl::OkStatus();
        });
    auto found = kept.values.find(id);
    if (found == kept.values.end()) {
      ASSERT_TRUE(absl::IsNotFound(status)) << id << " " << status << value;
    } else {
      ASSERT_TRUE(status.ok()) << id << " " << status;
      ASSERT_EQ(value, absl::StrCat(found->second)) << id;
    }
  }

  std::unique_ptr<MariadbServer> servers_[2];
  MovedTable table_;
  std::vector<Shard> shards_;
  std::unique_ptr<Router> router_, stale_;
  std::unique_ptr<ShardPools> pools_;
  uint64_t nonce_ = 0;
  std::atomic<bool> stop_writers_ = false, stop_streams_ = false;
  std::atomic<uint64_t> done_ = 0;
};

TEST_F(MoveUnderTrafficTest, ForthAndBack_EveryAcknowledgedWriteIsThereOnce) {
  const GtidPosition begins[] = {
      GtidPosition::Parse(servers_[0]->Value("SELECT @@GLOBAL.gtid_binlog_pos")).value(),
      GtidPosition::Parse(servers_[1]->Value("SELECT @@GLOBAL.gtid_binlog_pos")).value()};
  std::thread streams[] = {std::thread([&] { Stream(0, begins[0]); }),
                           std::thread([&] { Stream(1, begins[1]); })};
  constexpr uint32_t kWriters = 6;
  FencedTransactions fenced(*router_, *pools_), by_stale(*stale_, *pools_);
  std::vector<Kept> kept(kWriters);
  std::vector<std::thread> writers;
  for (uint32_t i = 0; i < kWriters; ++i) {
    // Half of them have a routing table from before the move for ever.
    writers.emplace_back([&, i] { Write(i, i % 2 == 0 ? fenced : by_stale, kept[i]); });
  }
  uint64_t epoch = 1;
  auto wait_for_writes = [&] {
    const uint64_t before = done_;
    ASSERT_TRUE(WaitUntil([&] { return done_ > before + 60 || HasFailure(); }));
  };
  for (uint32_t share : {500u, 4000u, 10000u, 3000u, 0u, 7000u, 10000u}) {
    wait_for_writes();
    if (HasFailure()) break;
    StepTakenBack(share);
    wait_for_writes();
    if (Now().share != share) Step(share);
    ASSERT_TRUE(router_->Install(TableAt(share, ++epoch, Fence(0).step)).ok());
  }
  wait_for_writes();
  stop_writers_ = true;
  for (std::thread& writer : writers) writer.join();
  // All is on the target now, and the source's copy follows.
  auto rows_of = [&](size_t server) {
    std::map<std::string, std::string> rows;
    const auto results = servers_[server]->Sql("SELECT order_id, value FROM locus_shop.orders");
    for (const auto& row : results[0].rows) {
      rows[*row[0]] = *row[1];
    }
    return rows;
  };
  std::map<std::string, std::string> expected;
  uint64_t done = 0;
  for (const Kept& one : kept) {
    done += one.done;
    for (const auto& [id, value] : one.values) expected[Number(id)] = absl::StrCat(value);
  }
  EXPECT_EQ(rows_of(1), expected);
  EXPECT_TRUE(WaitUntil([&] { return rows_of(0) == expected; })) << "the stream back";
  stop_streams_ = true;
  for (std::thread& stream : streams) stream.join();
  std::cout << done << " writes, " << fenced.Stats().refusals + by_stale.Stats().refusals
            << " refusals, " << Fence(0).step << " changes of the fence\n";
  EXPECT_GT(by_stale.Stats().refusals, 0u);
}

}  // namespace
}  // namespace locus
