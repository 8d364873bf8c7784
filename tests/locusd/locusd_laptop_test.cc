// SPDX-License-Identifier: Apache-2.0
// locusd without a configuration, as whoever tries it starts it.
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/key_ring.h"
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
                                       const std::string& body = "", const std::string& host = "",
                                       const std::string& address = "") {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    http::Endpoint endpoint = *http::Endpoint::Parse(address.empty() ? Address() : address);
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

// The next process is granted the same worker ID, also if another user starts it elsewhere.
TEST_F(LocusdLaptopTest, DirectoryIsEmptiedUnderAProcess_ItMakesNoMoreIdsAndEnds) {
  for (const bool is_made_anew : {true, false}) {
    ASSERT_TRUE(Start()) << Text();
    std::unique_ptr<PrivateServer> before = std::move(process_);
    const std::string address = Address();
    std::set<std::string> made;
    std::atomic<int> answers = 0;
    std::thread client([&] {
      while (true) {
        auto answer = Ask("GET", "/v1/snowflake?n=10000", "", "", address);
        if (!answer.ok() || answer->status != 200) return;
        const json ids = json::parse(answer->body)["ids"];
        for (const json& id : ids) made.insert(id);
        ++answers;
      }
    });
    EXPECT_TRUE(WaitUntil([&] { return answers > 10; }));
    if (is_made_anew) before->Stall();  // amid a request
    const std::filesystem::path directory = home_ / "locusd";
    if (is_made_anew) {
      std::filesystem::remove_all(directory);
    } else {
      for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::filesystem::remove(entry.path());
      }
    }
    const bool started = Start();
    EXPECT_TRUE(started) << Text();
    std::set<std::string> again;
    for (int i = 0; started && i < 50; ++i) {
      if (is_made_anew && i == 10) before->Resume();
      const json ids = Good("GET", "/v1/snowflake?n=10000")["ids"];
      for (const json& id : ids) again.insert(id);
    }
    if (is_made_anew) before->Resume();
    EXPECT_TRUE(WaitUntil([&] { return !before->running(); }, absl::Seconds(30)));
    before.reset();
    client.join();
    // By their times, which come first, and so without a chance that two do not meet.
    ASSERT_FALSE(again.empty());
    EXPECT_EQ(made.rbegin()->size(), again.begin()->size());
    EXPECT_LT(*made.rbegin(), *again.begin());
    process_.reset();
  }
}

TEST_F(LocusdLaptopTest, OneFileOfTheStoreIsReplaced_TheProcessEnds) {
  for (const char* const name : {"ids.db", "ids.db-wal", "ids.db-shm"}) {
    ASSERT_TRUE(Start({"--data", home_ / name})) << Text();
    const std::string path = absl::StrCat(home_ / name, "/", name);
    std::filesystem::copy_file(path, path + ".new");
    std::filesystem::rename(path + ".new", path);
    EXPECT_TRUE(WaitUntil([this] { return !process_->running(); }, absl::Seconds(30)));
    EXPECT_THAT(Text(), HasSubstr(absl::StrCat(name, "\" was removed or replaced")));
  }
}

TEST_F(LocusdLaptopTest, StoreIsALink_ItsFilesAreThoseBehindIt) {
  std::filesystem::create_directories(home_ / "locusd");
  std::filesystem::create_directory(home_ / "elsewhere");
  std::filesystem::create_symlink(home_ / "elsewhere/real.db", home_ / "locusd/ids.db");
  ASSERT_TRUE(Start()) << Text();
  EXPECT_EQ(Good("GET", "/v1/snowflake")["ids"].size(), 1u);
  std::filesystem::remove(home_ / "elsewhere/real.db");
  EXPECT_TRUE(WaitUntil([this] { return !process_->running(); }, absl::Seconds(30)));
}

TEST_F(LocusdLaptopTest, KeysWereMadeBefore_TheFirstStartServes) {
  std::filesystem::create_directory(home_ / "locusd");
  ASSERT_TRUE(KeyRing::Generate()->Save(home_ / "locusd/keys", /*must_not_exist=*/true).ok());
  ASSERT_TRUE(Start()) << Text();
  EXPECT_EQ(Good("GET", "/v1/snowflake")["ids"].size(), 1u);
}

TEST_F(LocusdLaptopTest, FirstStartsAtOnce_AllServe) {
  std::vector<std::unique_ptr<PrivateServer>> all;
  std::vector<std::thread> starts;
  std::atomic<int> serve = 0;
  for (int i = 0; i < 4; ++i) {
    const std::string log = home_ / absl::StrCat("log", i);
    all.push_back(std::make_unique<PrivateServer>(
        std::vector<std::string>{LOCUSD_BINARY, "--listen", "127.0.0.1:0"}, log));
    starts.emplace_back([&serve, log, server = all.back().get()] {
      serve += server->Start([&log] {
        std::ifstream in(log);
        return std::string(std::istreambuf_iterator<char>(in), {}).find("curl ") !=
               std::string::npos;
      });
    });
  }
  for (std::thread& start : starts) start.join();
  EXPECT_EQ(serve, 4);
}

TEST_F(LocusdLaptopTest, FirstStartIsKilledAtAnyMoment_TheNextOneServes) {
  for (int millis = 0; millis < 60; millis += 3) {
    const std::string directory = home_ / absl::StrCat("killed_after_", millis);
    std::system(absl::StrCat("timeout -s KILL ", millis / 1000.0 + 0.001, " ", LOCUSD_BINARY,
                             " --listen 127.0.0.1:0 --data ", directory, " > /dev/null 2>&1")
                    .c_str());
    ASSERT_TRUE(Start({"--data", directory})) << millis << " ms: " << Text();
    EXPECT_EQ(Good("GET", "/v1/snowflake")["ids"].size(), 1u);
    process_.reset();
  }
}

TEST_F(LocusdLaptopTest, StoreIsLost_NoSequenceBeginsAgain) {
  ASSERT_TRUE(Start());
  EXPECT_EQ(Good("GET", "/v1/sequences/invoices/next")["numbers"][0], "1");
  process_.reset();
  const std::filesystem::path directory = home_ / "locusd";
  std::vector<std::filesystem::path> lost;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("ids.db")) lost.push_back(entry.path());
  }
  ASSERT_GE(lost.size(), 3u);
  for (const auto& path : lost) std::filesystem::remove(path);
  EXPECT_EQ(Refusal("--listen 127.0.0.1:0"), 1);
  EXPECT_THAT(Text(), HasSubstr("has no mark of a first start"));
  // All of it away: a directory that is new.
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(Start()) << Text();
}

TEST_F(LocusdLaptopTest, FileOfItsIdsIsLost_NoWorkerIdIsGrantedAtOnce) {
  ASSERT_TRUE(Start());
  Good("GET", "/v1/snowflake");
  process_.reset();
  for (const char* const name :
       {"ids.db", "ids.db-wal", "ids.db-shm", "ids.db-locus", "first-start"}) {
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
