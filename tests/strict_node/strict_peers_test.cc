// SPDX-License-Identifier: Apache-2.0
// Services of one set in one process, which call each other by HTTP: what their threads share is
// seen by a sanitizer.
#include <atomic>
#include <future>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "apps/locusd/strict/strict_service.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "src/http/server.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::locusd {
namespace {

using http::ServerAnswer;
using http::ServerRequest;
using nlohmann::json;

constexpr uint32_t kSections = 10;

// A service and the server that it is called by.
class ServedService {
 public:
  ServedService(const std::string& uri, const std::string& name) {
    settings_.place.uri = uri;
    settings_.create = true;
    settings_.name = name;
    settings_.advertise = absl::StrCat("127.0.0.1:", FreePort());
    settings_.options.uids = kSections * 100;
    settings_.options.section_size = 100;
    settings_.options.ttl = absl::Seconds(3);
  }
  const StrictSettings& settings() const { return settings_; }

  void StartService() {
    auto service = StrictService::Open(settings_, {});
    ASSERT_TRUE(service.ok()) << service.status();
    ASSERT_TRUE((*service)->Begin().ok());
    service_ = *std::move(service);
  }
  void StartServer() {
    http::ServerOptions options;
    options.listen = settings_.advertise;
    auto server =
        http::Server::Start(options, [this](ServerRequest request, http::Server::Respond respond) {
          service_->api().Handle(std::move(request), {}, std::move(respond));
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  void Start() {
    ASSERT_NO_FATAL_FAILURE(StartService());
    ASSERT_NO_FATAL_FAILURE(StartServer());
  }
  StrictService& service() { return *service_; }

  ServerAnswer Ask(const std::string& path, const std::string& body) {
    std::promise<ServerAnswer> promise;
    ServerRequest request;
    request.method = "POST";
    request.path = path;
    request.body = body;
    service_->api().Handle(std::move(request), {}, [&promise](ServerAnswer answer) {
      promise.set_value(std::move(answer));
    });
    return promise.get_future().get();
  }
  int Metric(const std::string& name) {
    const std::string text = service_->api().Metrics();
    const size_t at = text.find(absl::StrCat("\n", name, " "));
    return at == text.npos ? -1 : std::stoi(text.substr(at + name.size() + 2));
  }
  int Owned() { return Metric("locus_strict_sections_owned"); }

 private:
  StrictSettings settings_;
  std::unique_ptr<StrictService> service_;
  std::unique_ptr<http::Server> server_;  // calls service_
};

class StrictPeersTest : public ::testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string uri_ = absl::StrCat("sqlite:", directory_ / "strict.db");
};

TEST_F(StrictPeersTest, SectionsGoToAndFroWhileThreadsDraw_NumbersRise) {
  ServedService one(uri_, "one"), two(uri_, "two");
  ASSERT_NO_FATAL_FAILURE(one.Start());
  ASSERT_NO_FATAL_FAILURE(two.Start());
  ASSERT_TRUE(WaitUntil([&] { return one.Owned() == 5 && two.Owned() == 5; }));
  std::atomic<uint64_t> drawn = 0;
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread) {
    threads.emplace_back([&, thread] {
      std::map<uint64_t, uint64_t> last;
      for (uint64_t i = 0; !ends; ++i) {
        // No other thread draws of these uids.
        const uint64_t uid = i % kSections * 100 + static_cast<uint64_t>(thread);
        for (ServedService* const node : {&one, &two}) {
          const ServerAnswer answer =
              node->Ask("/v1/strict/next", absl::StrCat(R"({"uids":[")", uid, R"("]})"));
          if (answer.status == 421 || answer.status == 503) continue;
          ASSERT_EQ(answer.status, 200u) << answer.body;
          const uint64_t number =
              std::stoull(json::parse(answer.body)["numbers"][0].get<std::string>());
          ASSERT_GT(number, last[uid]);
          last[uid] = number;
          ++drawn;
        }
      }
    });
  }
  const auto more = [&] {
    const uint64_t until = drawn + 100;
    return WaitUntil([&] { return drawn >= until; });
  };
  EXPECT_TRUE(more());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(one.Ask("/v1/strict/sections:hand_over", R"({"to":"two"})").status, 200u);
    EXPECT_EQ(one.Owned(), 0);
    EXPECT_TRUE(more());
    EXPECT_EQ(one.Ask("/v1/strict/sections:take", "{}").status, 200u);
    EXPECT_TRUE(
        WaitUntil([&] { return one.Owned() > 0 && one.Owned() + two.Owned() == kSections; }));
  }
  two.service().Leave();
  EXPECT_EQ(two.Owned(), 0);
  EXPECT_TRUE(WaitUntil([&] { return one.Owned() == kSections; }));
  EXPECT_TRUE(more());
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

// Known by the store's table alone, and not there when it is called first.
TEST_F(StrictPeersTest, ANodeThatCouldNotBeReached_GetsTheNewsLater) {
  ServedService one(uri_, "one"), two(uri_, "two");
  ASSERT_NO_FATAL_FAILURE(two.StartService());
  ASSERT_TRUE(WaitUntil([&] { return two.Owned() == kSections; }));
  // It cannot call any node: no other one is in the table yet. The first node reads the table, and
  // calls.
  ASSERT_NO_FATAL_FAILURE(one.StartService());
  ASSERT_TRUE(WaitUntil([&] { return one.Metric("locus_strict_looks_total") >= 2; }));
  EXPECT_EQ(one.Metric("locus_strict_nodes_alive"), 0);
  EXPECT_EQ(one.Owned(), 0) << "the sections of the other node have not ended";
  ASSERT_NO_FATAL_FAILURE(two.StartServer());
  ASSERT_NO_FATAL_FAILURE(one.StartServer());
  EXPECT_TRUE(WaitUntil([&] { return one.Metric("locus_strict_nodes_alive") == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return two.Metric("locus_strict_nodes_alive") == 1; }));
  EXPECT_TRUE(WaitUntil([&] { return one.Owned() == 5 && two.Owned() == 5; }));
}

}  // namespace
}  // namespace locus::locusd
