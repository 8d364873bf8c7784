// SPDX-License-Identifier: Apache-2.0
// The HTTP client, step by step, against a server that sends bytes of the test's choice.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "src/http/connection.h"
#include "tests/support/private_server.h"

namespace locus::http {
namespace {

TimePoint In(int ms) { return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms); }
constexpr int kLong = 60'000;
constexpr char kChunkedHead[] =
    "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n";

// One client; the kernel accepts it before Accept does.
class HttpConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LoopbackListener listener = ListenOnLoopback(1);
    listener_ = listener.fd;
    auto endpoint = Endpoint::Parse(absl::StrCat("127.0.0.1:", listener.port));
    auto connection = HttpConnection::Connect(*endpoint, nullptr, In(kLong));
    ASSERT_TRUE(connection.ok()) << connection.status();
    client_ = *std::move(connection);
    server_ = accept(listener_, nullptr, nullptr);
    ASSERT_GE(server_, 0);
  }
  void TearDown() override {
    client_.reset();
    Hang();
    close(listener_);
  }
  void Hang() {
    if (server_ >= 0) close(server_);
    server_ = -1;
  }
  // The bytes that the client has sent, up to `end`.
  std::string Received(const std::string& end) {
    std::string text;
    char byte;
    while (!absl::EndsWith(text, end) && recv(server_, &byte, 1, 0) == 1) text += byte;
    return text;
  }
  void Say(const std::string& text) {
    ASSERT_EQ(send(server_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  void SayChunk(const std::string& text) {
    Say(absl::StrCat(absl::Hex(text.size()), "\r\n", text, "\r\n"));
  }
  void BeginGet() { ASSERT_TRUE(client_->Begin({"GET", "/table", {}, ""}, In(kLong)).ok()); }

  int listener_ = -1;
  int server_ = -1;
  std::unique_ptr<HttpConnection> client_;
};

TEST_F(HttpConnectionTest, Request_HasItsHeadersAndTheAnswerIsWhole) {
  Say("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 99\r\n\r\n");
  auto answer = client_->Send({"GET", "/t?x=1", {{"If-None-Match", "\"a\""}}, ""}, 10, In(kLong));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 304u);
  EXPECT_EQ(answer->Header("etag"), "\"a\"");
  EXPECT_EQ(answer->Header("Date"), "");
  EXPECT_EQ(answer->body, "");
  std::string request = Received("\r\n\r\n");
  EXPECT_TRUE(absl::StartsWith(request, "GET /t?x=1 HTTP/1.1\r\n")) << request;
  EXPECT_TRUE(absl::StrContains(request, "Host: 127.0.0.1:")) << request;
  EXPECT_TRUE(absl::StrContains(request, "If-None-Match: \"a\"")) << request;
  EXPECT_TRUE(client_->StillOpen());
  Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  answer = client_->Send({"POST", "/", {}, "body"}, 2, In(kLong));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "ok");
  EXPECT_TRUE(absl::StrContains(Received("body"), "Content-Length: 4"));
}

TEST_F(HttpConnectionTest, BodyLongerThanAllowed_IsOutOfRange) {
  Say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n123");
  absl::Status status = client_->Send({"GET", "/", {}, ""}, 2, In(kLong)).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "3 bytes; at most 2")) << status;
  EXPECT_FALSE(client_->StillOpen());
}

TEST_F(HttpConnectionTest, ChunkedBodyLongerThanAllowed_IsOutOfRange) {
  Say(kChunkedHead);
  SayChunk("12");
  SayChunk("3");
  absl::Status status = client_->Send({"GET", "/", {}, ""}, 2, In(kLong)).status();
  EXPECT_TRUE(absl::IsOutOfRange(status)) << status;
}

TEST_F(HttpConnectionTest, InterimAnswers_ArePassedOver) {
  const std::string interim =
      "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n";
  Say(interim + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  auto answer = client_->Send({"GET", "/", {}, ""}, 2, In(kLong));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->status, 200u);
  EXPECT_EQ(answer->headers.size(), 1u);
  EXPECT_EQ(answer->body, "ok");
  EXPECT_TRUE(client_->StillOpen());
  // The answer itself comes later: what is asked next must not get it.
  BeginGet();
  Say(interim);
  EXPECT_TRUE(absl::IsDeadlineExceeded(client_->ReadHead(In(20)).status()));
  EXPECT_FALSE(client_->StillOpen());
  Say("HTTP/1.1 304 Not Modified\r\n\r\n");
  EXPECT_EQ(client_->ReadHead(In(kLong))->status, 304u);
  EXPECT_EQ(client_->ReadBody(0, In(kLong)).value(), "");
  EXPECT_TRUE(client_->StillOpen());
}

TEST_F(HttpConnectionTest, AnotherProtocol_IsNotSpokenOn) {
  Say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
  EXPECT_EQ(client_->Send({"GET", "/", {}, ""}, 2, In(kLong))->status, 101u);
  EXPECT_FALSE(client_->StillOpen());
}

// A server that wishes us ill.
TEST_F(HttpConnectionTest, ChunkThatNeverBegins_IsNotHeldInMemory) {
  for (const char* beginning : {"1;x=", "0\r\nTrailer: "}) {
    TearDown();
    SetUp();
    BeginGet();
    Say(std::string(kChunkedHead) + beginning);
    constexpr int kMost = 64;
    int said = 0;
    std::thread saying([&] {
      std::string text(1 << 20, 'x');
      while (said < kMost && send(server_, text.data(), text.size(), MSG_NOSIGNAL) > 0) ++said;
      Hang();
    });
    ASSERT_TRUE(client_->ReadHead(In(kLong)).ok());
    absl::Status status = client_->ReadBody(10, In(kLong)).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    saying.join();
    EXPECT_LT(said, kMost) << "all of it was taken";
  }
}

TEST_F(HttpConnectionTest, BodyInTheLeastPieces_EndsSoonAfterTheDeadline) {
  BeginGet();
  std::string pieces;
  for (int i = 0; i < 10'000; ++i) pieces += "1\r\nx\r\n";
  Say(kChunkedHead + pieces);
  ASSERT_TRUE(client_->ReadHead(In(kLong)).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(client_->ReadBody(1 << 20, In(0)).status()));
  EXPECT_LT(client_->ReadSome(In(kLong))->size(), 1000u);
}

TEST_F(HttpConnectionTest, AnswerInPieces_SurvivesDeadlinesAndInterrupts) {
  BeginGet();
  EXPECT_TRUE(absl::IsDeadlineExceeded(client_->ReadHead(In(0)).status()));
  std::string head = kChunkedHead;
  Say(head.substr(0, 25));
  EXPECT_TRUE(absl::IsDeadlineExceeded(client_->ReadHead(In(20)).status()));
  client_->Interrupt();
  EXPECT_TRUE(absl::IsCancelled(client_->ReadHead(In(kLong)).status()));
  Say(head.substr(25));
  auto answer = client_->ReadHead(In(kLong));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->Header("ETag"), "\"a\"");

  Say("9\r\none\ntw");  // a chunk that is not whole
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), "one");
  EXPECT_TRUE(absl::IsDeadlineExceeded(client_->ReadLine(100, In(20)).status()));
  client_->Interrupt();
  EXPECT_TRUE(absl::IsCancelled(client_->ReadLine(100, In(kLong)).status()));
  EXPECT_FALSE(client_->StillOpen()) << "the answer has not ended";
  Say("o\nt\r\n");
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), "two");
  SayChunk("hree\n\nlast");
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), "three");
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), "");
  Say("0\r\n\r\n");
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), "last");
  EXPECT_EQ(client_->ReadLine(100, In(kLong)).value(), std::nullopt);
  EXPECT_TRUE(client_->StillOpen());
}

TEST_F(HttpConnectionTest, WaitInAnotherThread_IsInterruptedAndCanContinue) {
  BeginGet();
  for (int i = 0; i < 100; ++i) {
    std::thread interrupting([&] { client_->Interrupt(); });
    EXPECT_TRUE(absl::IsCancelled(client_->ReadHead(In(kLong)).status()));
    interrupting.join();
  }
  Say(kChunkedHead);
  EXPECT_TRUE(client_->ReadHead(In(kLong)).ok());
  SayChunk("some");
  EXPECT_EQ(client_->ReadSome(In(kLong)).value(), "some");
}

TEST_F(HttpConnectionTest, Send_IsNotCutShortByInterrupt) {
  client_->Interrupt();
  Say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_TRUE(client_->Send({"GET", "/", {}, ""}, 2, In(kLong)).ok());
}

TEST_F(HttpConnectionTest, LineTooLong_IsOutOfRange) {
  BeginGet();
  Say(kChunkedHead);
  SayChunk(std::string(200, 'x'));
  ASSERT_TRUE(client_->ReadHead(In(kLong)).ok());
  EXPECT_TRUE(absl::IsOutOfRange(client_->ReadLine(100, In(kLong)).status()));
}

TEST_F(HttpConnectionTest, ConnectionClosedInTheBody_IsUnavailableEverAfter) {
  BeginGet();
  Say(kChunkedHead);
  SayChunk("half a line");
  ASSERT_TRUE(client_->ReadHead(In(kLong)).ok());
  Hang();
  for (int i = 0; i < 2; ++i) {
    absl::Status status = client_->ReadLine(100, In(kLong)).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
  EXPECT_FALSE(client_->StillOpen());
}

TEST_F(HttpConnectionTest, PlainTextThatGetsNoHttp_ErrorNamesTls) {
  const std::string alert("\x15\x03\x01\x00\x02\x02\x46", 7);
  for (const std::string& said : {std::string(), alert, alert + std::string(100, '\n')}) {
    TearDown();
    SetUp();
    BeginGet();
    Received("\r\n\r\n");
    Say(said);
    Hang();
    for (int i = 0; i < 2; ++i) {
      const absl::Status status = client_->ReadHead(In(kLong)).status();
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), "enable TLS")) << status;
    }
  }
}

TEST_F(HttpConnectionTest, ConnectionClosedAfterSomeHttp_ErrorDoesNotNameTls) {
  for (const char* said : {"", "HTTP/1.1 2", "HTTP/1.1 100 Continue\r\n\r\n"}) {
    TearDown();
    SetUp();
    if (*said == '\0') {  // the second answer is the one that is missing
      Say("HTTP/1.1 204 No Content\r\n\r\n");
      ASSERT_TRUE(client_->Send({"GET", "/", {}, ""}, 2, In(kLong)).ok());
      Received("\r\n\r\n");
    }
    BeginGet();
    Received("\r\n\r\n");
    Say(said);
    Hang();
    const absl::Status status = client_->ReadHead(In(kLong)).status();
    EXPECT_EQ(status, absl::UnavailableError("connection closed")) << said;
  }
}

TEST_F(HttpConnectionTest, SilentServer_IsUnavailableAtTheDeadline) {
  absl::Status status = client_->Send({"GET", "/", {}, ""}, 2, In(50)).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_FALSE(client_->StillOpen());
}

}  // namespace
}  // namespace locus::http
