// SPDX-License-Identifier: Apache-2.0
// Processes of examples/order_service write while vnodes move from one shard to the other and back,
// by steps that the test makes: fences, a stream each way, and a table that arrives late or never.
#include <array>
#include <atomic>
#include <thread>

#include "gmock/gmock.h"
#include "migration/cut_over/token.h"
#include "migration/engine/mariadb/binlog_reader.h"
#include "migration/engine/mariadb/change_applier.h"
#include "tests/order_service/two_shards.h"

namespace locus {
namespace {

using internal::BandFence;
using internal::Side;
using internal::Situation;
using mariadb::BinlogReader;
using mariadb::ChangeApplier;
using nlohmann::json;
using stream::ChangeTransaction;
using stream::GtidPosition;

constexpr uint32_t kCohorts = 10000;
constexpr uint16_t kLast = 9999;  // vnodes 0..kLast move; all others stay on shard 1

class OrderServiceMoveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(shards_.Start(RoutingTable::Make(1, shards_.Shards(), {{65535, 1}}).value()));
    shards_.Sql(0, absl::StrCat("UPDATE locus_fence SET lo = ", kLast + 1,
                                "; INSERT INTO locus_fence VALUES (0, ", kLast,
                                ", 0, 10000, 0, @@server_id, 'orders-b', NULL)"));
    shards_.Sql(1, absl::StrCat("INSERT INTO locus_fence VALUES (0, ", kLast,
                                ", 0, 0, 0, @@server_id, 'orders-a', NULL)"));
  }

  // The move at `share`; after the clean-up, without a move and with the target as owner.
  void PublishMove(uint32_t share) {
    shards_.Publish(RoutingTable::Make(++epoch_, shards_.Shards(), {{65535, 1}},
                                       {{0, kLast, 2, share, Fence(0).step}})
                        .value());
  }
  void PublishDone() {
    shards_.Publish(
        RoutingTable::Make(++epoch_, shards_.Shards(), {{kLast, 2}, {65535, 1}}).value());
  }

  BandFence Fence(size_t server) {
    auto results = shards_.server(server).Sql(
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
    auto session = SqlSession::Open(shards_.As(server, "mover")).value();
    auto results = session->Run(absl::StrCat(
        "SET STATEMENT max_statement_time = 0.15 FOR UPDATE locus_fence SET own_lo = ", row.own_lo,
        ", own_hi = ", row.own_hi, ", step = ", row.step, ", token = ", token,
        " WHERE lo = 0 AND step = ", seen));
    return results.ok() && (*results)[0].affected == 1;
  }
  // The donor lets go of a band.
  void BeginStep(uint32_t share) {
    const size_t donor = share > Now().share ? 0 : 1;
    ASSERT_TRUE(WaitUntil([&] {
      const BandFence source = Fence(0), target = Fence(1);
      auto row = LetGo(source, target, share, ++nonce_, kCohorts);
      return row && Set(donor, *row, (donor == 0 ? source : target).step);
    }));
  }
  // The applier of the other shard accepts it.
  void Step(uint32_t share) {
    BeginStep(share);
    ASSERT_TRUE(WaitUntil([&] { return Now().kind == Situation::Kind::kAgreed; }));
    EXPECT_EQ(Now().share, share);
    PublishMove(share);
  }
  // Lets go of a band and takes it back at once, unless the recipient was quicker.
  void StepTakenBack(uint32_t share) {
    const size_t donor = share > Now().share ? 0 : 1;
    BeginStep(share);
    ASSERT_TRUE(WaitUntil([&] {
      const BandFence source = Fence(0), target = Fence(1);
      const std::array<uint64_t, 2> steps = {source.step, target.step};
      if (auto row = Refuse(source, target, kCohorts)) Set(1 - donor, *row, steps[1 - donor]);
      if (auto row = Restore(source, target, kCohorts)) Set(donor, *row, steps[donor]);
      if (auto row = Level(source, target, kCohorts)) Set(1 - donor, *row, steps[1 - donor]);
      return Now().kind == Situation::Kind::kAgreed;
    }));
  }

  mariadb::ApplierOptions ApplierTo(size_t recipient) {
    mariadb::ApplierOptions options;
    options.server = shards_.As(recipient, "mover");
    options.tables = TwoShards::Moved();
    options.move = "first";
    options.recipient = recipient == 1 ? Side::kTarget : Side::kSource;
    options.ranges = {{0, kLast}};
    return options;
  }
  GtidPosition PositionOf(size_t server) {
    return GtidPosition::Parse(shards_.server(server).Value("SELECT @@GLOBAL.gtid_binlog_pos"))
        .value();
  }
  // Follows the log of `from` and applies it to the other shard, until `stop_streams_`.
  void Stream(size_t from, const GtidPosition& start) {
    auto applier = ChangeApplier::Open(ApplierTo(1 - from), start);
    ASSERT_TRUE(applier.ok()) << applier.status();
    mariadb::BinlogReaderOptions reading;
    reading.server = shards_.As(from, "mover");
    reading.stream.position = (*applier)->position();
    reading.stream.spool.directory = shards_.server(from).path("");
    reading.stream.wanted = [&](std::string_view database, std::string_view table) {
      return database == TwoShards::kDatabase && (*applier)->Wants(table);
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
      ASSERT_TRUE(applied.ok()) << from << ": " << applied;
    }
    EXPECT_EQ((*applier)->counts().rogue, 0u) << (*applier)->rogue_text();
  }
  void StartStreams() {
    const GtidPosition begins[] = {PositionOf(0), PositionOf(1)};
    for (size_t from : {0, 1}) {
      streams_.emplace_back([this, from, begin = begins[from]] { Stream(from, begin); });
    }
  }
  void StopStreams() {
    stop_streams_ = true;
    for (std::thread& stream : streams_) stream.join();
    streams_.clear();
  }
  // Three of four orders are of vnodes that move.
  std::unique_ptr<PrivateServer> StartTraffic() {
    return shards_.StartTraffic({"--rate", "400", "--threads", "2", "--late-by", "3", "--last",
                                 absl::StrCat(kLast * 4 / 3)});
  }
  void WaitForWrites(uint64_t more) {
    const uint64_t before = shards_.Writes();
    ASSERT_TRUE(WaitUntil([&] { return shards_.Writes() > before + more || HasFailure(); },
                          absl::Seconds(60)));
  }

  void TearDown() override { StopStreams(); }

  TwoShards shards_;
  std::vector<std::thread> streams_;
  std::atomic<bool> stop_streams_ = false;
  uint64_t nonce_ = 0, epoch_ = 1;
};

TEST_F(OrderServiceMoveTest, ForthAndBackAndCleanedUp_EveryAcknowledgedWriteIsThereOnce) {
  StartStreams();
  auto traffic = StartTraffic();
  for (const uint32_t share : {500u, 10000u, 3000u, 10000u}) {
    WaitForWrites(150);
    StepTakenBack(share);
    WaitForWrites(150);
    if (HasFailure()) break;
    if (Now().share != share) Step(share);
    PublishMove(share);
  }
  WaitForWrites(300);
  StopStreams();
  // Clients that still have the first table find no rows on the donor, only its fence.
  for (const shop::Table table : shop::kTables) {
    shards_.PastTheGuards(
        0, absl::StrCat("DELETE FROM ", NameOf(table), " WHERE order_id >> 47 <= ", kLast));
  }
  PublishDone();
  WaitForWrites(300);
  TwoShards::StopWell(*traffic);
  const json verdict = shards_.Verdict({"--final"});
  EXPECT_EQ(verdict["exit"], 0) << verdict;
  EXPECT_EQ(verdict["copies"], 0) << verdict;
  EXPECT_GT(verdict["refusals"], 0) << verdict;
  EXPECT_GT(verdict["waits"], 0) << verdict;
  std::cout << verdict["acknowledged"] << " writes, " << verdict["refusals"] << " refusals\n";
}

TEST_F(OrderServiceMoveTest, MoveUnderWay_BothShardsHaveTheRows) {
  StartStreams();
  auto traffic = StartTraffic();
  WaitForWrites(100);
  Step(5000);
  WaitForWrites(200);
  TwoShards::StopWell(*traffic);
  json verdict = shards_.Verdict();
  EXPECT_EQ(verdict["exit"], 0) << verdict;
  EXPECT_GT(verdict["copies"], 0) << verdict;
  verdict = shards_.Verdict({"--final"});
  EXPECT_EQ(verdict["exit"], 1);
  EXPECT_GT(verdict["doubled"], 0) << verdict;
  StopStreams();
}

}  // namespace
}  // namespace locus
