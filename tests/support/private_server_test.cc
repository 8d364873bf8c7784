// SPDX-License-Identifier: Apache-2.0
#include "tests/support/private_server.h"

#include <unistd.h>

#include <set>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    close(ends[1]);
  }
  int ends[2];
};

// So many that without reservations some would be given twice, except once in 30,000 runs.
TEST(PrivateServerTest, ProcessesThatLiveTogether_NeverHaveTheSamePort) {
  constexpr int kProcesses = 4, kPorts = 200;
  Pipe found, end;
  std::vector<ChildProcess> processes;
  for (int p = 0; p < kProcesses; ++p) {
    processes.emplace_back([&] {
      close(end.ends[1]);
      for (int i = 0; i < kPorts; ++i) {
        uint16_t port = 0;
        if (i % 2 == 0) {
          port = FreePort();
        } else {
          LoopbackListener listener = ListenOnLoopback();
          close(listener.fd);
          port = listener.port;
        }
        if (write(found.ends[1], &port, sizeof port) != sizeof port) return 1;
      }
      char byte;
      return static_cast<int>(read(end.ends[0], &byte, 1));  // until all are through
    });
  }
  close(std::exchange(found.ends[1], -1));
  std::set<uint16_t> ports;
  for (int i = 0; i < kProcesses * kPorts; ++i) {
    uint16_t port = 0;
    ASSERT_EQ(read(found.ends[0], &port, sizeof port), ssize_t{sizeof port});
    EXPECT_TRUE(ports.insert(port).second) << port;
  }
  close(std::exchange(end.ends[1], -1));
  for (ChildProcess& process : processes) EXPECT_EQ(process.Wait(), 0);
}

}  // namespace
}  // namespace locus
