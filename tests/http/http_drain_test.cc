// SPDX-License-Identifier: Apache-2.0
// The server of HTTP ends while clients ask.
#include <sys/socket.h>

#include <future>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/http/connection.h"
#include "src/http/server.h"
#include "tests/http/loopback_client.h"
#include "tests/support/private_server.h"

namespace locus::http {
namespace {

// A connection on which this was sent.
int SendTo(const Server& server, const std::string& bytes) {
  const int fd = ConnectToLoopback(server.port());
  EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  return fd;
}

class HttpDrainTest : public ::testing::Test {
 protected:
  void Start(Server::Handler handler) {
    auto server = Server::Start({}, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<HttpConnection> Connect() { return ConnectTo(*server_); }

  std::unique_ptr<Server> server_;
};

TEST_F(HttpDrainTest, Drain_WaitsForAnswersUnderWay_AndTakesNothingNew) {
  std::promise<Server::Respond> asked;
  Start([&asked](const ServerRequest&, Server::Respond respond) {
    asked.set_value(std::move(respond));
  });
  auto silent = Connect();
  auto connection = Connect();
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  Server::Respond respond = asked.get_future().get();
  std::thread drain([this] { server_->Drain(absl::Seconds(60)); });
  EXPECT_TRUE(WaitUntil([&] { return !Listens(server_->port()); }));
  EXPECT_TRUE(WaitUntil([&] { return !silent->StillOpen(); }));
  respond({200, {}, "late"});
  auto head = connection->ReadHead(Soon());
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->Header("Connection"), "close");
  EXPECT_EQ(*connection->ReadBody(100, Soon()), "late");
  drain.join();
}

// A proxy that sent a POST, and got no answer, may not send it to another server.
TEST_F(HttpDrainTest, RequestsThatCameBeforeADrain_AreAnswered) {
  const std::string post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n";
  std::promise<void> blocks, released;
  Start([&](ServerRequest request, const Server::Respond& respond) {
    if (request.path == "/block") {  // the only thread: nothing is read, nothing is accepted
      blocks.set_value();
      released.get_future().wait();
    }
    respond({200, {}, request.method + " " + request.body});
  });
  auto kept = Connect();
  ASSERT_TRUE(kept->Send({"GET", "/", {}, ""}, 100, Soon()).ok());
  const int half = SendTo(*server_, post + "o");
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 2; }));
  auto first = Connect();
  ASSERT_TRUE(first->Begin({"GET", "/block", {}, ""}, Soon()).ok());
  blocks.get_future().wait();
  ASSERT_TRUE(kept->Begin({"POST", "/", {}, "kept"}, Soon()).ok());
  const int queued = SendTo(*server_, post + "ok");
  server_->CloseAfterAnswers();
  std::thread drain([this] { server_->Drain(absl::Seconds(60)); });
  released.set_value();
  EXPECT_TRUE(WaitUntil([&] { return !Listens(server_->port()); }));
  EXPECT_EQ(send(half, "k", 1, MSG_NOSIGNAL), 1);
  for (HttpConnection* connection : {first.get(), kept.get()}) {
    auto head = connection->ReadHead(Soon());
    ASSERT_TRUE(head.ok()) << head.status();
    EXPECT_EQ(head->Header("Connection"), "close");
  }
  for (const int fd : {half, queued}) {
    EXPECT_THAT(ReadUntilClosed(fd), ::testing::EndsWith("\r\n\r\nPOST ok"));
  }
  drain.join();
}

TEST_F(HttpDrainTest, ServerThatEnds_TakesAnswersThatComeLater) {
  std::promise<Server::Respond> asked;
  Start([&asked](const ServerRequest&, Server::Respond respond) {
    asked.set_value(std::move(respond));
  });
  auto connection = Connect();
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  Server::Respond respond = asked.get_future().get();
  server_.reset();
  respond({200, {}, "too late"});
  EXPECT_FALSE(connection->ReadHead(Soon()).ok());
}

}  // namespace
}  // namespace locus::http
