// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_ZOOKEEPER_ZOOKEEPER_SERVER_H_
#define LOCUS_TESTS_ENGINE_ZOOKEEPER_ZOOKEEPER_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "locus/engine/zookeeper.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// A ZooKeeper ensemble of a test, on free ports, without fsync: processes are killed, not machines.
class ZookeeperServer {
 public:
  explicit ZookeeperServer(int members = 1);

  // All members (again), with what they have stored; waits until each serves.
  bool Start();
  bool StartMember(int member);
  void KillHard();
  void KillHard(int member) { members_[static_cast<size_t>(member)].server->KillHard(); }
  void Stall(int member = 0) { members_[static_cast<size_t>(member)].server->Stall(); }
  void Resume(int member = 0) { members_[static_cast<size_t>(member)].server->Resume(); }
  // kill -9, all data removed, started again.
  bool RestartEmpty();

  int members() const { return static_cast<int>(members_.size()); }
  // Whether it serves, as a standalone server, leader or follower.
  bool Serves(int member);
  int Leader();  // -1: none

  ZookeeperOptions options() const;
  std::string data_directory(int member) const;
  TemporaryDirectory& directory() { return directory_; }

 private:
  struct Member {
    uint16_t client_port;
    uint16_t peer_port;
    uint16_t election_port;
    std::unique_ptr<PrivateServer> server;
  };
  // "leader", "follower", "standalone", or empty.
  std::string ModeOf(int member);

  TemporaryDirectory directory_;
  std::vector<Member> members_;
};

// One for the whole test program, one member; started at first use.
ZookeeperServer& SharedZookeeper();
// SharedZookeeper under a new prefix.
ZookeeperOptions FreshZookeeperPrefix();

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_ZOOKEEPER_ZOOKEEPER_SERVER_H_
