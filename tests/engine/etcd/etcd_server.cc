// SPDX-License-Identifier: Apache-2.0
#include "tests/engine/etcd/etcd_server.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "src/engine/etcd/connection.h"

namespace locus {
namespace {

std::optional<etcd::MemberStatus> StatusOf(const EtcdOptions& options) {
  auto connection = etcd::Connection::Open(options);
  if (!connection.ok()) return std::nullopt;
  auto status = (*connection)->Status((*connection)->Deadline());
  if (!status.ok()) return std::nullopt;
  return *status;
}

bool Run(const std::string& command) { return std::system(command.c_str()) == 0; }

}  // namespace

EtcdServer::EtcdServer(int members, std::vector<std::string> arguments, std::string client_scheme)
    : arguments_(std::move(arguments)), scheme_(std::move(client_scheme)) {
  for (int i = 0; i < members; ++i) {
    members_.push_back({absl::StrCat("m", i), FreePort(), FreePort(), nullptr});
  }
  for (int i = 0; i < members; ++i)
    members_[i].server = MakeServer(i, "--initial-cluster-state=new");
}

std::unique_ptr<PrivateServer> EtcdServer::MakeServer(int number,
                                                      const std::string& argument) const {
  const Member& member = members_[number];
  std::string client = absl::StrCat(scheme_, "://127.0.0.1:", member.client_port);
  std::vector<std::string> command = {"etcd",
                                      "--name=" + member.name,
                                      "--data-dir=" + data_directory(number),
                                      "--listen-client-urls=" + client,
                                      "--advertise-client-urls=" + client,
                                      "--listen-peer-urls=" + PeerUrl(member),
                                      "--initial-advertise-peer-urls=" + PeerUrl(member),
                                      "--initial-cluster=" + InitialCluster(),
                                      "--initial-cluster-token=locus-test",
                                      argument,
                                      "--heartbeat-interval=50",
                                      "--election-timeout=500",
                                      "--unsafe-no-fsync",
                                      "--logger=zap",
                                      "--log-level=warn"};
  command.insert(command.end(), arguments_.begin(), arguments_.end());
  return std::make_unique<PrivateServer>(command, directory_ / (member.name + ".log"));
}

std::string EtcdServer::PeerUrl(const Member& member) const {
  return absl::StrCat("http://127.0.0.1:", member.peer_port);
}

std::string EtcdServer::InitialCluster() const {
  return absl::StrJoin(members_, ",", [this](std::string* out, const Member& member) {
    absl::StrAppend(out, member.name, "=", PeerUrl(member));
  });
}

std::string EtcdServer::endpoint(int member) const {
  return absl::StrCat("127.0.0.1:", members_[member].client_port);
}

std::string EtcdServer::data_directory(int member) const {
  return directory_ / (members_[member].name + ".etcd");
}

EtcdOptions EtcdServer::options() const {
  EtcdOptions options;
  for (int i = 0; i < members(); ++i) options.endpoints.push_back(endpoint(i));
  return options;
}

EtcdOptions EtcdServer::options(int only) const {
  EtcdOptions options;
  options.endpoints = {endpoint(only)};
  return options;
}

bool EtcdServer::StartMember(int member) {
  uint16_t port = members_[member].client_port;
  return members_[member].server->Start([port] { return Listens(port); });
}

bool EtcdServer::Start() {
  // A member listens for clients once it has met a majority of the others.
  for (Member& member : members_) {
    uint16_t port = member.peer_port;
    if (!member.server->Start([port] { return Listens(port); })) return false;
  }
  return WaitForLeader();
}

bool EtcdServer::WaitForLeader() {
  return WaitUntil([this] {
    // One that the others left may call itself the leader for a while.
    std::optional<uint64_t> leader;
    bool leader_says_so = false;
    for (int i = 0; i < members(); ++i) {
      if (scheme_ == "https") {
        if (!Listens(members_[i].client_port)) return false;
        continue;
      }
      auto status = StatusOf(options(i));
      if (!status || status->leader == 0) return false;
      if (leader.value_or(status->leader) != status->leader) return false;
      leader = status->leader;
      leader_says_so = leader_says_so || status->header.member_id == *leader;
    }
    return leader_says_so || !leader;
  });
}

void EtcdServer::KillHard() {
  for (Member& member : members_) member.server->KillHard();
}

bool EtcdServer::ReplaceMember(int member) {
  KillHard(member);
  std::filesystem::remove_all(data_directory(member));
  Member& replaced = members_[member];
  int asked = member == 0 ? 1 : 0;
  std::string ctl = absl::StrCat("ETCDCTL_API=3 etcdctl --endpoints=", endpoint(asked), " member ");
  std::string log = absl::StrCat(" >> ", directory_ / "etcdctl.log", " 2>&1");
  std::string id = absl::StrCat("$(", ctl, "list | grep ' ", replaced.name, ",' | cut -d, -f1)");
  // A cluster that just lost a member refuses changes until it is sure of the others.
  if (!WaitUntil([&] { return Run(ctl + "remove " + id + log); })) return false;
  std::string add = absl::StrCat("add ", replaced.name, " --peer-urls=", PeerUrl(replaced));
  if (!WaitUntil([&] { return Run(ctl + add + log); })) return false;
  replaced.server = MakeServer(member, "--initial-cluster-state=existing");
  return StartMember(member);
}

bool EtcdServer::ForceNewCluster(int survivor) {
  KillHard();
  members_[survivor].server = MakeServer(survivor, "--force-new-cluster");
  return StartMember(survivor) && WaitUntil([&] { return Leader() == survivor; });
}

bool EtcdServer::RestartEmpty() {
  KillHard();
  for (int i = 0; i < members(); ++i) std::filesystem::remove_all(data_directory(i));
  return Start();
}

bool EtcdServer::KeepData() {
  KillHard();
  std::filesystem::copy(data_directory(0), directory_ / "kept",
                        std::filesystem::copy_options::recursive);
  return Start();
}

bool EtcdServer::PutDataBack() {
  KillHard();
  std::filesystem::remove_all(data_directory(0));
  std::filesystem::copy(directory_ / "kept", data_directory(0),
                        std::filesystem::copy_options::recursive);
  return Start();
}

int EtcdServer::Leader() {
  for (int i = 0; i < members(); ++i) {
    auto status = StatusOf(options(i));
    if (status && status->leader == status->header.member_id) return i;
  }
  return -1;
}

bool EtcdServer::Ctl(const std::string& words) {
  return Run(
      absl::StrCat("ETCDCTL_API=3 etcdctl --endpoints=", absl::StrJoin(options().endpoints, ","),
                   " ", words, " >> ", directory_ / "etcdctl.log", " 2>&1"));
}

bool EtcdServer::SaveSnapshot(const std::string& file) {
  return Run(absl::StrCat("ETCDCTL_API=3 etcdctl --endpoints=", endpoint(0), " snapshot save ",
                          file, " >> ", directory_ / "etcdctl.log", " 2>&1"));
}

bool EtcdServer::RestoreSnapshot(const std::string& file, const std::string& token) {
  KillHard();
  for (int i = 0; i < members(); ++i) {
    std::filesystem::remove_all(data_directory(i));
    bool restored = Run(absl::StrCat(
        "ETCDCTL_API=3 etcdctl snapshot restore ", file, " --name=", members_[i].name,
        " --data-dir=", data_directory(i), " --initial-cluster=", InitialCluster(),
        " --initial-cluster-token=", token, " --initial-advertise-peer-urls=", PeerUrl(members_[i]),
        " >> ", directory_ / "etcdctl.log", " 2>&1"));
    if (!restored) {
      ADD_FAILURE() << "etcdctl snapshot restore failed";
      return false;
    }
  }
  return Start();
}

EtcdServer& SharedEtcd() {
  static EtcdServer& server = *[] {
    static EtcdServer made;
    EXPECT_TRUE(made.Start());
    return &made;
  }();
  return server;
}

EtcdOptions FreshEtcdPrefix() {
  static int prefixes = 0;
  EtcdOptions options = SharedEtcd().options();
  options.prefix = absl::StrCat("test", ++prefixes);
  options.request_timeout = options.call_timeout = absl::Seconds(30);
  return options;
}

}  // namespace locus
