// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_LYING_SERVER_H_
#define LOCUS_TESTS_SUPPORT_LYING_SERVER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace locus {

// One accepted connection of a LyingServer, in a thread of its own.
class LyingPeer {
 public:
  LyingPeer(int fd, int stop_fd) : fd_(fd), stop_fd_(stop_fd) {}

  // False: the client is gone, or the server is being destroyed.
  bool Send(std::string_view bytes);
  // One byte, then a pause, and so on: a server that drips.
  bool Drip(std::string_view bytes, int pause_ms);
  // The bytes that arrived, at least one; empty: as false above.
  std::string Receive();
  // Exactly this many bytes; false as above.
  bool ReceiveExactly(size_t size, std::string& bytes);
  // Says nothing until the client goes or the server is destroyed.
  void Hang();

 private:
  bool WaitFor(short events, int timeout_ms);

  const int fd_;
  const int stop_fd_;
};

// Reads HTTP requests and sends what `answer` makes of the first line of each; empty: hangs up.
void ConverseHttp(LyingPeer& peer, const std::function<std::string(const std::string&)>& answer);

// A server in this process that answers whatever a test wants: truncated, oversized, dripping,
// random. Each connection is served by `serve` and closed when that returns.
class LyingServer {
 public:
  using Serve = std::function<void(LyingPeer&)>;
  explicit LyingServer(Serve serve);
  ~LyingServer();
  LyingServer(const LyingServer&) = delete;
  LyingServer& operator=(const LyingServer&) = delete;

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void Accept();

  const Serve serve_;
  int listener_ = -1;
  int stop_fd_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::thread acceptor_;
  std::vector<std::thread> threads_;  // of the acceptor
};

// The most memory that this process has ever used, in MiB. Under AddressSanitizer: has allocated
// since the first call. 0 under ThreadSanitizer: other builds check the bounds.
size_t PeakMemoryMiB();

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_LYING_SERVER_H_
