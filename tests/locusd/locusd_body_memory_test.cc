// SPDX-License-Identifier: Apache-2.0
// How much memory request bodies take. Not under a sanitizer, which keeps what was freed.
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/locusd/ids_process.h"

namespace locus {
namespace {

size_t MebibytesOf(pid_t process, const std::string& what = "VmRSS:") {
  std::ifstream in(absl::StrCat("/proc/", process, "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(what)) return std::stoul(line.substr(6)) >> 10;
  }
  return 0;
}

TEST(LocusdBodyMemoryTest, ManyLargeBodies_TakeNoMoreThanTheirMemory_AndGiveItBack) {
  TemporaryDirectory directory;
  IdsProcess ids(directory);
  const std::string known = "0123456789abcdef-shop";
  WriteSecret(directory / "token", known + "\n");
  ids.Write(absl::StrCat("roles = [\"id-service\"]\n[[token]]\nname = \"shop\"\nfile = \"",
                         directory / "token", "\"\nscopes = [\"ids\"]\n"),
            "rate = 0\n", IdsOnOneFile(directory));
  ASSERT_TRUE(ids.Start());
  const pid_t process = ids.process().pid();
  const std::string body(900'000, ' ');
  for (const std::string& token : {std::string("of-nobody"), known}) {
    const size_t before = MebibytesOf(process);
    // All but the end of the body, so that the service keeps it.
    const std::string request =
        absl::StrCat("POST /v1/orders/ids HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ",
                     token, "\r\nContent-Length: 1000000\r\n\r\n", body);
    std::vector<int> clients;
    for (int i = 0; i < 400; ++i) {
      clients.push_back(ConnectToLoopback(ids.port()));
      const timeval patience = {5, 0};
      setsockopt(clients.back(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
      send(clients.back(), request.data(), request.size(), MSG_NOSIGNAL);
    }
    for (const int fd : clients) close(fd);
    const bool is_empty = WaitUntil([&] { return MebibytesOf(process) < before + 40; });
    const size_t during = MebibytesOf(process, "VmHWM:");
    EXPECT_LT(during, before + 100) << token << ": " << before << " to " << during << " MiB";
    EXPECT_TRUE(is_empty) << token << ": " << before << " to " << MebibytesOf(process) << " MiB";
    std::printf("%s: %zu MiB before, %zu during, %zu after\n", token.c_str(), before, during,
                MebibytesOf(process));
  }
}

}  // namespace
}  // namespace locus
