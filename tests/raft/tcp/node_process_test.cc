// SPDX-License-Identifier: Apache-2.0
// Nodes as processes of their own, killed and stopped while clients append to their list.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "src/raft/log/log_store.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::raft {
namespace {

// A client's connection to one node.
class Line {
 public:
  explicit Line(uint16_t port) : fd_(ConnectToLoopback(port)) {}
  ~Line() {
    if (fd_ >= 0) close(fd_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // Empty: no answer within the time, or no connection.
  std::string Ask(const std::string& question, int seconds) {
    const timeval limit{seconds, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const std::string line = question + "\n";
    if (fd_ < 0 || send(fd_, line.data(), line.size(), MSG_NOSIGNAL) < 0) return "";
    std::string answer;
    char chunk[65536];
    while (answer.empty() || answer.back() != '\n') {
      const ssize_t got = recv(fd_, chunk, sizeof chunk, 0);
      if (got <= 0) return "";
      answer.append(chunk, static_cast<size_t>(got));
    }
    answer.pop_back();
    return answer;
  }

 private:
  const int fd_;
};

class NodeProcessTest : public ::testing::Test {
 protected:
  struct Place {
    std::string path;
    uint16_t port = 0, client_port = 0;
    std::unique_ptr<PrivateServer> server;
  };
  void SetUp() override {
    Members members;
    for (Place& place : places_) {
      place.path = directory_ / absl::StrCat("log", &place - places_);
      place.port = FreePort();
      place.client_port = FreePort();
      members.push_back({LogStore::Create(place.path, "lists").value()->self(), true,
                         absl::StrCat("127.0.0.1:", place.port)});
    }
    std::sort(members.begin(), members.end(),
              [](const Member& a, const Member& b) { return a.id < b.id; });
    for (Place& place : places_) {
      const absl::Status status = LogStore::Open(place.path, "lists").value()->Begin(members);
      ASSERT_TRUE(status.ok()) << status;
      Start(place);
    }
  }
  void Start(Place& place, const std::string& most_bytes = "") {
    std::vector<std::string> command = {LOCUS_RAFT_NODE_PROCESS, place.path,
                                        absl::StrCat(place.port), absl::StrCat(place.client_port)};
    if (!most_bytes.empty()) command.push_back(most_bytes);
    place.server = std::make_unique<PrivateServer>(command, place.path + ".output");
    ASSERT_TRUE(place.server->Start([&] { return Listens(place.client_port); }));
  }
  Place* Leader() {
    Place* leader = nullptr;
    uint64_t latest = 0;
    for (Place& place : places_) {
      if (!place.server->running()) continue;
      const std::string answer = Line(place.client_port).Ask("status", 1);
      const std::vector<std::string> words = absl::StrSplit(answer, ' ');
      uint64_t term = 0;
      if (words[0] != "leader" || !absl::SimpleAtoi(words[1], &term) || term <= latest) continue;
      latest = term;
      leader = &place;
    }
    return leader;
  }
  Place& WaitForLeader() {
    Place* leader = nullptr;
    EXPECT_TRUE(WaitUntil([&] { return (leader = Leader()) != nullptr; }));
    return *leader;
  }
  // Appends lines of its own until it is stopped, and reads in between.
  void Client(int number) {
    size_t at = static_cast<size_t>(number) % 3;
    auto line = std::make_unique<Line>(places_[at].client_port);
    for (int i = 0; !stop_; ++i) {
      if (i % 10 == 9) {
        const size_t floor = longest_;
        const std::string answer = line->Ask("read", 4);
        size_t length = 0;
        if (absl::StartsWith(answer, "ok ") && absl::SimpleAtoi(answer.substr(3), &length)) {
          EXPECT_GE(length, floor) << "a read does not see what was acknowledged";
          ++reads_;
          continue;
        }
      } else {
        const std::string word = absl::StrCat("c", number, ".", i);
        const std::string answer = line->Ask("append " + word, 4);
        size_t place = 0;
        if (absl::StartsWith(answer, "ok ") && absl::SimpleAtoi(answer.substr(3), &place)) {
          std::lock_guard lock(mutex_);
          const absl::Time now = absl::Now();
          longest_wait_ = std::max(longest_wait_, now - last_answer_);
          last_answer_ = now;
          EXPECT_TRUE(acknowledged_.emplace(place, word).second) << "two lines at " << place;
          longest_ = std::max<size_t>(longest_, place);
          continue;
        }
      }
      // Another node, on another connection.
      at = (at + 1) % 3;
      line = std::make_unique<Line>(places_[at].client_port);
      std::this_thread::yield();
    }
  }
  // Calls `fault` while clients append.
  void Disturb(const std::function<void()>& fault) {
    stop_ = false;
    last_answer_ = absl::Now();
    std::vector<std::thread> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back([this, i] { Client(i + 3 * rounds_); });
    ++rounds_;
    fault();
    stop_ = true;
    for (std::thread& client : clients) client.join();
  }
  void WaitForProgress(size_t lines) {
    const size_t before = longest_;
    EXPECT_TRUE(WaitUntil([&] { return longest_ >= before + lines; }));
  }
  absl::Duration TakeLongestWait() {
    std::lock_guard lock(mutex_);
    return std::exchange(longest_wait_, absl::ZeroDuration());
  }
  // All nodes have the same list, and in it each acknowledged line has the place that was said.
  void ExpectAllEqual() {
    std::string first;
    EXPECT_TRUE(WaitUntil([&] {
      if (Line(WaitForLeader().client_port).Ask("append end", 4).empty()) return false;
      first = Line(places_[0].client_port).Ask("list", 10);
      return !first.empty() && first == Line(places_[1].client_port).Ask("list", 10) &&
             first == Line(places_[2].client_port).Ask("list", 10);
    }));
    const std::vector<std::string> list = absl::StrSplit(first, ' ');
    std::lock_guard lock(mutex_);
    for (const auto& [place, word] : acknowledged_) {
      ASSERT_LE(place, list.size());
      ASSERT_EQ(list[place - 1], word) << "at " << place;
    }
    std::printf("%zu lines, %zu acknowledged, %zu reads\n", list.size(), acknowledged_.size(),
                reads_.load());
  }

  TemporaryDirectory directory_;
  Place places_[3];
  std::atomic<bool> stop_ = false;
  std::atomic<size_t> longest_ = 0, reads_ = 0;
  int rounds_ = 0;
  std::mutex mutex_;
  std::map<size_t, std::string> acknowledged_;
  absl::Time last_answer_;
  absl::Duration longest_wait_;
};

TEST_F(NodeProcessTest, KilledAndStoppedAgainAndAgain_LoseNothing) {
  Disturb([&] {
    WaitForProgress(100);
    TakeLongestWait();
    for (int round = 0; round < 12; ++round) {
      Place& leader = WaitForLeader();
      Place& follower = &leader == &places_[0] ? places_[1] : places_[0];
      switch (round % 4) {
        case 0:
        case 2: {
          leader.server->KillHard();
          WaitForProgress(20);
          std::printf("leader killed: %s until the next answer\n",
                      absl::FormatDuration(TakeLongestWait()).c_str());
          Start(leader);
          break;
        }
        case 1:
          follower.server->KillHard();
          WaitForProgress(50);
          Start(follower);
          break;
        default:
          for (Place& place : places_) place.server->KillHard();
          for (Place& place : places_) Start(place);
          break;
      }
      WaitForProgress(100);
      TakeLongestWait();
    }
  });
  ExpectAllEqual();
}

TEST_F(NodeProcessTest, PausedLeader_IsReplacedAndFollowsAfterwards) {
  Disturb([&] {
    for (int round = 0; round < 3; ++round) {
      WaitForProgress(50);
      Place& leader = WaitForLeader();
      leader.server->Stall();
      WaitForProgress(50);
      leader.server->Resume();
      WaitForProgress(50);
    }
  });
  ExpectAllEqual();
}

TEST_F(NodeProcessTest, FullDisk_EndsTheProcessAndTheOthersContinue) {
  Place& victim = places_[2];
  victim.server->KillHard();
  Start(victim, "400000");
  Disturb([&] {
    EXPECT_TRUE(WaitUntil([&] { return !victim.server->running(); })) << "it has enough room";
    EXPECT_NE(victim.server->LogTail().find("a write failed"), std::string::npos)
        << victim.server->LogTail();
    WaitForProgress(100);
    Start(victim);
    WaitForProgress(100);
  });
  ExpectAllEqual();
}

}  // namespace
}  // namespace locus::raft
