// SPDX-License-Identifier: Apache-2.0
#include "tests/private_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

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

// A socket bound to a free port.
LoopbackListener Bound() {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || bind(fd, generic, length) != 0 || getsockname(fd, generic, &length) != 0) {
    std::abort();
  }
  return {fd, ntohs(address.sin_port)};
}

}  // namespace

uint16_t FreePort() {
  static std::set<uint16_t> given;
  while (true) {
    LoopbackListener bound = Bound();
    close(bound.fd);
    if (given.insert(bound.port).second) return bound.port;
  }
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
  // Its threads stop one after the other, and the last ones may answer somebody meanwhile.
  siginfo_t stopped;
  waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
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
