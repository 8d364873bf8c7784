// SPDX-License-Identifier: Apache-2.0
#include "tests/support/lying_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/support/private_server.h"
#include "tests/support/sanitizers.h"

// Functions of AddressSanitizer's run-time; without it they are null, and not called.
extern "C" {
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void* block);
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void*, size_t), void (*on_free)(const volatile void*));
}

namespace locus {

bool LyingPeer::WaitFor(short events, int timeout_ms) {
  pollfd watched[] = {{fd_, events, 0}, {stop_fd_, POLLIN, 0}};
  int ready = poll(watched, 2, timeout_ms);
  return ready > 0 && (watched[1].revents & POLLIN) == 0 && watched[0].revents != 0;
}

bool LyingPeer::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    if (!WaitFor(POLLOUT, -1)) return false;
    ssize_t size = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EAGAIN) continue;
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

bool LyingPeer::Drip(std::string_view bytes, int pause_ms) {
  for (char byte : bytes) {
    if (!Send({&byte, 1})) return false;
    pollfd stop{stop_fd_, POLLIN, 0};
    if (poll(&stop, 1, pause_ms) != 0) return false;
  }
  return true;
}

std::string LyingPeer::Receive() {
  if (!WaitFor(POLLIN, -1)) return {};
  char buffer[4096];
  ssize_t size = recv(fd_, buffer, sizeof buffer, 0);
  return size > 0 ? std::string(buffer, static_cast<size_t>(size)) : std::string();
}

bool LyingPeer::ReceiveExactly(size_t size, std::string& bytes) {
  bytes.resize(size);
  for (size_t got = 0; got < size;) {
    if (!WaitFor(POLLIN, -1)) return false;
    ssize_t more = recv(fd_, bytes.data() + got, size - got, 0);
    if (more <= 0) return false;
    got += static_cast<size_t>(more);
  }
  return true;
}

void LyingPeer::Hang() {
  while (!Receive().empty()) {
  }
}

void ConverseHttp(LyingPeer& peer, const std::function<std::string(const std::string&)>& answer) {
  std::string bytes;
  while (true) {
    const size_t end = bytes.find("\r\n\r\n");
    size_t length = 0;
    if (end != std::string::npos) {
      const size_t at = bytes.find("Content-Length: ");
      if (at != std::string::npos) length = std::strtoul(&bytes[at + 16], nullptr, 10);
    }
    if (end == std::string::npos || bytes.size() < end + 4 + length) {
      const std::string more = peer.Receive();
      if (more.empty()) return;
      bytes += more;
      continue;
    }
    const std::string line = bytes.substr(0, bytes.find('\r'));
    bytes.erase(0, end + 4 + length);
    const std::string said = answer(line);
    if (said.empty() || !peer.Send(said)) return;
  }
}

LyingServer::LyingServer(Serve serve) : serve_(std::move(serve)) {
  LoopbackListener listener = ListenOnLoopback(64);
  listener_ = listener.fd;
  port_ = listener.port;
  stop_fd_ = eventfd(0, EFD_CLOEXEC);
  acceptor_ = std::thread([this] { Accept(); });
}

LyingServer::~LyingServer() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t ignored = write(stop_fd_, &one, sizeof one);
  acceptor_.join();
  for (std::thread& thread : threads_) thread.join();
  close(listener_);
  close(stop_fd_);
}

void LyingServer::Accept() {
  while (true) {
    pollfd watched[] = {{listener_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    poll(watched, 2, -1);
    if ((watched[1].revents & POLLIN) != 0) return;
    int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    ++connections_;
    threads_.emplace_back([this, fd] {
      LyingPeer peer(fd, stop_fd_);
      serve_(peer);
      shutdown(fd, SHUT_RDWR);
      close(fd);
    });
  }
}

namespace {

// Bytes that the program has allocated since the hooks were installed, and the most of them.
std::atomic<int64_t> allocated{0};
std::atomic<int64_t> most_allocated{0};

void OnMalloc(const volatile void* block, size_t) {
  auto size = static_cast<int64_t>(__sanitizer_get_allocated_size(block));
  int64_t now = allocated.fetch_add(size) + size;
  int64_t most = most_allocated.load();
  while (now > most && !most_allocated.compare_exchange_weak(most, now)) {
  }
}
void OnFree(const volatile void* block) {
  allocated.fetch_sub(static_cast<int64_t>(__sanitizer_get_allocated_size(block)));
}

}  // namespace

size_t PeakMemoryMiB() {
  if (kUnderTsan) return 0;
  if (kUnderAsan) {
    // Most of the process's memory is the sanitizer's: shadow memory, and blocks that were freed.
    static const bool installed = __sanitizer_install_malloc_and_free_hooks(&OnMalloc, &OnFree) > 0;
    EXPECT_TRUE(installed);
    return static_cast<size_t>(most_allocated.load()) >> 20;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) / 1024;
}

}  // namespace locus
