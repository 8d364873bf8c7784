// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLI_MOVES_FIXTURE_H_
#define LOCUS_TESTS_CLI_MOVES_FIXTURE_H_

#include <sys/stat.h>

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/file_table.h"
#include "nlohmann/json.hpp"
#include "tests/cli/command.h"
#include "tests/fence/fence_fixture.h"
#include "tests/run/live_orders.h"
#include "tests/support/golden.h"

namespace locus {

// Two servers with two shards each, and the real command.
class CliMovesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (uint16_t i = 0; i < 2; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      settings.lines.push_back("max_connections=400");
      settings.make_accounts = false;
      servers_[i] = new MariadbServer(settings);
      ASSERT_TRUE(servers_[i]->Start());
      const auto results = servers_[i]->Sql("SELECT Host FROM mysql.global_priv WHERE User = ''");
      for (const auto& row : results[0].rows) {
        servers_[i]->Sql("DROP USER ''@'" + row[0].value() + "'");
      }
      servers_[i]->Sql(
          "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE,"
          " DELETE, CREATE, DROP, TRIGGER ON `shop%`.* TO mover@'127.0.0.1';"
          "GRANT REPLICATION SLAVE, BINLOG MONITOR, PROCESS ON *.* TO mover@'127.0.0.1';"
          "GRANT SELECT ON mysql.* TO mover@'127.0.0.1';"
          "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret';"
          "GRANT SELECT, INSERT, UPDATE, DELETE ON `shop%`.* TO shop@'127.0.0.1'");
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  // Shards 1 and 4 are databases of the first server, 2 and 3 of the second; 1 has all orders.
  void SetUp() override {
    std::vector<Shard> shards;
    for (uint32_t id = 1; id <= 4; ++id) {
      const std::string database = absl::StrCat("shop", id);
      Server(id).Sql(absl::StrCat(
          "DROP DATABASE IF EXISTS ", database, "; CREATE DATABASE ", database, "; USE ", database,
          "; CREATE TABLE orders (order_id BIGINT UNSIGNED PRIMARY KEY, value BIGINT, version "
          "BIGINT"
          " UNSIGNED NOT NULL DEFAULT 1); CREATE TABLE items (order_id BIGINT UNSIGNED, line INT,"
          " value BIGINT, version BIGINT UNSIGNED NOT NULL DEFAULT 1, PRIMARY KEY (order_id, line),"
          " FOREIGN KEY (order_id) REFERENCES orders (order_id))"));
      shards.push_back(
          {.id = id,
           .name = absl::StrCat("orders-", id),
           .endpoint = absl::StrCat("mysql://127.0.0.1:", Server(id).port(), "/", database),
           .labels = {}});
    }
    publisher_ = FileTablePublisher::Open(directory_ / "table.json").value();
    Publish(RoutingTable::Make(1, shards, {{65535, 1}}, {}).value());
    testing::WriteFile(password_, "s3cret\n");
    ASSERT_EQ(chmod(password_.c_str(), 0600), 0);
  }

  static MariadbServer& Server(uint32_t shard) {
    return *servers_[shard == 1 || shard == 4 ? 0 : 1];
  }
  void Publish(const RoutingTable& table, const GuardedChanges& named = {}) {
    const absl::Status status = publisher_->Publish(table, table.epoch() - 1, named);
    ASSERT_TRUE(status.ok()) << status;
  }
  // The table in force with these moves, too.
  RoutingTable With(std::vector<VnodeMove> moves) {
    const RoutingTable now = publisher_->Current().value();
    moves.insert(moves.end(), now.moves().begin(), now.moves().end());
    std::sort(moves.begin(), moves.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return RoutingTable::Make(now.epoch() + 1, now.shards(), now.ranges(), moves, now.table_id())
        .value();
  }
  // A move file; `more` stands before its tables. Children are listed before their parents.
  std::string File(const std::string& name, const std::string& more = "") {
    const std::string path = directory_ / (name + ".toml");
    testing::WriteFile(
        path, absl::StrCat("name = \"", name, "\"\ntable = \"file:", directory_ / "table.json",
                           "\"\nmovers = [\"mover@127.0.0.1\"]\n", more,
                           "[[tables]]\nname = \"items\"\nprimary_key = [\"order_id\","
                           " \"line\"]\n[[tables]]\nname = \"orders\"\n[accounts.mover]\n"
                           "user = \"mover\"\npassword_file = \"",
                           password_,
                           "\"\ntimeout = \"20s\"\n[pace]\naccept_within = \"10s\"\n[gates]\n"
                           "lag = \"10s\"\noldest_transaction = \"30s\"\n"));
    return path;
  }
  static testing::Outcome Move(std::vector<std::string> words) {
    words.insert(words.begin(), "move");
    return testing::RunLocus(std::move(words));
  }
  static std::string Done(std::vector<std::string> words) {
    const testing::Outcome outcome = Move(std::move(words));
    EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    return outcome.out;
  }
  static std::string Refused(std::vector<std::string> words) {
    const testing::Outcome outcome = Move(std::move(words));
    EXPECT_EQ(outcome.exit, 1) << outcome.out;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, ::testing::Not(::testing::HasSubstr("s3cret")));
    return outcome.err;
  }
  static nlohmann::json Status(const std::string& file) {
    return nlohmann::json::parse(Done({"status", file, "--json"}));
  }
  // Every move of the file by its name and state.
  static std::set<std::string> States(const std::string& file) {
    std::set<std::string> states;
    for (const auto& move : Status(file)) {
      states.insert(absl::StrCat(std::string(move.at("move")), " ", std::string(move.at("state"))));
    }
    return states;
  }
  // Until all moves of the file are in the state.
  static void WaitFor(const std::string& file, const std::string& state) {
    std::string last;
    ASSERT_TRUE(WaitUntil([&] {
      bool all = true, held = false;
      const auto status = Status(file);
      last = status.dump();
      for (const auto& move : status) {
        all = all && move.at("state") == state;
        held = held || (move.contains("wish") && move.at("wish").at("hold") != "");
      }
      return all || held;
    }));
    for (const auto& move : Status(file)) ASSERT_EQ(move.at("state"), state) << last;
  }
  // A verb that is killed somewhere, and then runs twice.
  void KilledAndRepeated(std::vector<std::string> words) {
    std::vector<std::string> all = {"move"};
    all.insert(all.end(), words.begin(), words.end());
    {
      testing::RunningCommand killed(all);
      // Any moment will do: the verb must bear it at each.
      std::this_thread::sleep_for(std::chrono::milliseconds(kill_after_ % 200));
      killed.Signal(SIGKILL);
      killed.Finish();
    }
    kill_after_ += 23;
    Done(words);
    Done(std::move(words));
  }
  std::string Value(uint32_t shard, const std::string& query) {
    return Server(shard).Sql(absl::StrCat("USE shop", shard, "; ", query))[1].rows[0][0].value();
  }
  static std::map<std::string, std::string> OrdersOn(uint32_t shard) {
    std::map<std::string, std::string> rows;
    const auto results = Server(shard).Sql(
        absl::StrCat("SELECT order_id, value FROM shop", shard, ".orders JOIN shop", shard,
                     ".items USING (order_id, value) WHERE order_id >> 47 BETWEEN 0 AND 299"));
    for (const auto& row : results[0].rows) rows[*row[0]] = *row[1];
    return rows;
  }

  static inline MariadbServer* servers_[2];
  TemporaryDirectory directory_;
  const std::string password_ = directory_ / "password";
  std::unique_ptr<FileTablePublisher> publisher_;
  int kill_after_ = 5;
};

}  // namespace locus

#endif  // LOCUS_TESTS_CLI_MOVES_FIXTURE_H_
