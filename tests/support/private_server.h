// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_PRIVATE_SERVER_H_
#define LOCUS_TESTS_SUPPORT_PRIVATE_SERVER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace locus {

// A TCP port of 127.0.0.1 without a listener. As long as this process lives, neither of these two
// functions gives it out again, here or in another process of the same network namespace.
uint16_t FreePort();

// A socket that listens on such a port; the caller closes it.
struct LoopbackListener {
  int fd = -1;
  uint16_t port = 0;
};
LoopbackListener ListenOnLoopback(int backlog = 16);

// A connection to this port of 127.0.0.1, which the caller closes; -1: there is no listener.
int ConnectToLoopback(uint16_t port);

// Asks `condition` every few milliseconds until it holds: false once `within` has passed.
bool WaitUntil(const std::function<bool()>& condition, absl::Duration within = absl::Minutes(2));

// Whether something accepts connections on this port of 127.0.0.1.
bool Listens(uint16_t port);

// A server process of a test: dies with the object, and with the test should that be killed.
// Thread safety: none.
class PrivateServer {
 public:
  // Output goes to `log`, appended. The program is looked for in PATH and in /usr/sbin.
  PrivateServer(std::vector<std::string> command, std::string log);
  ~PrivateServer();
  PrivateServer(const PrivateServer&) = delete;
  PrivateServer& operator=(const PrivateServer&) = delete;

  // Starts the process (again); waits until `ready`. On failure the test program gets the end of
  // the log by its messages, and false.
  bool Start(const std::function<bool()>& ready, absl::Duration within = absl::Minutes(2));
  // kill -9, and waits for its end.
  void KillHard();
  // SIGTERM, and waits for its end; SIGKILL after `within`.
  void Stop(absl::Duration within = absl::Minutes(2));
  void Stall();    // SIGSTOP, and waits until it has stopped; also from another process
  void Resume();   // SIGCONT; also from another process
  bool running();  // reaps it if it has ended
  pid_t pid() const { return pid_; }
  // The last lines of the log.
  std::string LogTail() const;

 private:
  std::vector<std::string> command_;
  std::string log_;
  pid_t pid_ = -1;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_PRIVATE_SERVER_H_
