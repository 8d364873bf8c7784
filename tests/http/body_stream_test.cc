// SPDX-License-Identifier: Apache-2.0
// Answers whose body is sent while it is made.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/base/run/mutex.h"
#include "src/http/connection.h"
#include "src/http/server.h"
#include "tests/http/loopback_client.h"
#include "tests/support/authority.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::http {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

BodyStream::Piece PieceOf(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class BodyStreamTest : public ::testing::Test {
 protected:
  void Start() {
    auto server = Server::Start(options_, [this](const ServerRequest&, const auto& respond) {
      auto stream = std::make_shared<BodyStream>(most_bytes_);
      {
        internal::MutexLock lock(mutex_);
        streams_.push_back(stream);
      }
      ServerAnswer answer;
      answer.headers.emplace_back("Content-Type", "text/event-stream");
      answer.stream = std::move(stream);
      respond(std::move(answer));
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<HttpConnection> Connect(const TlsContext* tls = nullptr) {
    return ConnectTo(*server_, tls);
  }
  std::shared_ptr<BodyStream> Stream(size_t i = 0) {
    EXPECT_TRUE(WaitUntil([&] {
      internal::MutexLock lock(mutex_);
      return streams_.size() > i;
    }));
    internal::MutexLock lock(mutex_);
    return streams_.at(i);
  }
  int Ask(const std::string& request) {
    const int fd = ConnectToLoopback(server_->port());
    EXPECT_EQ(send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return fd;
  }

  size_t most_bytes_ = 1 << 20;
  ServerOptions options_;
  internal::Mutex mutex_;
  std::vector<std::shared_ptr<BodyStream>> streams_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Server> server_;
};

TEST_F(BodyStreamTest, Pieces_ArriveAsTheyAreWritten_AndTheEndEndsTheBody) {
  Start();
  auto connection = Connect();
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  auto head = connection->ReadHead(Soon());
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->status, 200u);
  EXPECT_EQ(head->Header("Transfer-Encoding"), "chunked");
  EXPECT_EQ(head->Header("Content-Length"), "");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Stream()->Write(PieceOf(absl::StrCat("data: ", i, "\n"))));
    auto line = connection->ReadLine(1000, Soon());
    ASSERT_TRUE(line.ok() && *line) << line.status();
    EXPECT_EQ(**line, absl::StrCat("data: ", i));
  }
  Stream()->End();
  auto line = connection->ReadLine(1000, Soon());
  ASSERT_TRUE(line.ok()) << line.status();
  EXPECT_FALSE(line->has_value());
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 0; }));
  EXPECT_FALSE(Stream()->Write(PieceOf("more")));
}

TEST_F(BodyStreamTest, OverTls_AndFromManyThreads_NothingIsLost) {
  TemporaryDirectory directory;
  Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto of_server = TlsContext::Load({authority.file(), certificate, certificate + ".key"});
  auto of_client = TlsContext::Load({authority.file(), "", ""});
  ASSERT_TRUE(of_server.ok() && of_client.ok());
  options_.tls = of_server->get();
  Start();
  auto connection = Connect(of_client->get());
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  std::vector<std::thread> writers;
  const auto stream = Stream();
  const BodyStream::Piece piece = PieceOf(std::string(99, 'x') + "\n");
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int n = 0; n < 500; ++n) ASSERT_TRUE(stream->Write(piece));
    });
  }
  ASSERT_TRUE(connection->ReadHead(Soon()).ok());
  for (std::thread& writer : writers) writer.join();
  stream->End();
  auto body = connection->ReadBody(1 << 20, Soon());
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(body->size(), 4 * 500 * 100u);
}

TEST_F(BodyStreamTest, OldClientsAndHead_GetNoChunks) {
  Start();
  const int old = Ask("GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(Stream()->Write(PieceOf("data: 1\n")));
  Stream()->End();
  const std::string answer = ReadUntilClosed(old);
  EXPECT_THAT(answer, EndsWith("\r\n\r\ndata: 1\n"));
  EXPECT_THAT(answer, Not(HasSubstr("chunked")));
  const std::string head = ReadUntilClosed(Ask("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_TRUE(WaitUntil([&] { return Stream(1)->closed(); }));
}

TEST_F(BodyStreamTest, ReaderThatIsTooSlow_LosesTheStream_AndOthersKeepTheirs) {
  most_bytes_ = 64 << 10;
  options_.request_timeout = absl::Minutes(2);
  Start();
  const int slow = Ask("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto of_slow = Stream(0);
  auto connection = Connect();
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  const auto of_quick = Stream(1);
  ASSERT_TRUE(connection->ReadHead(Soon()).ok());
  const BodyStream::Piece piece = PieceOf(std::string(8191, 'x') + "\n");
  const TimePoint end = Soon();
  size_t written = 0;
  while (of_slow->Write(piece) && std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(of_quick->Write(piece));
    ASSERT_TRUE(connection->ReadLine(10'000, Soon()).ok());
    written += piece->size();
  }
  EXPECT_TRUE(of_slow->overrun());
  // Plus the content of the kernel's two buffers.
  EXPECT_LT(written, size_t{64} << 20);
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 1; }));
  EXPECT_THAT(ReadUntilClosed(slow), Not(EndsWith("0\r\n\r\n")));
  ASSERT_TRUE(of_quick->Write(PieceOf("last\n")));
  auto line = connection->ReadLine(10'000, Soon());
  ASSERT_TRUE(line.ok() && *line) << line.status();
  EXPECT_EQ(**line, "last");
}

TEST_F(BodyStreamTest, ClientThatIsGone_IsNoticedByTheNextPieces) {
  Start();
  close(Ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const auto stream = Stream();
  EXPECT_TRUE(WaitUntil([&] { return !stream->Write(PieceOf("data\n")); }));
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 0; }));
}

TEST_F(BodyStreamTest, Drain_EndsStreams_AfterTheWrittenPart) {
  Start();
  const int client = Ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = Stream();
  ASSERT_TRUE(stream->Write(PieceOf("data: last\n")));
  server_->Drain(absl::Seconds(60));
  EXPECT_TRUE(stream->closed());
  EXPECT_THAT(ReadUntilClosed(client), EndsWith("data: last\n\r\n0\r\n\r\n"));
}

TEST_F(BodyStreamTest, ServerThatIsGone_LeavesAStreamThatTakesNothing) {
  Start();
  const int client = Ask("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto stream = Stream();
  server_.reset();
  EXPECT_FALSE(stream->Write(PieceOf("data\n")));
  close(client);
}

// The sender waits for news, and finds that there was too much of it.
TEST_F(BodyStreamTest, OverrunInOneGo_ClosesTheConnection) {
  most_bytes_ = 10;
  auto server = Server::Start(options_, [this](const ServerRequest& request, const auto& respond) {
    ServerAnswer answer;
    internal::MutexLock lock(mutex_);
    if (request.path == "/overrun") {
      // By the server's own thread: it sends nothing meanwhile.
      for (int i = 0; i < 3; ++i) streams_.at(0)->Write(PieceOf("data: news\n"));
      EXPECT_TRUE(streams_.at(0)->overrun());
    } else {
      answer.stream = std::make_shared<BodyStream>(most_bytes_);
      answer.stream->Write(PieceOf("data: first\n"));
      streams_.push_back(answer.stream);
    }
    respond(std::move(answer));
  });
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  auto connection = Connect();
  ASSERT_TRUE(connection->Begin({"GET", "/", {}, ""}, Soon()).ok());
  ASSERT_TRUE(connection->ReadHead(Soon()).ok());
  ASSERT_EQ(*connection->ReadLine(100, Soon()), "data: first");
  ASSERT_TRUE(Connect()->Send({"GET", "/overrun", {}, ""}, 100, Soon()).ok());
  EXPECT_EQ(connection->ReadLine(100, Soon()).status().code(), absl::StatusCode::kUnavailable);
}

TEST(BodyStreamLimitTest, LargestPiece_DoesNotCount_TheOthersDo) {
  BodyStream stream(10);
  EXPECT_TRUE(stream.Write(PieceOf("12345")));
  EXPECT_TRUE(stream.Write(PieceOf(std::string(100, 'x'))));
  EXPECT_TRUE(stream.Write(PieceOf("67890")));
  EXPECT_FALSE(stream.Write(PieceOf("y")));
  EXPECT_TRUE(stream.overrun());
  EXPECT_TRUE(stream.Take().overrun);
}

}  // namespace
}  // namespace locus::http
