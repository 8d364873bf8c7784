// SPDX-License-Identifier: Apache-2.0
// The server of HTTP, by the client of HTTP and by bytes that no client sends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
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

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Answers with what it was asked.
void Echo(ServerRequest request, const Server::Respond& respond) {
  ServerAnswer answer;
  answer.headers.emplace_back("X-Path", request.path);
  answer.headers.emplace_back("X-Query", request.query);
  answer.headers.emplace_back("X-Token", std::string(request.Header("authorization")));
  answer.body = request.method + " " + request.body;
  respond(std::move(answer));
}

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(Server::Handler handler = Echo) {
    auto server = Server::Start(options_, std::move(handler));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::unique_ptr<HttpConnection> Connect(const TlsContext* tls = nullptr) {
    return ConnectTo(*server_, tls);
  }
  // All bytes until the server closes the connection.
  std::string Raw(const std::string& bytes) {
    const int fd = ConnectToLoopback(server_->port());
    EXPECT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return ReadUntilClosed(fd);
  }
  // Sends `head`, then `more` again and again. Returns how much the server and the kernel took
  // before the connection was closed, or `most` or a minute were reached.
  static constexpr size_t kEnoughBytes = size_t{256} << 20;
  size_t SendUntilClosed(const std::string& head, const std::string& more,
                         size_t most = kEnoughBytes) {
    const int fd = ConnectToLoopback(server_->port());
    const TimePoint end = Soon();
    size_t sent = 0;
    const std::string* next = &head;
    while (sent < most && std::chrono::steady_clock::now() < end) {
      const ssize_t size = send(fd, next->data(), next->size(), MSG_NOSIGNAL);
      if (size < 0) break;
      sent += static_cast<size_t>(size);
      next = &more;
    }
    close(fd);
    EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 0; }));
    return sent;
  }

  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(HttpServerTest, Request_ReachesTheHandlerWhole_OnAConnectionThatStays) {
  Start();
  auto connection = Connect();
  for (int i = 0; i < 3; ++i) {
    auto answer = connection->Send(
        {"PUT", "/v1/x%20y?a=b&c=d", {{"Authorization", "Bearer t"}}, "the body"}, 1000, Soon());
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 200u);
    EXPECT_EQ(answer->body, "PUT the body");
    EXPECT_EQ(answer->Header("X-Path"), "/v1/x%20y");
    EXPECT_EQ(answer->Header("X-Query"), "a=b&c=d");
    EXPECT_EQ(answer->Header("X-Token"), "Bearer t");
    EXPECT_TRUE(connection->StillOpen());
  }
  EXPECT_EQ(server_->stats().requests, 3u);
  EXPECT_EQ(server_->stats().connections, 1u);
}

TEST_F(HttpServerTest, AnswerFromAnotherThread_AndLate_IsSent) {
  std::thread thread;
  Start([&thread](ServerRequest request, Server::Respond respond) {
    thread = std::thread(
        [request = std::move(request), respond = std::move(respond)] { Echo(request, respond); });
  });
  auto answer = Connect()->Send({"GET", "/", {}, ""}, 1000, Soon());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "GET ");
  thread.join();
}

TEST_F(HttpServerTest, RespondThatIsDropped_IsAnsweredWith500) {
  Start([](const ServerRequest&, const Server::Respond&) {});
  auto answer = Connect()->Send({"GET", "/", {}, ""}, 1000, Soon());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 500u);
}

TEST_F(HttpServerTest, BeyondALimit_IsRefusedAndTheConnectionClosed) {
  options_.most_body_bytes = 100;
  options_.most_header_bytes = 1000;
  Start();
  EXPECT_THAT(Raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_THAT(Raw("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(2000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(Raw("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n80\r\n" +
                  std::string(128, 'x') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413 "));
  EXPECT_EQ(server_->stats().requests, 0u);
  EXPECT_EQ(server_->stats().bad_requests, 3u);
}

// RFC 9112, sections 3.2.2 and 2.2.
TEST_F(HttpServerTest, AbsoluteFormAndAnEmptyLineBefore_AreTaken) {
  Start([](const ServerRequest& request, const Server::Respond& respond) {
    respond({200,
             {},
             absl::StrCat("<", std::string(request.Header("Host")), " ", request.path, " ",
                          request.query, ">")});
  });
  const std::string rest = " HTTP/1.1\r\nHost: other\r\n";
  const std::string close = "Connection: close\r\n\r\n";
  EXPECT_THAT(Raw("GET http://Shop:80/a?b" + rest + close), HasSubstr("<Shop:80 /a b>"));
  EXPECT_THAT(Raw("GET http://shop" + rest + close), HasSubstr("<shop / >"));
  EXPECT_THAT(Raw("GET http://shop?b" + rest + close), HasSubstr("<shop / b>"));
  const std::string two =
      Raw("POST /1" + rest + "Content-Length: 1\r\n\r\nx\r\nGET /2" + rest + close);
  EXPECT_THAT(two, HasSubstr("<other /1 >"));
  EXPECT_THAT(two, HasSubstr("<other /2 >"));
}

TEST_F(HttpServerTest, EachAnswer_HasADate) {
  Start();
  const std::string answer = Raw("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const size_t at = answer.find("Date: ");
  ASSERT_NE(at, answer.npos) << answer;
  absl::Time date;
  std::string error;
  EXPECT_TRUE(absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT",
                              answer.substr(at + 6, answer.find("\r\n", at) - at - 6), &date,
                              &error))
      << answer << error;
  EXPECT_LT(absl::AbsDuration(absl::Now() - date), absl::Minutes(1));
  EXPECT_THAT(Raw("hello\r\n\r\n"), HasSubstr("\r\nDate: "));
}

TEST_F(HttpServerTest, CloseAfterAnswers_AnswersOnceMoreOnEachConnection) {
  Start();
  auto old = Connect();
  ASSERT_TRUE(old->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
  server_->CloseAfterAnswers();
  auto fresh = Connect();
  for (HttpConnection* const connection : {old.get(), fresh.get()}) {
    const auto answer = connection->Send({"GET", "/", {}, ""}, 1000, Soon());
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->status, 200u);
    EXPECT_EQ(answer->Header("Connection"), "close");
  }
}

TEST_F(HttpServerTest, BytesThatAreNoHttp_AreRefused) {
  Start();
  for (const char* bytes : {"hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
                            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n"}) {
    EXPECT_THAT(Raw(bytes), StartsWith("HTTP/1.1 400 ")) << bytes;
  }
  EXPECT_EQ(server_->stats().requests, 0u);
}

TEST_F(HttpServerTest, RequestsInOnePiece_AreAnsweredInOrder) {
  Start();
  const std::string answers = Raw(
      "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"
      "HEAD /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const size_t first = answers.find("X-Path: /1"), second = answers.find("X-Path: /2"),
               third = answers.find("X-Path: /3");
  ASSERT_NE(third, std::string::npos) << answers;
  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
  EXPECT_THAT(answers.substr(third), ::testing::Not(HasSubstr("HEAD ")));
}

TEST_F(HttpServerTest, ClientThatExpectsContinue_GetsIt) {
  Start();
  EXPECT_THAT(Raw("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n"
                  "Content-Length: 2\r\n\r\nab"),
              StartsWith("HTTP/1.1 100 "));
}

// A request that never ends, and a client that says nothing.
TEST_F(HttpServerTest, SlowAndSilentClients_LoseTheirConnection) {
  options_.request_timeout = absl::Milliseconds(200);
  options_.idle_timeout = absl::Milliseconds(200);
  Start();
  EXPECT_THAT(Raw("GET / HTTP/1.1\r\nHost:"), StartsWith("HTTP/1.1 408 "));
  EXPECT_THAT(Raw("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"),
              StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(Raw(""), "");
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 0; }));
}

// The bytes before and after the data of a chunk, which no length announces.
TEST_F(HttpServerTest, ChunkExtensionsAndTrailersWithoutEnd_EndWithTheBuffer) {
  Start();
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  uint64_t bad = 0;
  for (const auto& [begin, more] :
       {std::pair<std::string, std::string>{"1;", std::string(16'000, 'e')},
        {"0\r\n", std::string(16'000, 'A') + ": b\r\n"},
        {"2\r\nab\r\n0;e\r\n", "A: b\r\n"}}) {
    EXPECT_LT(SendUntilClosed(head + begin, more), kEnoughBytes) << begin;
    EXPECT_EQ(server_->stats().bad_requests, ++bad) << begin;
  }
  EXPECT_THAT(Raw(head + "1;e=f\r\na\r\n0;g\r\nA: b\r\n\r\n" +
                  "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              HasSubstr("POST a"))
      << "short ones are read";
  EXPECT_EQ(server_->stats().requests, 2u);
}

TEST_F(HttpServerTest, RequestWithoutEnd_HasItsDeadline) {
  options_.request_timeout = absl::Milliseconds(300);
  options_.most_body_bytes = size_t{1} << 40;
  Start();
  const auto begun = std::chrono::steady_clock::now();
  SendUntilClosed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
                  "1;e=" + std::string(4000, 'f') + "\r\na\r\n", SIZE_MAX);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(60));
  EXPECT_EQ(server_->stats().bad_requests, 1u);
  EXPECT_EQ(server_->stats().requests, 0u);
}

// A server in front of this one may see another end of the request.
TEST_F(HttpServerTest, RequestThatCanBeReadInTwoWays_IsRefusedAndTheConnectionClosed) {
  Start();
  for (const char* headers :
       {"Host: x\r\nTransfer-Encoding: gzip\r\n", "Host: x\r\nTransfer-Encoding: xchunked\r\n",
        "Host: x\r\nTransfer-Encoding: chunked, identity\r\n",
        "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n", "Host: x\r\nTransfer-Encoding:\r\n", "",
        "Host: x\r\nHost: y\r\n"}) {
    const std::string answer = Raw(absl::StrCat("GET / HTTP/1.1\r\n", headers,
                                                "\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 400 ")) << headers;
    EXPECT_THAT(answer, HasSubstr("Connection: close")) << headers;
  }
  EXPECT_EQ(server_->stats().requests, 0u);
  EXPECT_THAT(Raw("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n"
                  "Connection: close\r\n\r\n1\r\na\r\n0\r\n\r\n"),
              HasSubstr("POST a"));
  EXPECT_THAT(Raw("GET / HTTP/1.0\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
}

TEST_F(HttpServerTest, ConnectionsBeyondTheMost_AreClosed) {
  options_.most_connections = 2;
  Start();
  auto first = Connect(), second = Connect();
  ASSERT_TRUE(first->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
  ASSERT_TRUE(second->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
  EXPECT_EQ(ReadUntilClosed(ConnectToLoopback(server_->port())), "");
  EXPECT_EQ(server_->stats().refused, 1u);
  first.reset();
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 1; }));
  EXPECT_TRUE(Connect()->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
}

TEST_F(HttpServerTest, ConnectionsOfOneAddress_LeavePlacesToOthers) {
  options_.most_connections_per_address = 1;
  Start();
  auto first = Connect();
  ASSERT_TRUE(first->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
  EXPECT_EQ(ReadUntilClosed(ConnectToLoopback(server_->port())), "");
  EXPECT_EQ(server_->stats().refused, 1u);
  // The same machine by another address.
  const int other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in from = {}, to = {};
  from.sin_family = to.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  to.sin_port = htons(server_->port());
  ASSERT_EQ(bind(other, reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  ASSERT_EQ(connect(other, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  const std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  ASSERT_EQ(write(other, request.data(), request.size()), static_cast<ssize_t>(request.size()));
  EXPECT_THAT(ReadUntilClosed(other), StartsWith("HTTP/1.1 200 "));
  first.reset();
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().connections == 0; }));
  EXPECT_TRUE(Connect()->Send({"GET", "/", {}, ""}, 1000, Soon()).ok());
}

TEST_F(HttpServerTest, ClientThatSpeaksTlsToPlainText_GetsTheReason) {
  Start();
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  auto tls = TlsContext::Load({authority.file(), "", ""});
  ASSERT_TRUE(tls.ok()) << tls.status();
  const auto endpoint = Endpoint::Parse(absl::StrCat("127.0.0.1:", server_->port()));
  const auto connection = HttpConnection::Connect(*endpoint, tls->get(), Soon());
  EXPECT_EQ(connection.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(connection.status().message(), HasSubstr("plain text at this port"));
}

TEST_F(HttpServerTest, Tls_IsSpokenWithItsCertificate_AndPlainTextIsNot) {
  TemporaryDirectory directory;
  Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto of_server = TlsContext::Load({authority.file(), certificate, certificate + ".key"});
  ASSERT_TRUE(of_server.ok()) << of_server.status();
  auto of_client = TlsContext::Load({authority.file(), "", ""});
  ASSERT_TRUE(of_client.ok()) << of_client.status();
  options_.tls = of_server->get();
  Start();
  auto connection = Connect(of_client->get());
  for (int i = 0; i < 3; ++i) {
    auto answer = connection->Send({"POST", "/", {}, "secret"}, 1000, Soon());
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->body, "POST secret");
  }
  EXPECT_THAT(Raw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ::testing::Not(HasSubstr("HTTP/1.1 200")));
  const absl::Status plain = Connect()->Send({"POST", "/", {}, "secret"}, 1000, Soon()).status();
  EXPECT_EQ(plain.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(plain.message(), HasSubstr("if this port speaks TLS, enable TLS"));
}

TEST_F(HttpServerTest, FailedHandshakes_AreReportedSeldomWithAddressAndReason) {
  TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  const Authority stranger(directory, "stranger");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto of_server = TlsContext::Load({authority.file(), certificate, certificate + ".key"});
  auto distrusts = TlsContext::Load({stranger.file(), "", ""});
  ASSERT_TRUE(of_server.ok() && distrusts.ok());
  internal::Mutex mutex;
  std::vector<std::string> told;
  uint64_t failed = 0;  // reported, or counted by a later report
  options_.tls = of_server->get();
  options_.on_handshake_failure = [&](const std::string& peer, const std::string& why,
                                      uint64_t untold) {
    internal::MutexLock lock(mutex);
    told.push_back(absl::StrCat(peer, ": ", why));
    failed += 1 + untold;
  };
  Start();
  // A probe of a load balancer.
  close(ConnectToLoopback(server_->port()));
  EXPECT_TRUE(WaitUntil([&] { return server_->stats().bad_requests == 1; }));
  const std::string secret = "GET / HTTP/1.1\r\nAuthorization: Bearer hush\r\n\r\n";
  for (int i = 0; i < 50; ++i) Raw(secret);
  const auto endpoint = Endpoint::Parse(absl::StrCat("127.0.0.1:", server_->port()));
  EXPECT_TRUE(WaitUntil([&] {
    HttpConnection::Connect(*endpoint, distrusts->get(), Soon()).status().IgnoreError();
    internal::MutexLock lock(mutex);
    return told.size() >= 2;
  }));
  internal::MutexLock lock(mutex);
  EXPECT_EQ(told[0], "127.0.0.1: http request (SSL routines)");
  EXPECT_THAT(told[1], HasSubstr("unknown ca"));
  EXPECT_GE(failed, 51u);
}

TEST_F(HttpServerTest, TlsThatIsReplaced_IsThatOfTheNextHandshake) {
  TemporaryDirectory directory;
  const Authority old_authority(directory, "old");
  const Authority new_authority(directory, "new");
  const std::string old_one = old_authority.Sign("old_server.pem", "IP:127.0.0.1");
  const std::string new_one = new_authority.Sign("new_server.pem", "IP:127.0.0.1");
  auto trusts_old = TlsContext::Load({old_authority.file(), "", ""});
  auto trusts_new = TlsContext::Load({new_authority.file(), "", ""});
  ASSERT_TRUE(trusts_old.ok() && trusts_new.ok());
  auto first = TlsContext::Load({old_authority.file(), old_one, old_one + ".key"});
  auto second = TlsContext::Load({new_authority.file(), new_one, new_one + ".key"});
  ASSERT_TRUE(first.ok() && second.ok());
  options_.tls = first->get();
  Start();
  auto open = Connect(trusts_old->get());
  EXPECT_TRUE(open->Send({"POST", "/", {}, "1"}, 1000, Soon()).ok());
  server_->ReplaceTls(*std::move(second));
  EXPECT_TRUE(Connect(trusts_new->get())->Send({"POST", "/", {}, "2"}, 1000, Soon()).ok());
  const auto endpoint = Endpoint::Parse(absl::StrCat("127.0.0.1:", server_->port()));
  EXPECT_EQ(HttpConnection::Connect(*endpoint, trusts_old->get(), Soon()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(open->Send({"POST", "/", {}, "3"}, 1000, Soon()).ok()) << "it was open before";
}

TEST_F(HttpServerTest, ManyThreads_ShareAPort) {
  options_.threads = 3;
  Start();
  ServerOptions second = options_;
  second.listen = absl::StrCat("127.0.0.1:", server_->port());
  EXPECT_EQ(Server::Start(second, [](ServerRequest, Server::Respond) {}).status().code(),
            absl::StatusCode::kUnavailable)
      << "another server does not";
  std::vector<std::thread> clients;
  std::atomic<int> good = 0;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([this, &good] {
      auto connection = Connect();
      for (int round = 0; round < 50; ++round) {
        auto answer = connection->Send({"POST", "/", {}, "x"}, 1000, Soon());
        if (answer.ok() && answer->body == "POST x") ++good;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(good, 8 * 50);
}

TEST_F(HttpServerTest, Address_ThatIsNoneOrTaken_IsRefused) {
  Start();
  ServerOptions taken;
  taken.listen = absl::StrCat("127.0.0.1:", server_->port());
  EXPECT_EQ(Server::Start(taken, Echo).status().code(), absl::StatusCode::kUnavailable);
  taken.listen = "nowhere";
  EXPECT_EQ(Server::Start(taken, Echo).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace locus::http
