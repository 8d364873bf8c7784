// SPDX-License-Identifier: Apache-2.0
// An ID service while clients do to it what they can: connections that say nothing, requests that
// never end, floods, bombs, wrong tokens. Those who behave are served meanwhile, and afterwards
// nothing is left of the others.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <list>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/base/run/mutex.h"
#include "src/http/connection.h"
#include "tests/http/loopback_client.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr char kToken[] = "0123456789abcdef-shop";
constexpr int kIdle = 10'000;
constexpr absl::Duration kRequestTimeout = absl::Seconds(2);
// For whatever is waited for, on a machine that is busy.
constexpr absl::Duration kPatience = absl::Minutes(2);

class LocusdHostileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rlimit files = {};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
    // Here, and in the service that is started.
    files.rlim_cur = std::max<rlim_t>(files.rlim_cur, 2 * kIdle);
    files.rlim_max = std::max(files.rlim_max, files.rlim_cur);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0)
        << "the test needs " << files.rlim_cur << " open files";
    port_ = FreePort();
    const std::string token_file = directory_ / "token";
    std::ofstream(token_file) << kToken << "\n";
    std::filesystem::permissions(
        token_file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    std::ofstream(directory_ / "locusd.toml")
        << "roles = [\"id-service\"]\n[api]\nlisten = \"127.0.0.1:" << port_
        << "\"\nthreads = 2\nconnections = 12000\nconnections_per_address = 3000\nrate = 0\n"
        << "request_timeout = \"2s\"\nidle_timeout = \"10m\"\n"
        << "[[token]]\nname = \"shop\"\nfile = \"" << token_file << "\"\nscopes = [\"ids\"]\n"
        << "[ids]\n[ids.orders]\nstore = \"sqlite:" << directory_ / "ids.db"
        << "\"\ncreate = true\n";
    const std::vector<std::string> command = {LOCUSD_BINARY, "--config",
                                              directory_ / "locusd.toml"};
    process_ = std::make_unique<PrivateServer>(command, directory_ / "log");
    ASSERT_TRUE(process_->Start([this] { return Listens(port_); }));
  }

  // A connection from 127.0.0.`from`; -1: the service closed it at once, or there is none.
  int ConnectFrom(int from) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in of = {}, to = {};
    of.sin_family = to.sin_family = AF_INET;
    of.sin_addr.s_addr = htonl(0x7f000000u + static_cast<uint32_t>(from));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    to.sin_port = htons(port_);
    const timeval patience = {60, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (bind(fd, reinterpret_cast<sockaddr*>(&of), sizeof of) == 0 &&
        connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
      return fd;
    }
    close(fd);
    return -1;
  }
  static bool Write(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // All that is answered to these bytes, from an address of its own.
  std::string Answers(int from, const std::string& bytes) {
    const int fd = ConnectFrom(from);
    Write(fd, bytes);
    shutdown(fd, SHUT_WR);
    return http::ReadUntilClosed(fd);
  }
  static std::string Post(const std::string& body, const std::string& headers = "") {
    return absl::StrCat("POST /v1/orders/ids HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ", kToken,
                        "\r\n", headers, "Content-Length: ", body.size(), "\r\n\r\n", body);
  }

  size_t FilesOfService() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& each :
         std::filesystem::directory_iterator(absl::StrCat("/proc/", process_->pid(), "/fd"))) {
      ++count;
    }
    return count;
  }
  size_t MemoryOfService() const {  // KiB
    std::ifstream in(absl::StrCat("/proc/", process_->pid(), "/status"));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("VmRSS:")) return std::stoul(line.substr(6));
    }
    return 0;
  }

  TemporaryDirectory directory_;
  uint16_t port_ = 0;
  std::unique_ptr<PrivateServer> process_;
};

// Clients that behave, until they are told to stop.
class GoodClients {
 public:
  GoodClients(int clients, uint16_t port) : port_(port) {
    for (int i = 0; i < clients; ++i) threads_.emplace_back([this, i] { Run(i); });
  }
  ~GoodClients() { Stop(); }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // Of the requests since the last call.
  absl::Duration TakeP99(size_t* requests) {
    internal::MutexLock lock(mutex_);
    std::sort(taken_.begin(), taken_.end());
    *requests = taken_.size();
    const absl::Duration p99 =
        taken_.empty() ? absl::ZeroDuration() : taken_[taken_.size() * 99 / 100];
    taken_.clear();
    return p99;
  }
  // Since the last call of TakeP99.
  size_t requests() {
    internal::MutexLock lock(mutex_);
    return taken_.size();
  }
  size_t failures() const { return failures_; }
  std::string failure() {
    internal::MutexLock lock(mutex_);
    return failure_;
  }
  size_t repeated() const { return repeated_; }

 private:
  void Fail(std::string why) {
    ++failures_;
    internal::MutexLock lock(mutex_);
    failure_ = std::move(why);
  }

  void Run(int number) {
    const auto endpoint = http::Endpoint::Parse(absl::StrCat("127.0.0.1:", port_));
    std::unique_ptr<http::HttpConnection> connection;
    while (!stop_) {
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      const absl::Time begun = absl::Now();
      if (connection == nullptr) {
        auto connected = http::HttpConnection::Connect(*endpoint, nullptr, deadline);
        if (!connected.ok()) return Fail(connected.status().ToString());
        connection = *std::move(connected);
      }
      const std::string body = json({{"buyers", {absl::StrCat(number), "7"}}}).dump();
      auto answer = connection->Send(
          {"POST", "/v1/orders/ids", {{"Authorization", absl::StrCat("Bearer ", kToken)}}, body},
          1 << 20, deadline);
      if (!answer.ok()) return Fail(answer.status().ToString());
      if (answer->status != 200) return Fail(answer->body);
      const json orders = json::parse(answer->body)["orders"];
      internal::MutexLock lock(mutex_);
      taken_.push_back(absl::Now() - begun);
      for (const json& order : orders) {
        if (!made_.insert(order["order_id"].get<std::string>()).second) ++repeated_;
      }
    }
  }

  const uint16_t port_;
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> failures_ = 0;
  std::atomic<size_t> repeated_ = 0;
  internal::Mutex mutex_;
  std::vector<absl::Duration> taken_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> made_ ABSL_GUARDED_BY(mutex_);
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

TEST_F(LocusdHostileTest, ThoseWhoBehave_AreServedAndNothingIsLeft) {
  GoodClients good(3, port_);
  size_t requests = 0;
  const auto are_served = [&] {
    size_t more = 0;
    good.TakeP99(&more);
    return (requests += more) >= 300 || good.failures() > 0;
  };
  ASSERT_TRUE(WaitUntil(are_served, kPatience));
  const size_t files = FilesOfService();
  ASSERT_TRUE(WaitUntil([&] { return good.requests() >= 100 || good.failures() > 0; }, kPatience));
  const absl::Duration quiet = good.TakeP99(&requests);  // for a figure to compare with

  // Ten thousand connections that say nothing.
  std::vector<int> idle;
  for (int i = 0; i < kIdle; ++i) {
    idle.push_back(ConnectFrom(2 + i % 5));
    ASSERT_GE(idle.back(), 0) << i;
  }
  // Of the files that the service opens for a moment, some may have been counted before.
  constexpr size_t kPassing = 10;
  EXPECT_TRUE(WaitUntil([&] { return FilesOfService() + kPassing >= files + kIdle; }, kPatience))
      << FilesOfService() << " files, " << files << " before";

  std::list<std::thread> attackers;
  // A byte now and then.
  attackers.emplace_back([this] {
    std::vector<int> slow;
    for (int i = 0; i < 200; ++i) slow.push_back(ConnectFrom(10));
    const absl::Time begun = absl::Now();
    size_t open = slow.size();
    for (size_t at = 0; open > 0 && absl::Now() - begun < kPatience; ++at) {
      static constexpr std::string_view kBytes = "GET /v1/uuid HTTP/1.1\r\nX: aaaaaaaaaaaaaaaaa";
      for (int& fd : slow) {
        if (fd < 0 || Write(fd, kBytes.substr(std::min(at, kBytes.size() - 1), 1))) continue;
        close(std::exchange(fd, -1));
        --open;
      }
      absl::SleepFor(absl::Milliseconds(100));
    }
    EXPECT_EQ(open, 0u) << "slow clients keep their connections";
  });
  // More requests than anybody answers, whose answers nobody reads.
  attackers.emplace_back([this] {
    for (int i = 0; i < 3; ++i) {
      const int fd = ConnectFrom(11);
      const timeval soon = {1, 0};
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
      const std::string request = Post(R"({"buyers":["1","2","3","4","5","6","7","8"]})");
      size_t sent = 0;
      while (sent < 200'000 && Write(fd, request)) ++sent;
      close(fd);
    }
  });
  // Texts that are too large, too deep, too many, or nobody's.
  attackers.emplace_back([this] {
    for (int round = 0; round < 5; ++round) {
      const std::string deep(900'000, '[');
      EXPECT_THAT(Answers(12, Post(deep)), HasSubstr(" 400 "));
      std::string many = R"({"buyers":["1")";
      while (many.size() < 900'000) many += R"(,"1")";
      EXPECT_THAT(Answers(12, Post(many + "]}")), HasSubstr(" 400 "));
      EXPECT_THAT(Answers(12, Post(std::string(900'000, ' ') + "{}")), HasSubstr(" 400 "));
      EXPECT_THAT(Answers(12, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n"),
                  HasSubstr(" 413 "));
      EXPECT_THAT(Answers(12, absl::StrCat("GET / HTTP/1.1\r\nHost: x\r\nX: ",
                                           std::string(60'000, 'x'), "\r\n\r\n")),
                  HasSubstr(" 431 "));
      std::string fields = "GET / HTTP/1.1\r\nHost: x\r\n";
      for (int i = 0; i < 10'000; ++i) absl::StrAppend(&fields, "X: y\r\n");
      EXPECT_THAT(Answers(12, fields + "\r\n"), HasSubstr(" 431 "));
      // Who may send no body is told so before it is read.
      const auto chunked = [](const std::string& more) {
        return absl::StrCat("POST /v1/orders/ids HTTP/1.1\r\nHost: x\r\n", more,
                            "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
      };
      EXPECT_THAT(Answers(12, chunked("")), HasSubstr(" 401 "));
      EXPECT_THAT(Answers(12, chunked(absl::StrCat("Authorization: Bearer ", kToken, "\r\n"))),
                  HasSubstr(" 400 "));
    }
  });
  // Guesses at a token.
  attackers.emplace_back([this] {
    std::string guesses;
    for (int i = 0; i < 2000; ++i) {
      absl::StrAppend(&guesses, "GET /v1/uuid HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ",
                      kToken, i, "\r\n\r\n");
    }
    const std::string answers = Answers(13, guesses);
    EXPECT_THAT(answers, HasSubstr("HTTP/1.1 401 "));
    EXPECT_THAT(answers, ::testing::Not(HasSubstr("HTTP/1.1 200 ")));
  });
  for (std::thread& attacker : attackers) attacker.join();
  const absl::Duration hostile = good.TakeP99(&requests);
  EXPECT_GE(requests, 20u);
  std::printf("p99 of those who behave: %s alone, %s among the others (%zu requests); %zu MiB\n",
              absl::FormatDuration(quiet).c_str(), absl::FormatDuration(hostile).c_str(), requests,
              MemoryOfService() >> 10);
  EXPECT_LT(MemoryOfService() >> 10, 500u);

  // Nothing is left of them.
  for (const int fd : idle) close(fd);
  EXPECT_TRUE(WaitUntil([&] { return FilesOfService() <= files + 2; }, kPatience))
      << FilesOfService() << " files are open, and before " << files;
  requests = 0;
  EXPECT_TRUE(WaitUntil(are_served, kPatience)) << "the service does not serve any more";
  good.Stop();
  EXPECT_EQ(good.failures(), 0u) << good.failure();
  EXPECT_EQ(good.repeated(), 0u);
  static_assert(kRequestTimeout < kPatience);
}

}  // namespace
}  // namespace locus
