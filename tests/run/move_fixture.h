// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RUN_MOVE_FIXTURE_H_
#define LOCUS_TESTS_RUN_MOVE_FIXTURE_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/fenced_transaction.h"
#include "locus/routing/file_table.h"
#include "migration/run/move_runner.h"
#include "tests/fence/two_shards.h"
#include "tests/run/move_setup.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// Two shards on two servers, and a move of vnodes 0..99 and 200..299 from the first to the second
// that the routing table has begun. Orders have a table of items.
class MoveFixture : public ::testing::Test {
 protected:
  static constexpr char kShop[] = "locus_shop";

  // Of the configuration of both servers.
  virtual std::vector<std::string> MoreLines() const { return {}; }
  void SetUp() override {
    for (uint32_t i = 0; i < 2; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      for (const std::string& line : MoreLines()) settings.lines.push_back(line);
      servers_[i] = std::make_unique<MariadbServer>(settings);
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
      servers_[i]->Sql(
          absl::StrCat("CREATE DATABASE ", kShop, "; USE ", kShop,
                       "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT,"
                       " version BIGINT UNSIGNED NOT NULL DEFAULT 1);"
                       "CREATE TABLE items (order_id BIGINT UNSIGNED, line INT, value BIGINT,"
                       " version BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line));"
                       "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret';"
                       "GRANT SELECT, INSERT, UPDATE, DELETE ON locus_shop.* TO shop@'127.0.0.1'"));
    }
    shards_ = TwoShards(*servers_[0], *servers_[1], kShop);
    auto publisher = FileTablePublisher::Open(directory_ / "table.json");
    ASSERT_TRUE(publisher.ok()) << publisher.status();
    publisher_ = *std::move(publisher);
    ASSERT_TRUE(publisher_->Publish(TableAt(1, {}), 0).ok());
    ASSERT_TRUE(publisher_->Publish(TableAt(2, {{0, 99, 2, 0, 0}, {200, 299, 2, 0, 0}}), 1).ok());

    move_ = TestMove(servers_[0]->port(), servers_[1]->port());
    leg_ = {1, 2, move_.ranges};
    // An operator's own session.
    link_ = mysql::ShardLink::Create(As(0, "mover")).value();
    records_ = std::make_unique<mysql::MoveRecords>(*link_);
    ASSERT_TRUE(records_->CreateTables().ok());
  }

  RoutingTable TableAt(uint64_t epoch, std::vector<VnodeMove> moves) {
    return RoutingTable::Make(epoch, shards_, {{65535, 1}}, std::move(moves)).value();
  }
  MysqlOptions As(size_t server, const std::string& user) {
    MysqlOptions options = servers_[server]->Account(kShop);
    options.user = user;
    return options;
  }
  void Sql(size_t server, const std::string& statements) {
    servers_[server]->Sql(absl::StrCat("USE ", kShop, "; ", statements));
  }
  std::string Value(size_t server, const std::string& query) {
    return servers_[server]->Value(query);
  }

  // Sets an operator's wish; repeats that if the runner changed the record meanwhile.
  template <typename Change>
  void Ask(Change change) {
    ASSERT_TRUE(WaitUntil([&] {
      auto record = records_->Read(move_.name);
      EXPECT_TRUE(record.ok()) << record.status();
      if (!record.ok()) return true;
      internal::Wish wish = record->wish;
      change(wish);
      return records_->ChangeWish(move_.name, record->serial, wish).ok();
    }));
  }
  mysql::MoveRecord Record() { return records_->Read(move_.name).value(); }
  // Waits for a phase; stops with the reason where the move is held.
  void WaitForPhase(internal::Phase phase) {
    ASSERT_TRUE(WaitUntil(
        [&] {
          const mysql::MoveRecord record = Record();
          return record.phase == phase || !record.wish.hold.empty();
        },
        absl::Minutes(2)))
        << ToString(Record().phase) << " " << Record().status;
    ASSERT_EQ(Record().wish.hold, "");
  }
  void WaitForShare(uint32_t share) {
    auto reached = [&] {
      auto table = publisher_->Current();
      return table.ok() &&
             internal::SightOf(*table, leg_).kind == internal::TableSight::Kind::kUnderWay &&
             internal::SightOf(*table, leg_).share == share;
    };
    ASSERT_TRUE(
        WaitUntil([&] { return reached() || !Record().wish.hold.empty(); }, absl::Minutes(2)))
        << Record().status;
    ASSERT_EQ(Record().wish.hold, "");
  }

  // A runner on a thread of its own.
  struct Running {
    std::unique_ptr<mysql::MoveRunner> runner;
    std::atomic<bool> stop = false;
    absl::Status status = absl::UnknownError("it runs");
    std::thread thread;

    ~Running() { End(); }
    void End() {
      stop = true;
      if (thread.joinable()) thread.join();
    }
  };
  std::unique_ptr<Running> StartRunner(const std::string& name) {
    return StartRunner(TestRunner(name, directory_ / ""));
  }
  std::unique_ptr<Running> StartRunner(const mysql::RunnerOptions& options) {
    auto running = std::make_unique<Running>();
    auto runner = mysql::MoveRunner::Create(move_, options, *publisher_);
    EXPECT_TRUE(runner.ok()) << runner.status();
    running->runner = *std::move(runner);
    running->thread =
        std::thread([raw = running.get()] { raw->status = raw->runner->Run(raw->stop); });
    return running;
  }
  void Begin() {
    internal::Wish wish;
    wish.started = true;
    wish.by = 2500;
    wish.dwell = absl::ZeroDuration();
    const absl::Status begun = records_->Begin(move_.name, leg_, wish);
    ASSERT_TRUE(begun.ok()) << begun;
  }
  // Every row of the moved vnodes on a shard, as text.
  std::map<std::string, std::string> OrdersOn(size_t server) {
    std::map<std::string, std::string> rows;
    const auto results = servers_[server]->Sql(
        "SELECT order_id, value FROM locus_shop.orders WHERE order_id >> 47 BETWEEN 0 AND 99 OR"
        " order_id >> 47 BETWEEN 200 AND 299");
    for (const auto& row : results[0].rows) rows[*row[0]] = *row[1];
    return rows;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<MariadbServer> servers_[2];
  std::vector<Shard> shards_;
  std::unique_ptr<FileTablePublisher> publisher_;
  Move move_;
  MoveLeg leg_;
  std::unique_ptr<mysql::ShardLink> link_;
  std::unique_ptr<mysql::MoveRecords> records_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_RUN_MOVE_FIXTURE_H_
