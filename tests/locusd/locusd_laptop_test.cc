// SPDX-License-Identifier: Apache-2.0
// locusd without a configuration, as whoever tries it starts it.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/order_id.h"
#include "locus/routing/routing_table.h"
#include "nlohmann/json.hpp"
#include "src/http/connection.h"
#include "src/http/endpoint.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class LocusdLaptopTest : public ::testing::Test {
 protected:
  LocusdLaptopTest() { setenv("XDG_DATA_HOME", home_.str().c_str(), 1); }

  bool Start(const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> command = {LOCUSD_BINARY, "--listen", "127.0.0.1:0"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    std::filesystem::remove(log_);
    process_ = std::make_unique<PrivateServer>(command, log_);
    return process_->Start([this] { return Text().find("curl ") != std::string::npos; });
  }
  std::string Text() {
    std::ifstream in(log_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // "127.0.0.1:PORT" of "curl http://127.0.0.1:PORT/v1".
  std::string Address() {
    const std::string text = Text();
    const size_t at = text.find("curl http://") + 12;
    return text.substr(at, text.find('/', at) - at);
  }
  absl::StatusOr<http::HttpAnswer> Ask(const std::string& method, const std::string& target,
                                       const std::string& body = "", const std::string& host = "") {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    http::Endpoint endpoint = *http::Endpoint::Parse(Address());
    if (!host.empty()) endpoint.text = host;
    auto connection = http::HttpConnection::Connect(endpoint, nullptr, deadline);
    if (!connection.ok()) return connection.status();
    return (*connection)->Send({method, target, {}, body}, 16 << 20, deadline);
  }
  json Good(const std::string& method, const std::string& target, const std::string& body = "") {
    auto answer = Ask(method, target, body);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (!answer.ok()) return {};
    EXPECT_EQ(answer->status, 200u) << answer->body;
    return json::parse(answer->body, nullptr, false);
  }
  // The exit code of locusd with these arguments, which refuses to start; 124: it did start. Text()
  // is what it said.
  int Refusal(const std::string& arguments) {
    const int status = std::system(
        absl::StrCat("timeout 20 ", LOCUSD_BINARY, " ", arguments, " > ", log_, " 2>&1").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TemporaryDirectory home_;
  const std::string log_ = home_ / "log";
  std::unique_ptr<PrivateServer> process_;
};

TEST_F(LocusdLaptopTest, OneCommand_ServesIdsAndNoneTwiceOverRestarts) {
  std::set<std::string> made;
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(Start()) << Text();
    json buyers = json::array();
    for (int i = 0; i < 1000; ++i) buyers.push_back(absl::StrCat(i % 100));
    const json orders = Good("POST", "/v1/orders/ids", json{{"buyers", buyers}}.dump())["orders"];
    ASSERT_EQ(orders.size(), 1000u);
    for (const json& order : orders) {
      EXPECT_TRUE(made.insert(order["order_id"]).second);
      EXPECT_TRUE(made.insert(order["order_no"]).second);
    }
    const json decoded =
        Good("POST", "/v1/order_no:decode", json{{"order_nos", {orders[7]["order_no"]}}}.dump());
    EXPECT_EQ(decoded["order_ids"][0], orders[7]["order_id"]) << "the keys were kept";
    const json ids = Good("GET", "/v1/snowflake?n=5000")["ids"];
    for (const json& id : ids) {
      EXPECT_TRUE(made.insert(id).second);
    }
    const json numbers = Good("GET", "/v1/sequences/invoices/next?n=10")["numbers"];
    for (const json& number : numbers) {
      EXPECT_TRUE(made.insert(absl::StrCat("no. ", number.get<std::string>())).second);
    }
    EXPECT_EQ(ids.size(), 5000u);
    EXPECT_EQ(numbers.size(), 10u);
    EXPECT_EQ(Ask("GET", "/healthz")->status, 200u);
    EXPECT_THAT(Ask("GET", "/metrics")->body, HasSubstr("locus_id_requests_total 4\n"));
    EXPECT_EQ(Ask("GET", "/v1/status")->status, 404u);
    EXPECT_THAT(Ask("GET", "/")->body, HasSubstr("<html"));
    EXPECT_EQ(Good("GET", "/v1/console/session")["mode"], "laptop");
    EXPECT_FALSE(Good("GET", "/v1/leases")["workers"].empty());
    if (life == 0) process_->KillHard();
    if (life == 1) process_->Stop();
  }
  struct stat about = {};
  ASSERT_EQ(stat((home_ / "locusd").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  ASSERT_EQ(stat((home_ / "locusd/keys").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600u);
}

TEST_F(LocusdLaptopTest, TwoProcessesOfOneDirectory_ShareIt) {
  ASSERT_TRUE(Start()) << Text();
  const std::string first = Address();
  std::unique_ptr<PrivateServer> one = std::move(process_);
  ASSERT_TRUE(Start()) << Text();
  EXPECT_NE(Address(), first);
  EXPECT_EQ(Good("GET", "/v1/snowflake")["ids"].size(), 1u);
  EXPECT_EQ(Good("POST", "/v1/orders/ids", R"({"buyers":["1"]})")["orders"].size(), 1u);
}

// What it was granted would be granted once more.
TEST_F(LocusdLaptopTest, DirectoryIsEmptiedUnderAProcess_NoOtherStartsUntilThatHasEnded) {
  ASSERT_TRUE(Start());
  Good("GET", "/v1/snowflake");
  std::filesystem::remove_all(home_ / "locusd");
  EXPECT_EQ(Refusal("--listen 127.0.0.1:0"), 2);
  EXPECT_THAT(Text(), HasSubstr("another locusd uses"));
  process_.reset();
  ASSERT_TRUE(Start());
  Good("GET", "/v1/snowflake");
}

TEST_F(LocusdLaptopTest, FileOfItsIdsIsLost_NoWorkerIdIsGrantedAtOnce) {
  ASSERT_TRUE(Start());
  Good("GET", "/v1/snowflake");
  process_.reset();
  for (const char* const name : {"ids.db", "ids.db-wal", "ids.db-shm", "ids.db-locus"}) {
    std::filesystem::remove(home_ / (std::string("locusd/") + name));
  }
  EXPECT_EQ(Refusal("--listen 127.0.0.1:0"), 1);
  EXPECT_THAT(Text(), HasSubstr("no worker ID is granted before"));
}

TEST_F(LocusdLaptopTest, TableInItsDirectory_IsRoutedBy) {
  std::filesystem::create_directory(home_ / "ids");
  std::ofstream(home_ / "ids/table.json")
      << RoutingTable::MakeEven({{"a", "mysql://127.0.0.1:1/a"}, {"b", "mysql://127.0.0.1:1/b"}})
             ->ToJson();
  ASSERT_TRUE(Start({"--data", home_ / "ids"})) << Text();
  const json order = Good("POST", "/v1/orders/ids", R"({"buyers":["1"]})")["orders"][0];
  const json route =
      Good("GET", absl::StrCat("/v1/route?order_id=", order["order_id"].get<std::string>()));
  EXPECT_EQ(route["routes"][0]["shard"]["name"], order["shard"]);
}

// As a page of the web does whose name leads to 127.0.0.1.
TEST_F(LocusdLaptopTest, AnotherHost_IsRefused) {
  ASSERT_TRUE(Start()) << Text();
  EXPECT_EQ(Ask("GET", "/v1/uuid", "", "evil.example:7070")->status, 403u);
  EXPECT_EQ(Ask("GET", "/healthz", "", "127.0.0.1.evil.example")->status, 403u);
  EXPECT_EQ(Ask("GET", "/v1/uuid", "", "localhost:7070")->status, 200u);
  EXPECT_EQ(Ask("GET", "/v1/uuid", "", "[::1]:7070")->status, 200u);
}

TEST_F(LocusdLaptopTest, Mistakes_AreToldAndNothingIsStarted) {
  EXPECT_EQ(Refusal("--listen 0.0.0.0:0"), 2);
  EXPECT_THAT(Text(), HasSubstr("use --config FILE"));
  EXPECT_EQ(Refusal("--listen nonsense"), 2);
  EXPECT_THAT(Text(), HasSubstr("nonsense"));
  EXPECT_EQ(Refusal("--check"), 2);
  EXPECT_THAT(Text(), HasSubstr("--config"));
  EXPECT_EQ(Refusal("--config x.toml --data y"), 2);
  const std::string file = home_ / "file";
  std::ofstream(file) << "kept";
  EXPECT_EQ(Refusal("--listen 127.0.0.1:0 --data " + file), 2);
  EXPECT_THAT(Text(), HasSubstr("Not a directory"));
  ASSERT_TRUE(Start()) << Text();
  const std::string taken = Address();
  const std::unique_ptr<PrivateServer> other = std::move(process_);
  EXPECT_EQ(Refusal("--listen " + taken), 1);
  EXPECT_THAT(Text(), HasSubstr(taken));
  EXPECT_THAT(Text(), HasSubstr("--listen"));
  chmod((home_ / "locusd/keys").c_str(), 0644);
  EXPECT_EQ(Refusal("--listen 127.0.0.1:0"), 2);
  EXPECT_THAT(Text(), HasSubstr("keys"));
}

}  // namespace
}  // namespace locus
