// SPDX-License-Identifier: Apache-2.0
// A server whose process has no descriptors left. Not under a sanitizer: UBSan checks objects
// through a pipe, and reports an object as wrong if it gets none.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "src/base/run/mutex.h"
#include "src/http/server.h"
#include "tests/support/private_server.h"

namespace locus::http {
namespace {

TEST(HttpDescriptorsTest, WithoutDescriptors_ItSaysSo) {
  internal::Mutex mutex;
  std::string told;
  ServerOptions options;
  options.on_accept_failure = [&](const std::string& why) {
    internal::MutexLock lock(mutex);
    told = why;
  };
  auto server = Server::Start(
      options, [](ServerRequest, const Server::Respond& respond) { respond(ServerAnswer()); });
  ASSERT_TRUE(server.ok()) << server.status();
  const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons((*server)->port());
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  EXPECT_EQ(connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  EXPECT_TRUE(WaitUntil([&] {
    internal::MutexLock lock(mutex);
    return told == "Too many open files";
  }));
  setrlimit(RLIMIT_NOFILE, &before);
  close(client);
}

}  // namespace
}  // namespace locus::http
