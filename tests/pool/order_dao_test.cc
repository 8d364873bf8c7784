// SPDX-License-Identifier: Apache-2.0
// The DAO of examples/order_dao against four servers.
#include "examples/order_dao/order_dao.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "examples/order_dao/table_place.h"
#include "locus/engine/memory.h"
#include "locus/order_id_generator.h"
#include "locus/routing/file_table.h"
#include "tests/engine/mysql/sql_sections.h"
#include "tests/pool/shard_pools_fixture.h"
#include "tests/source/losing_relay.h"
#include "tests/support/golden.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using shop::Order;
using shop::OrderDao;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kShards = 4;
constexpr char kDatabase[] = "locus_shop";

class OrderDaoTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto schema = SqlSections(golden::ProjectDirectory() + "/docs/schema.sql");
    for (uint32_t i = 0; i < kShards; ++i) {
      servers_[i] = new MariadbServer;
      ASSERT_TRUE(servers_[i]->Start());
      servers_[i]->Sql(absl::StrCat("CREATE DATABASE ", kDatabase, "; USE ", kDatabase, "; ",
                                    schema.at("orders")[0]));
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  void SetUp() override {
    for (uint32_t i = 0; i < kShards; ++i) {
      servers_[i]->Sql("TRUNCATE locus_shop.orders");
      Shard& shard = shards_.emplace_back();
      shard.id = i + 1;
      shard.name = absl::StrCat("orders-", i);
      shard.endpoint = absl::StrCat("mysql://127.0.0.1:", servers_[i]->port(), "/", kDatabase);
      ranges_.push_back({static_cast<uint16_t>((i + 1) * 65536 / kShards - 1), i + 1});
    }
    Publish({});
    auto source = FileTableSource::Open(directory_ / "table.json");
    ASSERT_TRUE(source.ok()) << source.status();
    auto router = Router::Open(*std::move(source));
    ASSERT_TRUE(router.ok()) << router.status();
    router_ = *std::move(router);
    auto ids =
        OrderIdGenerator::Create(std::make_shared<MemorySegmentStore>(), {.create_space = true});
    ASSERT_TRUE(ids.ok()) << ids.status();
    ids_ = *std::move(ids);
    pools_ = MakePools();
    dao_ = std::make_unique<OrderDao>(*router_, *pools_, codec_, std::chrono::seconds(20));
  }

  // Puts the next epoch into the file, whole.
  void Publish(std::vector<VnodeMove> moves) {
    auto table = RoutingTable::Make(++epoch_, shards_, ranges_, std::move(moves)).value();
    std::ofstream(directory_ / "new.json") << table.ToJson();
    std::filesystem::rename(directory_ / "new.json", directory_ / "table.json");
  }
  void PublishAndWait(std::vector<VnodeMove> moves) {
    Publish(std::move(moves));
    ASSERT_TRUE(router_->Refresh(epoch_, In(absl::Seconds(20))).ok());
  }
  OrderId NewId(uint64_t buyer) {
    return ids_->Next(BuyerKey::Uint64(buyer), In(absl::Seconds(20))).value();
  }
  Order MustInsert(uint64_t buyer) {
    auto order = dao_->Insert(NewId(buyer), buyer);
    EXPECT_TRUE(order.ok()) << order.status();
    return *order;
  }
  static ShardGene GeneOf(uint64_t buyer) { return ShardGene::Of(BuyerKey::Uint64(buyer)); }
  MariadbServer& ServerOf(uint64_t buyer) {
    return *servers_[router_->Route(GeneOf(buyer)).owner->id - 1];
  }
  static int64_t RowsOn(MariadbServer& server) {
    return std::stoll(server.Value("SELECT COUNT(*) FROM locus_shop.orders"));
  }
  uint64_t Taken() {
    uint64_t taken = 0;
    for (const ShardPoolStats& stats : pools_->Stats()) taken += stats.taken;
    return taken;
  }
  // What a moving tool leaves while it works: every row of the vnode on both shards.
  void CopyAll(MariadbServer& from, MariadbServer& to) {
    auto results = from.Sql(
        "SELECT order_id, HEX(order_no), order_no_kv, buyer_uid, version FROM locus_shop.orders");
    for (const auto& row : results.at(0).rows) {
      to.Sql(
          absl::StrCat("INSERT INTO locus_shop.orders (order_id, order_no, order_no_kv, buyer_uid,"
                       " version) VALUES (",
                       *row[0], ", 0x", *row[1], ", ", *row[2], ", ", *row[3], ", ", *row[4], ")"));
    }
  }

  static MariadbServer* servers_[kShards];
  TemporaryDirectory directory_;
  std::vector<Shard> shards_;
  std::vector<VnodeRange> ranges_;
  uint64_t epoch_ = 0;
  const OrderNoCodec codec_ =
      OrderNoCodec::Create(KeyRing::Generate().value(), SpaceName()).value();
  std::unique_ptr<Router> router_;
  std::unique_ptr<OrderIdGenerator> ids_;
  std::unique_ptr<ShardPools> pools_;
  std::unique_ptr<OrderDao> dao_;
};

MariadbServer* OrderDaoTest::servers_[kShards];

TEST_F(OrderDaoTest, InsertedOrders_AreFoundByAllThreeWaysAndSpread) {
  std::map<uint64_t, std::vector<Order>> orders;
  for (uint64_t i = 0; i < 120; ++i) orders[i % 40].push_back(MustInsert(i % 40));
  int64_t rows = 0;
  for (MariadbServer* server : servers_) {
    EXPECT_GT(RowsOn(*server), 0);
    rows += RowsOn(*server);
  }
  EXPECT_EQ(rows, 120);
  for (const auto& [buyer, of_buyer] : orders) {
    auto found = dao_->FindByBuyer(buyer);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(*found, ElementsAreArray(of_buyer));
    for (const Order& order : of_buyer) {
      EXPECT_EQ(dao_->FindById(order.id).value(), order);
      EXPECT_EQ(dao_->FindByNo(order.no.ToString()).value(), order);
    }
  }
  EXPECT_TRUE(dao_->FindByBuyer(4711)->empty());
  OrderId missing = OrderId::FromParts(GeneOf(1), 7).value();
  EXPECT_TRUE(absl::IsNotFound(dao_->FindById(missing).status()));
  EXPECT_TRUE(absl::IsNotFound(dao_->FindByNo(codec_.Encode(missing)->ToString()).status()));
}

TEST_F(OrderDaoTest, NumberOfAStranger_IsRefusedWithoutAConnection) {
  Order order = MustInsert(1);
  uint64_t before = Taken();
  EXPECT_EQ(before, 1u);
  auto strange = OrderNoCodec::Create(KeyRing::Generate().value(), SpaceName()).value();
  std::string changed = order.no.ToBytes();
  changed[15] = static_cast<char>(changed[15] ^ 1);
  for (const std::string& text :
       {strange.Encode(order.id)->ToString(), OrderNo::FromBytes(changed)->ToString(),
        std::string("1' OR '1'='1"), std::string(), order.id.ToString()}) {
    absl::Status status = dao_->FindByNo(text).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
  }
  EXPECT_EQ(Taken(), before);
  EXPECT_TRUE(dao_->FindByNo(order.no.ToString()).ok());
  EXPECT_EQ(Taken(), before + 1);
}

TEST_F(OrderDaoTest, TwoBuyersOfOneVnode_DoNotSeeEachOther) {
  uint64_t first = 1, second = 2;
  while (GeneOf(second) != GeneOf(first)) ++second;
  std::vector<Order> of_first = {MustInsert(first), MustInsert(first)};
  std::vector<Order> of_second = {MustInsert(second)};
  EXPECT_THAT(dao_->FindByBuyer(first).value(), ElementsAreArray(of_first));
  EXPECT_THAT(dao_->FindByBuyer(second).value(), ElementsAreArray(of_second));
}

TEST_F(OrderDaoTest, MovingVnode_IsAskedOnBothShardsAndEachOrderComesOnce) {
  const uint64_t buyer = 17850;
  MariadbServer& from = ServerOf(buyer);
  uint32_t owner = router_->Route(GeneOf(buyer)).owner->id;
  uint32_t target = owner % kShards + 1;
  MariadbServer& to = *servers_[target - 1];
  std::vector<Order> orders;
  for (int i = 0; i < 40; ++i) orders.push_back(MustInsert(buyer));
  CopyAll(from, to);
  uint16_t vnode = GeneOf(buyer).value();
  for (uint32_t permyriad : {0u, 5000u, 10000u}) {
    PublishAndWait({{vnode, vnode, target, permyriad}});
    EXPECT_THAT(dao_->FindByBuyer(buyer).value(), ElementsAreArray(orders)) << permyriad;
    for (const Order& order : orders) {
      EXPECT_EQ(router_->Route(order.id).id, order.id.cohort() < permyriad ? target : owner);
      EXPECT_EQ(dao_->FindById(order.id).value(), order);
    }
  }
  PublishAndWait({{vnode, vnode, target, 5000}});
  int64_t before[] = {RowsOn(from), RowsOn(to)};
  for (int i = 0; i < 40; ++i) orders.push_back(MustInsert(buyer));
  EXPECT_GT(RowsOn(from), before[0]);
  EXPECT_GT(RowsOn(to), before[1]);
  EXPECT_THAT(dao_->FindByBuyer(buyer).value(), ElementsAreArray(orders));
}

// The guard of a shard that does not have the vnode any more, as the moving of orders sets it up.
TEST_F(OrderDaoTest, ShardThatRefuses_IsLeftForWhereANewerTablePoints) {
  const uint64_t buyer = 17850;
  MariadbServer& from = ServerOf(buyer);
  uint32_t target = router_->Route(GeneOf(buyer)).owner->id % kShards + 1;
  uint16_t vnode = GeneOf(buyer).value();
  from.Sql(
      "CREATE TRIGGER locus_shop.guard BEFORE INSERT ON locus_shop.orders FOR EACH ROW"
      " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'LOCUS_FENCED 1 elsewhere'");
  OrderDao hasty(*router_, *pools_, codec_, std::chrono::seconds(2));
  absl::Status status = hasty.Insert(NewId(buyer), buyer).status();
  EXPECT_TRUE(absl::IsAborted(status)) << "no newer table: " << status;
  EXPECT_THAT(status.ToString(), HasSubstr("LOCUS_FENCED"));
  std::thread insert([&] {
    auto order = dao_->Insert(NewId(buyer), buyer);
    EXPECT_TRUE(order.ok()) << order.status();
  });
  Publish({{vnode, vnode, target, 10000}});
  insert.join();
  EXPECT_EQ(RowsOn(from), 0);
  EXPECT_EQ(RowsOn(*servers_[target - 1]), 1);
  from.Sql("DROP TRIGGER locus_shop.guard");
}

TEST_F(OrderDaoTest, ShardThatRefusesAndNamesAnother_IsLeftForThatWithoutANewerTable) {
  const uint64_t buyer = 17850;
  MariadbServer& from = ServerOf(buyer);
  const uint32_t target = router_->Route(GeneOf(buyer)).owner->id % kShards + 1;
  from.Sql(
      absl::StrCat("CREATE TRIGGER locus_shop.guard BEFORE INSERT ON locus_shop.orders FOR EACH ROW"
                   " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'LOCUS_FENCED 7 orders-",
                   target - 1, "'"));
  auto order = dao_->Insert(NewId(buyer), buyer);
  from.Sql("DROP TRIGGER locus_shop.guard");
  EXPECT_TRUE(order.ok()) << order.status();
  EXPECT_EQ(RowsOn(from), 0);
  EXPECT_EQ(RowsOn(*servers_[target - 1]), 1);
}

TEST_F(OrderDaoTest, StatementUndoneForAnotherTransaction_IsDoneAgain) {
  Order order = MustInsert(1);
  MariadbServer& server = ServerOf(1);
  for (int error : {1213, 1205, 1020}) {
    // MyISAM: what the trigger counts stays when the statement is undone.
    server.Sql(absl::StrCat(
        "CREATE TABLE locus_shop.attempts (n INT) ENGINE = MyISAM;"
        "INSERT INTO locus_shop.attempts VALUES (0);"
        "CREATE TRIGGER locus_shop.loses BEFORE UPDATE ON locus_shop.orders FOR EACH ROW BEGIN "
        "UPDATE locus_shop.attempts SET n = n + 1; "
        "IF (SELECT n FROM locus_shop.attempts) < 3 THEN "
        "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ",
        error, ", MESSAGE_TEXT = 'lost'; END IF; END"));
    auto updated = dao_->Update(order);
    EXPECT_TRUE(updated.ok()) << error << ": " << updated.status();
    EXPECT_EQ(server.Value("SELECT n FROM locus_shop.attempts"), "3") << error;
    if (updated.ok()) order = *updated;
    server.Sql("DROP TRIGGER locus_shop.loses; DROP TABLE locus_shop.attempts");
  }
  EXPECT_EQ(dao_->FindById(order.id).value(), order);
}

TEST_F(OrderDaoTest, AnswerLostAfterCommit_OneRowAndTheSameOrder) {
  const uint64_t buyer = 17850;
  MariadbServer& server = ServerOf(buyer);
  LosingRelay relay(server.port());
  for (Shard& shard : shards_) {
    if (shard.id == router_->Route(GeneOf(buyer)).owner->id) {
      shard.endpoint = absl::StrCat("mysql://127.0.0.1:", relay.port(), "/", kDatabase);
    }
  }
  PublishAndWait({});
  const OrderId id = NewId(buyer);
  relay.LoseAnswersTo("INSERT INTO orders");
  OrderDao hasty(*router_, *pools_, codec_, std::chrono::seconds(2));
  absl::Status status = hasty.Insert(id, buyer).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.ToString(), HasSubstr("may be stored: insert it again with the same ID"));
  EXPECT_GT(relay.lost(), 1) << "the call repeats itself, with the ID it has";
  EXPECT_TRUE(WaitUntil([&] { return RowsOn(server) > 0; }));

  relay.LoseAnswersTo("");
  auto order = dao_->Insert(id, buyer);
  ASSERT_TRUE(order.ok()) << order.status();
  EXPECT_EQ(RowsOn(server), 1);
  EXPECT_EQ(dao_->FindById(id).value(), *order);

  // One lost answer is mended within the call.
  const OrderId next = NewId(buyer);
  const int lost = relay.lost();
  relay.LoseAnswersTo("INSERT INTO orders");
  std::thread heals([&] {
    EXPECT_TRUE(WaitUntil([&] { return relay.lost() > lost; }));
    relay.LoseAnswersTo("");
  });
  auto mended = dao_->Insert(next, buyer);
  heals.join();
  EXPECT_TRUE(mended.ok()) << mended.status();
  EXPECT_EQ(RowsOn(server), 2);
}

TEST_F(OrderDaoTest, SameIdAgain_IsTheStoredOrderOrAlreadyExists) {
  const uint64_t buyer = 1;
  Order order = MustInsert(buyer);
  EXPECT_EQ(dao_->Insert(order.id, buyer).value(), order);
  order = dao_->Update(order).value();
  EXPECT_EQ(dao_->Insert(order.id, buyer).value(), order) << "as it stands now";
  MariadbServer& server = ServerOf(buyer);
  EXPECT_EQ(RowsOn(server), 1);

  absl::Status status = dao_->Insert(order.id, buyer + 1).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << "not made for that buyer: " << status;
  server.Sql("UPDATE locus_shop.orders SET buyer_uid = 77");
  status = dao_->Insert(order.id, buyer).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("belongs to buyer 77"));
  server.Sql("UPDATE locus_shop.orders SET order_id = order_id + 1");
  status = dao_->Insert(order.id, buyer).status();
  EXPECT_TRUE(absl::IsAlreadyExists(status)) << "another has its order_no: " << status;
  EXPECT_EQ(RowsOn(server), 1);
}

TEST_F(OrderDaoTest, RefusedForGood_IsNotCalledUnavailable) {
  MariadbServer& server = ServerOf(1);
  struct Case {
    const char* signal;
    absl::StatusCode code;
  };
  for (const Case& c :
       {Case{"SQLSTATE '22003' SET MYSQL_ERRNO = 1264", absl::StatusCode::kInvalidArgument},
        Case{"SQLSTATE '22001' SET MYSQL_ERRNO = 1406", absl::StatusCode::kInvalidArgument},
        Case{"SQLSTATE '23000' SET MYSQL_ERRNO = 1452", absl::StatusCode::kFailedPrecondition},
        Case{"SQLSTATE '23000' SET MYSQL_ERRNO = 4025", absl::StatusCode::kFailedPrecondition},
        Case{"SQLSTATE '45000' SET MESSAGE_TEXT = 'no credit'",
             absl::StatusCode::kFailedPrecondition}}) {
    server.Sql(absl::StrCat(
        "CREATE TRIGGER locus_shop.refuses BEFORE INSERT ON locus_shop.orders FOR EACH ROW SIGNAL ",
        c.signal));
    absl::Status status = dao_->Insert(NewId(1), 1).status();
    EXPECT_EQ(status.code(), c.code) << c.signal << ": " << status;
    server.Sql("DROP TRIGGER locus_shop.refuses");
  }
}

TEST_F(OrderDaoTest, StatementWithoutParameters_Runs) {
  MustInsert(1);
  const RoutedShard& shard = *router_->Route(GeneOf(1)).owner;
  auto connection = pools_->Take(shard, router_->epoch(), In(absl::Seconds(20)));
  ASSERT_TRUE(connection.ok()) << connection.status();
  {
    shop::Statement count(*connection, "SELECT COUNT(*) FROM orders");
    ASSERT_TRUE(count.Execute().ok());
    ASSERT_TRUE(count.Fetch().ok());
    EXPECT_EQ(count.Number(0), 1u);
    EXPECT_TRUE(absl::IsNotFound(count.Fetch()));
  }
  shop::Statement remove(*connection, "DELETE FROM orders");
  ASSERT_TRUE(remove.Execute().ok());
  EXPECT_EQ(remove.affected(), 1u);
  shop::Statement wrong(*connection, "SELECT 1, 2, 3, 4, 5, 6, 7");
  EXPECT_TRUE(absl::IsInvalidArgument(wrong.Execute())) << "more columns than it holds";
}

TEST_F(OrderDaoTest, WideOrderId_IsNotThereAndNoShardIsAsked) {
  OrderId wide = OrderId::FromParts(GeneOf(1), uint64_t{1} << 47).value();
  EXPECT_TRUE(absl::IsNotFound(dao_->FindById(wide).status()));
  absl::Status by_no = dao_->FindByNo(codec_.Encode(wide)->ToString()).status();
  EXPECT_TRUE(absl::IsNotFound(by_no)) << by_no;
  EXPECT_THAT(by_no.ToString(), HasSubstr(wide.ToString()));
  EXPECT_EQ(Taken(), 0u);
}

TEST_F(OrderDaoTest, OrderChangedByAnother_IsNotOverwritten) {
  Order order = MustInsert(1);
  Order changed = dao_->Update(order).value();
  EXPECT_EQ(changed.version, 2u);
  EXPECT_EQ(dao_->FindById(order.id).value(), changed);
  EXPECT_TRUE(absl::IsAborted(
      OrderDao(*router_, *pools_, codec_, std::chrono::seconds(2)).Update(order).status()));
  EXPECT_EQ(dao_->FindById(order.id).value(), changed);
}

TEST_F(OrderDaoTest, DeadShard_HurtsItsBuyersOnly) {
  std::map<uint64_t, Order> orders;
  for (uint64_t buyer = 0; buyer < 40; ++buyer) orders.emplace(buyer, MustInsert(buyer));
  MariadbServer& dead = *servers_[0];
  dead.KillHard();
  size_t hurt = 0;
  for (const auto& [buyer, order] : orders) {
    auto found = dao_->FindByNo(order.no.ToString());
    if (&ServerOf(buyer) == &dead) {
      ++hurt;
      EXPECT_TRUE(absl::IsUnavailable(found.status())) << found.status();
      EXPECT_THAT(found.status().ToString(), HasSubstr("shard orders-0"));
    } else {
      EXPECT_EQ(found.value(), order);
    }
  }
  EXPECT_GT(hurt, 0u);
  EXPECT_LT(hurt, orders.size());
  ASSERT_TRUE(dead.Start());
  for (const auto& entry : orders) {
    EXPECT_TRUE(WaitUntil([&] { return dao_->FindById(entry.second.id).ok(); }));
  }
}

TEST(TablePlaceTest, Place_IsTheSourceThatItNames) {
  TemporaryDirectory directory;
  const std::string path = directory / "table.json";
  std::ofstream(path) << RoutingTable::MakeEven({{"a", "mysql://a/shop"}}).value().ToJson();
  for (const std::string& place : {path, "file:" + path}) {
    auto source = shop::OpenTableSource(place, "");
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_TRUE((*source)->Next("", In(absl::Seconds(20))).ok()) << place;
  }
  for (const std::string place : {"etcd://127.0.0.1:1/shop", "mysql://reader@127.0.0.1:1/shop",
                                  "http://127.0.0.1:1/table.json"}) {  // nobody listens there
    auto source = shop::OpenTableSource(place, "");
    ASSERT_TRUE(source.ok()) << source.status();
    absl::Status status = (*source)->Next("", In(absl::Seconds(1))).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << place << ": " << status;
    EXPECT_THAT(status.ToString(), HasSubstr("127.0.0.1:1"));
  }
}

TEST(TablePlaceTest, UriWithoutASource_IsRefusedWithoutItsPassword) {
  for (const std::string place :
       {"", "zookeeper://h/shop", "mysql://u@h:port/shop", "mysql://u@h:70000/shop",
        "mysql://u:geheim@h/shop", "etcd://u:geheim@h:1/shop", "http://u:geheim@h/"}) {
    absl::Status status = shop::OpenTableSource(place, "").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << place << ": " << status;
    EXPECT_THAT(status.ToString(), Not(HasSubstr("geheim")));
  }
}

}  // namespace
}  // namespace locus
