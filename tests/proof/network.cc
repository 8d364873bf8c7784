// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/network.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/os/check.h"
#include "tests/support/private_server.h"

namespace locus::proof {
namespace {

constexpr int kSelf = 254;  // the last part of this process' address

absl::Status Refused(const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(what, ": ", std::strerror(errno)));
}

bool WriteFile(const char* path, const std::string& text) {
  std::ofstream out(path);
  return (out << text << std::flush).good();
}

std::string MacOf(int number) { return absl::StrFormat("02:00:00:00:00:%02x", number); }
std::string AddressWith(int number) { return absl::StrCat("10.77.0.", number); }

// The link address of `to`; no host has the second address, so frames to it vanish.
std::string Neighbour(const char* verb, int to, bool cut, const char* device) {
  return absl::StrCat("neigh ", verb, " ", AddressWith(to), " lladdr ",
                      cut ? "02:de:ad:00:00:00" : MacOf(to), " dev ", device, " nud permanent\n");
}

// `ip -batch` in a namespace; -1: that of this process.
absl::Status Ip(int space, const std::string& lines) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Refused("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    if (space >= 0 && setns(space, CLONE_NEWNET) != 0) _exit(126);
    dup2(ends[0], 0);
    execlp("ip", "ip", "-batch", "-", nullptr);
    execl("/usr/sbin/ip", "ip", "-batch", "-", nullptr);
    _exit(127);
  }
  close(ends[0]);
  const bool sent =
      write(ends[1], lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
  close(ends[1]);
  int status = 0;
  waitpid(pid, &status, 0);
  if (sent && WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the program ip (Debian: iproute2) failed, status ", status, ":\n", lines));
}

}  // namespace

absl::Status EnterOwnNamespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  int wanted = CLONE_NEWNET | CLONE_NEWNS;
  if (user != 0) wanted |= CLONE_NEWUSER;
  if (unshare(wanted) != 0) return Refused("unshare");
  if (user != 0 && (!WriteFile("/proc/self/setgroups", "deny") ||
                    !WriteFile("/proc/self/uid_map", absl::StrCat("0 ", user, " 1")) ||
                    !WriteFile("/proc/self/gid_map", absl::StrCat("0 ", group, " 1")))) {
    return Refused("the map of users");
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return Refused("mount");
  return Ip(-1, "link set lo up\n");
}

std::string Network::AddressOf(int host) { return AddressWith(host + 1); }

absl::StatusOr<std::unique_ptr<Network>> Network::Make(int hosts, const std::set<int>& there) {
  std::unique_ptr<Network> network(new Network);
  LOCUS_RETURN_IF_ERROR(network->Build(hosts, there));
  return network;
}

std::unique_ptr<Network> Network::MakeOfProxies(int hosts, const std::string& directory,
                                                const std::set<int>& there) {
  std::unique_ptr<Network> network(new Network);
  network->directory_ = directory;
  network->there_ = there;
  for (int i = 0; i < hosts; ++i) {
    network->hosts_.emplace_back().cut.resize(static_cast<size_t>(hosts));
  }
  return network;
}

std::string Network::RoutesOf(int host) const { return absl::StrCat(directory_, "/routes", host); }

void Network::Serve(int host, uint16_t port) {
  if (!of_proxies()) return;
  const uint16_t real = FreePort();
  real_ports_[{host, port}] = real;
  auto add = [&](int to, const char* what, uint16_t at) {
    std::ofstream(RoutesOf(to), std::ios::app)
        << what << " " << AddressOf(host) << " " << port << " " << at << "\n";
  };
  add(host, "listen", real);
  add(host, "call", real);  // itself
  add(-1, "call", real);
  for (int from = 0; from < size(); ++from) {
    if (from == host) continue;
    auto& proxies = proxies_[{from, host}];
    proxies.push_back(std::make_unique<FaultProxy>(real));
    add(from, "call", proxies.back()->port());
  }
}

void Network::Put(int host, Command& command) const {
  if (of_proxies()) {
    command.routes = RoutesOf(host);
  } else if (host >= 0) {
    command.network = hosts_[host].fd;
  }
}

std::string Network::FromHere(int host, uint16_t port) const {
  if (!of_proxies()) return absl::StrCat(AddressOf(host), ":", port);
  return absl::StrCat("127.0.0.1:", real_ports_.at({host, port}));
}

Network::~Network() {
  for (const Host& host : hosts_) {
    if (host.fd >= 0) close(host.fd);
  }
}

absl::Status Network::Build(int hosts, const std::set<int>& there) {
  there_ = there;
  std::string self =
      absl::StrCat("link add here type bridge\nlink set here address ", MacOf(kSelf), "\naddr add ",
                   AddressWith(kSelf), "/24 dev here\nlink set here up\n");
  if (!there_.empty()) {
    self +=
        "link add there type bridge\nlink set there up\n"
        "link add ends type veth peer name meets\n"
        "link set ends master here up\nlink set meets master there up\n";
  }
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < hosts; ++i) {
    if (unshare(CLONE_NEWNET) != 0) return Refused("unshare");
    Host& host = hosts_.emplace_back();
    host.cut.resize(static_cast<size_t>(hosts));
    host.fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    LOCUS_CHECK(host.fd >= 0 && setns(own, CLONE_NEWNET) == 0);
    absl::StrAppend(&self, "link add h", i, " type veth peer name eth0 netns /proc/", getpid(),
                    "/fd/", host.fd, "\nlink set h", i, " master ",
                    there.count(i) == 0 ? "here" : "there", " up\n",
                    Neighbour("replace", i + 1, false, "here"));
  }
  close(own);
  LOCUS_RETURN_IF_ERROR(Ip(-1, self));
  for (int i = 0; i < hosts; ++i) {
    std::string lines = absl::StrCat(
        "link set lo up\nlink set eth0 address ", MacOf(i + 1), "\naddr add ", AddressOf(i),
        "/24 dev eth0\n", "link set eth0 up\n", Neighbour("replace", kSelf, false, "eth0"));
    for (int other = 0; other < hosts; ++other) {
      if (other != i) lines += Neighbour("replace", other + 1, false, "eth0");
    }
    LOCUS_RETURN_IF_ERROR(Ip(hosts_[i].fd, lines));
  }
  return absl::OkStatus();
}

void Network::SetWay(int from, int to, bool cut) {
  if (from == to || hosts_[from].cut[to] == cut) return;
  hosts_[from].cut[to] = cut;
  if (of_proxies()) {
    for (const auto& proxy : proxies_[{from, to}]) {
      proxy->set_fault(cut ? FaultProxy::Fault::kStall : FaultProxy::Fault::kNone);
    }
    return;
  }
  LOCUS_CHECK(Ip(hosts_[from].fd, Neighbour("replace", to + 1, cut, "eth0")).ok());
}

void Network::Cut(int from, int to) { SetWay(from, to, true); }
void Network::Heal(int from, int to) { SetWay(from, to, false); }

void Network::CutOff(const std::set<int>& hosts) {
  for (const int one : hosts) {
    for (int other = 0; other < size(); ++other) {
      if (hosts.count(other) > 0) continue;
      Cut(one, other);
      Cut(other, one);
    }
  }
}

absl::Duration Network::CutAtRandom(std::mt19937_64& random) {
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      if (from != to && random() % 4 == 0) Cut(from, to);
    }
  }
  return absl::Milliseconds(500 + random() % 4000);
}

void Network::SetLink(bool cut) {
  if (!of_proxies()) {
    LOCUS_CHECK(Ip(-1, cut ? "link set ends down\n" : "link set ends up\n").ok());
    return;
  }
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) {
      if (there_.count(from) != there_.count(to)) SetWay(from, to, cut);
    }
  }
}

void Network::HealAll() {
  for (int from = 0; from < size(); ++from) {
    for (int to = 0; to < size(); ++to) Heal(from, to);
  }
  if (!there_.empty()) HealLink();
}

}  // namespace locus::proof
