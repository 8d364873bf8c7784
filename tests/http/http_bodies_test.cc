// SPDX-License-Identifier: Apache-2.0
// Which bodies the HTTP server reads and keeps, and its answers to those it refuses.
#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/run/mutex.h"
#include "src/http/server.h"
#include "tests/http/loopback_client.h"
#include "tests/support/private_server.h"

namespace locus::http {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpBodiesTest : public ::testing::Test {
 protected:
  void Start(Server::Handler handler) {
    auto server = Server::Start(options_, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  // All bytes until the server closes the connection.
  std::string Raw(const std::string& bytes) {
    const int fd = ConnectToLoopback(server_->port());
    EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return ReadUntilClosed(fd);
  }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpBodiesTest, Refusals_AreReportedToTheirCallback) {
  options_.most_body_bytes = 100;
  options_.on_refusal = [](const std::string& peer, ServerAnswer& answer) {
    answer.headers.emplace_back("X-Refused", peer);
  };
  Start([](const ServerRequest&, const Server::Respond& respond) { respond({}); });
  for (const char* bytes : {"hello\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
                            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n"}) {
    EXPECT_THAT(Raw(bytes), HasSubstr("X-Refused: 127.0.0.1\r\n"));
  }
}

TEST_F(HttpBodiesTest, BodyThatIsNotWanted_IsNotAwaited) {
  options_.reads_body = [](const ServerRequest& request) { return request.path == "/wanted"; };
  Start([](const ServerRequest& request, const Server::Respond& respond) {
    respond({request.body_unread ? 401u : 200u, {}, request.body});
  });
  const std::string rest = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n";
  const std::string refused = Raw("POST /" + rest + "\r\n");
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(refused, HasSubstr("Connection: close"));
  EXPECT_THAT(Raw("POST /wanted" + rest + "Connection: close\r\n\r\nabc"),
              AllOf(StartsWith("HTTP/1.1 100 "), HasSubstr("HTTP/1.1 200 OK"), EndsWith("abc")));
}

TEST_F(HttpBodiesTest, BodiesBeyondTheirMemory_GetA503_AndSmallOnesAreServed) {
  options_.most_body_bytes = options_.most_bytes_of_bodies = 100'000;
  internal::Mutex mutex;
  std::vector<Server::Respond> kept;
  Start([&](const ServerRequest& request, Server::Respond respond) {
    if (request.path != "/kept") return respond({200, {}, "served"});
    internal::MutexLock lock(mutex);
    kept.push_back(std::move(respond));
  });
  auto post = [](const std::string& path, size_t size) {
    return absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n",
                        "Content-Length: ", size, "\r\n\r\n", std::string(size, 'x'));
  };
  const int fd = ConnectToLoopback(server_->port());
  const std::string large = post("/kept", 90'000);
  ASSERT_EQ(send(fd, large.data(), large.size(), MSG_NOSIGNAL), static_cast<ssize_t>(large.size()));
  ASSERT_TRUE(WaitUntil([&] {
    internal::MutexLock lock(mutex);
    return !kept.empty();
  }));
  EXPECT_THAT(Raw(post("/", 90'000)),
              AllOf(StartsWith("HTTP/1.1 503 "), HasSubstr("Retry-After: 1\r\n")));
  EXPECT_THAT(Raw(post("/", 4096)), HasSubstr("served"));
  kept.front()({200, {}, "late"});
  EXPECT_THAT(ReadUntilClosed(fd), HasSubstr("late"));
  EXPECT_THAT(Raw(post("/", 90'000)), HasSubstr("served")) << "the memory is given back";
}

}  // namespace
}  // namespace locus::http
