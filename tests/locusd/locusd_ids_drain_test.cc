// SPDX-License-Identifier: Apache-2.0
// The ID service ends while clients ask.
#include <signal.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kRole[] = "roles = [\"id-service\"]\n";

// systemd kills who takes longer than 30 s.
TEST(LocusdIdsDrainTest, SigtermWhileARequestMayWaitForLong_EndsItWithTheReason) {
  const TemporaryDirectory directory;
  RedisServer redis;
  MarkFirstSequences(absl::StrCat("redis://127.0.0.1:", redis.port()));
  IdsProcess ids(directory);
  ids.Write(kRole, "",
            absl::StrCat("[ids]\nwait = \"10m\"\n[ids.sequences]\ncreate = true\nstore = "
                         "\"redis://127.0.0.1:",
                         redis.port(), "\"\n"));
  ASSERT_TRUE(ids.Start());
  redis.Stall();
  std::thread client([&] {
    const auto answer = ids.Ask("GET", "/v1/sequences/a/next");
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 503u);
    EXPECT_THAT(answer->body, HasSubstr("this process ends"));
  });
  EXPECT_TRUE(WaitUntil([&] { return ids.Metric("locus_id_requests_waiting") == "1"; }));
  kill(ids.process().pid(), SIGTERM);
  client.join();
  EXPECT_EQ(ids.WaitForEnd(), 0);
  redis.Resume();
}

// Clients ask without a pause while the process ends and another takes its place, three times.
TEST(LocusdIdsDrainTest, DrainUnderLoad_AnswersWholeAndNoIdTwice) {
  const TemporaryDirectory directory;
  IdsProcess ids(directory);
  ids.Write(kRole, "threads = 2\nrate = 0\ndrain_delay = \"300ms\"\n", IdsOnOneFile(directory));
  std::mutex mutex;
  std::multiset<std::string> made;  // under mutex
  std::atomic<bool> stop = false;
  std::atomic<int> torn = 0, refused = 0;
  ASSERT_TRUE(ids.Start());
  auto client = [&](const std::string& method, const std::string& target, const std::string& body,
                    const char* list) {
    std::unique_ptr<http::HttpConnection> connection;
    while (!stop) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      if (connection == nullptr || !connection->StillOpen()) {
        auto opened =
            http::HttpConnection::Connect(*http::Endpoint::Parse(ids.api()), nullptr, deadline);
        if (!opened.ok()) continue;  // nobody listens between two lives
        connection = *std::move(opened);
      }
      const auto answer = connection->Send({method, target, {}, body}, 1 << 20, deadline);
      if (!answer.ok()) {
        connection.reset();
        continue;
      }
      if (answer->status != 200) {
        // Nothing was handed out; and nobody is at fault.
        if (answer->status != 503) ++torn;
        ++refused;
        continue;
      }
      const json parsed = json::parse(answer->body, nullptr, false);
      if (!parsed.is_object() || parsed[list].size() != 20) {
        ++torn;
        continue;
      }
      std::lock_guard lock(mutex);
      for (const json& each : parsed[list]) {
        made.insert(list + (each.is_object() ? each["order_id"] : each).get<std::string>());
      }
    }
  };
  json buyers = json::array();
  for (int i = 0; i < 20; ++i) buyers.push_back(absl::StrCat(i));
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back(client, "POST", "/v1/orders/ids", json{{"buyers", buyers}}.dump(),
                         "orders");
    clients.emplace_back(client, "GET", "/v1/snowflake?n=20", "", "ids");
    clients.emplace_back(client, "GET", "/v1/sequences/a/next?n=20", "", "numbers");
  }
  auto count = [&] {
    std::lock_guard lock(mutex);
    return made.size();
  };
  for (int life = 0; life < 3; ++life) {
    const size_t before = count();
    EXPECT_TRUE(WaitUntil([&] { return count() > before + 2000; }));
    kill(ids.process().pid(), SIGTERM);
    EXPECT_TRUE(WaitUntil([&] { return ids.StatusOf("GET", "/readyz") != 200; }));
    EXPECT_EQ(ids.WaitForEnd(), 0);
    if (life == 2) break;
    ASSERT_TRUE(ids.Start());
  }
  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_EQ(torn, 0);
  std::set<std::string> once(made.begin(), made.end());
  EXPECT_EQ(once.size(), made.size()) << "an ID was answered twice";
  EXPECT_GT(made.size(), 6000u);
}

}  // namespace
}  // namespace locus
