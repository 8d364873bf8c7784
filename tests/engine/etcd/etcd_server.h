// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_ETCD_ETCD_SERVER_H_
#define LOCUS_TESTS_ENGINE_ETCD_ETCD_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "locus/engine/etcd.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// An etcd cluster of a test, on free ports, without fsync: processes are killed, not machines.
class EtcdServer {
 public:
  // `arguments` of each member, after those that make it private. `client_scheme`: "http", or
  // "https" with the certificates in `arguments`; then Start waits for open ports only.
  explicit EtcdServer(int members = 1, std::vector<std::string> arguments = {},
                      std::string client_scheme = "http");

  // Starts all members (again), with their stored data; waits for a leader, as WaitForLeader.
  bool Start();
  bool StartMember(int member);
  // Waits until all members, which must run, name the same leader, the leader included.
  bool WaitForLeader();
  void KillHard();
  void KillHard(int member) { members_[member].server->KillHard(); }
  void Stall(int member = 0) { members_[member].server->Stall(); }
  void Resume(int member = 0) { members_[member].server->Resume(); }
  // kill -9, all data removed, started again: the same names and addresses, so the same cluster ID.
  bool RestartEmpty();
  // Of member 0, which is killed and started again: its data directory is kept as it is; what was
  // kept is put back.
  bool KeepData();
  bool PutDataBack();
  // As an operator does for a member whose disk is lost: removed from the cluster, added again, and
  // started without data. The others must have a leader.
  bool ReplaceMember(int member);

  // `survivor` alone is the cluster from now on, with what it has; the others are gone.
  bool ForceNewCluster(int survivor);

  int members() const { return static_cast<int>(members_.size()); }
  // That the other members call their leader; -1: none.
  int Leader();

  // Every member; `only` one.
  EtcdOptions options() const;
  EtcdOptions options(int only) const;
  std::string endpoint(int member) const;
  std::string data_directory(int member) const;
  TemporaryDirectory& directory() { return directory_; }

  // `etcdctl WORDS` for all endpoints; whether it succeeded. Words need no quotes.
  bool Ctl(const std::string& words);
  // A snapshot of member 0 into the file; and all members made anew from it. The new cluster is
  // called `token`; the default is the name that it always had.
  bool SaveSnapshot(const std::string& file);
  bool RestoreSnapshot(const std::string& file, const std::string& token = "locus-test");

 private:
  struct Member {
    std::string name;
    uint16_t client_port;
    uint16_t peer_port;
    std::unique_ptr<PrivateServer> server;
  };
  std::string InitialCluster() const;
  std::string PeerUrl(const Member& member) const;
  std::unique_ptr<PrivateServer> MakeServer(int number, const std::string& argument) const;

  TemporaryDirectory directory_;
  const std::vector<std::string> arguments_;
  const std::string scheme_;
  std::vector<Member> members_;
};

// One for the whole test program, one member, plain; started at first use.
EtcdServer& SharedEtcd();
// SharedEtcd under a prefix that nobody used before, with all the time that a busy machine needs.
EtcdOptions FreshEtcdPrefix();

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_ETCD_ETCD_SERVER_H_
