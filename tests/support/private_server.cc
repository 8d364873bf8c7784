// SPDX-License-Identifier: Apache-2.0
#include "tests/support/private_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace locus {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Stopped, or ended: a process that is gone has no threads.
bool EachThreadStands(pid_t pid) {
  std::error_code gone;
  std::filesystem::directory_iterator threads("/proc/" + std::to_string(pid) + "/task", gone), none;
  for (; !gone && threads != none; threads.increment(gone)) {
    std::ifstream in(threads->path() / "stat");
    std::string stat{std::istreambuf_iterator<char>(in), {}};
    size_t name_ends = stat.rfind(')');  // a name may hold anything
    if (name_ends == std::string::npos) continue;
    char state = stat[name_ends + 2];
    if (state != 'T' && state != 'Z' && state != 'X') return false;
  }
  return true;
}

// Reserves the port against every other process of these tests in this network namespace, until
// this one ends, however it ends. False: reserved already.
bool Reserve(uint16_t port) {
  const std::string name = "locus-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, name.size());  // after a zero byte: an abstract name
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) std::abort();
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0) return true;  // fd stays open
  if (errno != EADDRINUSE) std::abort();
  close(fd);
  return false;
}

// A socket bound to a port that is free and reserved.
LoopbackListener Bound() {
  // Below what Linux gives to outgoing connections, which would take a port while no server is
  // bound to it; above what servers have by default.
  std::uniform_int_distribution<uint16_t> ports(10'000, 32'767);
  std::random_device random;
  while (true) {
    uint16_t port = ports(random);
    if (!Reserve(port)) continue;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(port);
    if (fd < 0) std::abort();
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return {fd, port};
    if (errno != EADDRINUSE) std::abort();
    close(fd);
  }
}

}  // namespace

uint16_t FreePort() {
  LoopbackListener bound = Bound();
  close(bound.fd);
  return bound.port;
}

LoopbackListener ListenOnLoopback(int backlog) {
  LoopbackListener bound = Bound();
  if (listen(bound.fd, backlog) != 0) std::abort();
  return bound;
}

bool WaitUntil(const std::function<bool()>& condition, absl::Duration within) {
  absl::Time deadline = absl::Now() + within;
  while (!condition()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(5));
  }
  return true;
}

int ConnectToLoopback(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(port);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

bool Listens(uint16_t port) {
  int fd = ConnectToLoopback(port);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

PrivateServer::PrivateServer(std::vector<std::string> command, std::string log)
    : command_(std::move(command)), log_(std::move(log)) {}

PrivateServer::~PrivateServer() { KillHard(); }

bool PrivateServer::Start(const std::function<bool()>& ready, absl::Duration within) {
  KillHard();
  std::vector<char*> words;
  for (std::string& word : command_) words.push_back(word.data());
  words.push_back(nullptr);
  int log = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(log, 1);
    dup2(log, 2);
    execvp(words[0], words.data());
    execv(("/usr/sbin/" + command_[0]).c_str(), words.data());
    _exit(127);
  }
  close(log);
  bool came_up = WaitUntil([&] { return !running() || ready(); }, within) && running();
  if (!came_up) ADD_FAILURE() << command_[0] << " did not come up; its log ends:\n" << LogTail();
  return came_up;
}

void PrivateServer::KillHard() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void PrivateServer::Stop(absl::Duration within) {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  if (!WaitUntil([this] { return !running(); }, within)) KillHard();
}

void PrivateServer::Stall() {
  if (pid_ <= 0) return;
  kill(pid_, SIGSTOP);
  // Its threads stop one after the other, and the last ones may still answer clients meanwhile.
  // waitid would report to the starting process only.
  EXPECT_TRUE(WaitUntil([this] { return EachThreadStands(pid_); }));
}

void PrivateServer::Resume() {
  if (pid_ > 0) kill(pid_, SIGCONT);
}

bool PrivateServer::running() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
  return pid_ > 0;
}

std::string PrivateServer::LogTail() const {
  constexpr size_t kTail = 4000;
  std::ifstream in(log_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

}  // namespace locus
