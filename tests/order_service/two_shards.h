// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ORDER_SERVICE_TWO_SHARDS_H_
#define LOCUS_TESTS_ORDER_SERVICE_TWO_SHARDS_H_

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "examples/order_service/order.h"
#include "examples/order_service/statistics.h"
#include "gtest/gtest.h"
#include "locus/migration/moved_table.h"
#include "nlohmann/json.hpp"
#include "tests/fence/fence_fixture.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// Two shards with the tables of examples/order_service, and a routing table in a file. Processes of
// order_service run beside the test.
class TwoShards {
 public:
  static constexpr char kDatabase[] = "locus_shop";

  // More lines of the servers' my.cnf.
  explicit TwoShards(const std::vector<std::string>& lines = {}) {
    for (uint16_t i = 0; i < 2; ++i) {
      MariadbServer::Settings settings = FencedServer(static_cast<uint16_t>(i + 1));
      settings.lines.push_back("max_connections=300");
      settings.lines.insert(settings.lines.end(), lines.begin(), lines.end());
      servers_[i] = std::make_unique<MariadbServer>(settings);
    }
    std::ofstream(path("password")) << "s3cret\n";
    chmod(path("password").c_str(), 0600);
  }

  // Servers with tables and accounts. False: one did not start.
  bool StartServers() {
    for (const auto& server : servers_) {
      if (!server->Start()) return false;
      MakeMover(*server);
      server->Sql(absl::StrCat(
          "CREATE DATABASE ", kDatabase, "; USE ", kDatabase, "; ", shop::SchemaSql(),
          "CREATE USER shop@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT SELECT, INSERT, UPDATE,"
          " DELETE ON locus_shop.* TO shop@'127.0.0.1'"));
    }
    return true;
  }
  // The same, with fences and version triggers as the table says, which is published.
  bool Start(const RoutingTable& table) {
    if (!StartServers()) return false;
    for (uint32_t i = 0; i < 2; ++i) {
      Sql(i, absl::StrJoin(CreateTombstones(), "; "));
      std::vector<GuardedTable> guarded;
      for (const MovedTable& moved : Moved()) guarded.push_back(moved.guard);
      auto fence = ShardFence::Create(As(i, "mover"), FenceOf(guarded));
      const absl::Status installed = fence->Install(table, i + 1);
      EXPECT_TRUE(installed.ok()) << installed;
      for (const MovedTable& moved : Moved()) {
        MakeVersionTriggers(*servers_[i], kDatabase, moved);
      }
    }
    Publish(table);
    return true;
  }

  static std::vector<MovedTable> Moved() {
    std::vector<MovedTable> moved(3);
    for (size_t i = 0; i < 3; ++i) moved[i].guard.name = NameOf(shop::kTables[i]);
    moved[1].primary_key = {"order_id", "line"};
    moved[2].primary_key = {"order_id", "payment_no"};
    return moved;
  }
  std::vector<Shard> Shards() const {
    std::vector<Shard> shards;
    for (uint32_t i = 0; i < 2; ++i) {
      shards.push_back(
          {.id = i + 1,
           .name = i == 0 ? "orders-a" : "orders-b",
           .endpoint = absl::StrCat("mysql://127.0.0.1:", servers_[i]->port(), "/", kDatabase),
           .labels = {}});
    }
    return shards;
  }
  void Publish(const RoutingTable& table) {
    const std::string beside = directory_ / "table.new";
    std::ofstream(beside) << table.ToJson();
    std::filesystem::rename(beside, directory_ / "table.json");
  }

  MariadbServer& server(size_t i) { return *servers_[i]; }
  MysqlOptions As(size_t server, const std::string& user) {
    MysqlOptions options = servers_[server]->Account(kDatabase);
    options.user = user;
    return options;
  }
  // As root, whom the guards do not let pass.
  void Sql(size_t server, const std::string& statements) {
    servers_[server]->Sql(absl::StrCat("USE ", kDatabase, "; ", statements));
  }
  // As the account that moves orders: past the guards.
  void PastTheGuards(size_t server, const std::string& statements) {
    auto session = SqlSession::Open(As(server, "mover")).value();
    auto results = session->Run(statements);
    ASSERT_TRUE(results.ok()) << results.status() << " of " << statements;
  }

  std::string record() const { return directory_ / "record"; }
  std::string path(const std::string& name) const { return directory_ / name; }
  // What is in the file of that name.
  std::string Text(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Processes that write until they are stopped, or as the words say.
  std::unique_ptr<PrivateServer> StartTraffic(const std::vector<std::string>& words) {
    std::vector<std::string> command = {LOCUS_ORDER_SERVICE, "run"};
    AddPlace(command, record());
    command.insert(command.end(), words.begin(), words.end());
    auto traffic = std::make_unique<PrivateServer>(command, directory_ / "traffic.log");
    EXPECT_TRUE(traffic->Start([&] { return Status().contains("writes"); })) << traffic->LogTail();
    return traffic;
  }
  // Stops it; all of its processes must end well, and say nothing.
  static void StopWell(PrivateServer& traffic) {
    traffic.Stop();
    EXPECT_EQ(traffic.LogTail(), "");
  }
  // What its processes have done; null before they have begun.
  nlohmann::json Status() const {
    auto text = shop::StatusText(record(), /*json=*/true);
    return text.ok() ? nlohmann::json::parse(*text) : nlohmann::json();
  }
  uint64_t Writes() const {
    const nlohmann::json status = Status();
    return status.contains("writes") ? status["writes"].get<uint64_t>() : 0;
  }
  // Of the record in `directory`, which may be a changed copy; empty: the real one.
  nlohmann::json Verdict(const std::vector<std::string>& words = {},
                         const std::string& directory = "") const {
    std::vector<std::string> command = {LOCUS_ORDER_SERVICE, "verdict", "--json"};
    AddPlace(command, directory.empty() ? record() : directory);
    command.insert(command.end(), words.begin(), words.end());
    return Json(command);
  }

 private:
  void AddPlace(std::vector<std::string>& command, const std::string& record) const {
    for (const std::string& word :
         {std::string("--table"), directory_ / "table.json", std::string("--record"), record,
          std::string("--user"), std::string("shop"), std::string("--password-file"),
          directory_ / "password"}) {
      command.push_back(word);
    }
  }
  // What the program prints, and its exit code as "exit". What is no JSON stands as "text".
  nlohmann::json Json(const std::vector<std::string>& command) const {
    const int exit = RunProgram(command, path("out"));
    const std::string text = Text("out");
    nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) json = {{"text", text}};
    json["exit"] = exit;
    return json;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<MariadbServer> servers_[2];
};

}  // namespace locus

#endif  // LOCUS_TESTS_ORDER_SERVICE_TWO_SHARDS_H_
