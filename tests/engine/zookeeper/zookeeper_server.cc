// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/zookeeper/zookeeper_server.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus {

namespace fs = std::filesystem;

ZookeeperServer::ZookeeperServer(int members) {
  for (int i = 0; i < members; ++i) {
    members_.push_back({FreePort(), FreePort(), FreePort(), nullptr});
  }
  for (int i = 0; i < members; ++i) {
    const Member& member = members_[static_cast<size_t>(i)];
    const std::string home = directory_ / absl::StrCat("conf", i);
    fs::create_directories(home);
    std::ofstream config(home + "/zoo.cfg");
    config << "tickTime=500\ninitLimit=20\nsyncLimit=10\ndataDir=" << data_directory(i)
           << "\nclientPortAddress=127.0.0.1\nclientPort=" << member.client_port
           << "\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\nmaxClientCnxns=0\n";
    for (int peer = 0; members > 1 && peer < members; ++peer) {
      config << "server." << peer + 1
             << "=127.0.0.1:" << members_[static_cast<size_t>(peer)].peer_port << ":"
             << members_[static_cast<size_t>(peer)].election_port << "\n";
    }
  }
  for (int i = 0; i < members; ++i) {
    const std::string home = directory_ / absl::StrCat("conf", i);
    members_[static_cast<size_t>(i)].server = std::make_unique<PrivateServer>(
        std::vector<std::string>{
            "java", "-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Dzookeeper.forceSync=no", "-cp", home + ":/usr/share/java/zookeeper.jar",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain", home + "/zoo.cfg"},
        directory_ / absl::StrCat("zookeeper", i, ".log"));
  }
}

std::string ZookeeperServer::data_directory(int member) const {
  return directory_ / absl::StrCat("data", member);
}

bool ZookeeperServer::StartMember(int member) {
  fs::create_directories(data_directory(member));
  std::ofstream(data_directory(member) + "/myid") << member + 1 << "\n";
  const Member& starts = members_[static_cast<size_t>(member)];
  return starts.server->Start([&] { return members() > 1 || Serves(member); });
}

bool ZookeeperServer::Start() {
  for (int i = 0; i < members(); ++i) {
    if (!StartMember(i)) return false;
  }
  return WaitUntil([&] {
    for (int i = 0; i < members(); ++i) {
      if (!Serves(i)) return false;
    }
    return true;
  });
}

void ZookeeperServer::KillHard() {
  for (Member& member : members_) member.server->KillHard();
}

bool ZookeeperServer::RestartEmpty() {
  KillHard();
  for (int i = 0; i < members(); ++i) fs::remove_all(data_directory(i));
  return Start();
}

std::string ZookeeperServer::ModeOf(int member) {
  const int fd = ConnectToLoopback(members_[static_cast<size_t>(member)].client_port);
  if (fd < 0) return "";
  const timeval patience{2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::string answer;
  if (send(fd, "srvr", 4, MSG_NOSIGNAL) == 4) {
    char bytes[4096];
    for (ssize_t n = 0; (n = recv(fd, bytes, sizeof bytes, 0)) > 0;) {
      answer.append(bytes, static_cast<size_t>(n));
    }
  }
  close(fd);
  const size_t at = answer.find("Mode: ");
  if (at == std::string::npos) return "";
  return answer.substr(at + 6, answer.find('\n', at) - at - 6);
}

bool ZookeeperServer::Serves(int member) { return !ModeOf(member).empty(); }

int ZookeeperServer::Leader() {
  for (int i = 0; i < members(); ++i) {
    if (members_[static_cast<size_t>(i)].server->running() && ModeOf(i) == "leader") return i;
  }
  return -1;
}

ZookeeperOptions ZookeeperServer::options() const {
  ZookeeperOptions options;
  for (const Member& member : members_) {
    options.hosts.push_back(absl::StrCat("127.0.0.1:", member.client_port));
  }
  options.session_timeout = absl::Seconds(2);
  options.connect_timeout = absl::Seconds(10);
  options.timeout = absl::Seconds(10);
  return options;
}

ZookeeperServer& SharedZookeeper() {
  static auto* server = new ZookeeperServer();
  static const bool started = server->Start();
  static const bool stops = std::atexit([] { delete server; }) == 0;
  EXPECT_TRUE(started && stops);
  return *server;
}

ZookeeperOptions FreshZookeeperPrefix() {
  static std::atomic<int> last{0};
  ZookeeperOptions options = SharedZookeeper().options();
  options.prefix = absl::StrCat("/test/p", ++last);
  return options;
}

}  // namespace locus
