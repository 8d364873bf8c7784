// SPDX-License-Identifier: Apache-2.0
// Bytes that two servers could read as different requests, sent to a real one by a socket that
// counts the answers.
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/http/server.h"
#include "tests/http/loopback_client.h"
#include "tests/support/private_server.h"

namespace locus::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpSmugglingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = Server::Start({}, [](const ServerRequest& request, const Server::Respond& take) {
      take({200, {}, absl::StrCat("<", request.method, " ", request.path, " ", request.body, ">")});
    });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // All that is answered until the server closes the connection, or, if `ends`, to these bytes.
  std::string Answers(const std::string& bytes, size_t piece = std::string::npos,
                      bool ends = false) {
    const int fd = ConnectToLoopback(server_->port());
    for (size_t at = 0; at < bytes.size(); at += std::min(piece, bytes.size())) {
      const std::string part = bytes.substr(at, piece);
      if (send(fd, part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
    }
    if (ends) shutdown(fd, SHUT_WR);
    return ReadUntilClosed(fd);
  }
  static size_t Count(const std::string& text, const std::string& what) {
    size_t count = 0;
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
    return count;
  }
  // Nothing of it, nor of what follows, reaches the handler.
  void ExpectRefused(const std::string& bytes, const std::string& status = "400") {
    const uint64_t before = server_->stats().requests;
    const std::string answers =
        Answers(bytes + "GET /canary HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(answers, StartsWith(absl::StrCat("HTTP/1.1 ", status, " "))) << bytes;
    EXPECT_THAT(answers, HasSubstr("application/problem+json")) << bytes;
    EXPECT_THAT(answers, HasSubstr("Connection: close")) << bytes;
    EXPECT_EQ(Count(answers, "HTTP/1.1 "), 1u) << bytes << "\n" << answers;
    EXPECT_TRUE(nlohmann::json::accept(answers.substr(answers.find("\r\n\r\n") + 4))) << answers;
    EXPECT_EQ(server_->stats().requests, before) << bytes;
  }

  std::unique_ptr<Server> server_;
};

TEST_F(HttpSmugglingTest, PathsWithOtherCharacters_AreRefusedByAValidProblem) {
  for (const char* path : {"/a;x", "/a%5Cb", "/a%00", "/a\\b"}) {
    ExpectRefused(absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: x\r\n\r\n"));
  }
}

TEST_F(HttpSmugglingTest, RequestsWithTwoEnds_AreRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\n";
  ExpectRefused(head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  ExpectRefused(head + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n");
  ExpectRefused(head + "Content-Length: 0\r\nContent-Length: 44\r\n\r\n");
  ExpectRefused(head + "Content-Length: 0, 44\r\n\r\n");
  ExpectRefused(head + "Content-Length : 44\r\n\r\n");
  ExpectRefused(head + "Transfer-Encoding: x\r\n chunked\r\n\r\n0\r\n\r\n");
  ExpectRefused(head +
                "Transfer-Encoding:\x0b"
                "chunked\r\n\r\n0\r\n\r\n");
  ExpectRefused(head + "Transfer-Encoding: chunked\nContent-Length: 5\r\n\r\n0\r\n\r\n");
  ExpectRefused(head + "X: y\rTransfer-Encoding: chunked\r\n\r\n");
  ExpectRefused("GET /\r\n\r\n");
  ExpectRefused("GET http:/// HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectRefused("GET http://user@other/ HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectRefused("GET ftp://other/ HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectRefused("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectRefused("CONNECT other:80 HTTP/1.1\r\nHost: x\r\n\r\n");
  ExpectRefused("GET /static/..%2f..%2fetc/passwd HTTP/1.1\r\nHost: x\r\n\r\n");
}

TEST_F(HttpSmugglingTest, ChunksThatAreNone_AreRefused) {
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char* const body :
       {"x\r\n", "-1\r\na\r\n", "+1\r\na\r\n", "0x1\r\na\r\n", " 1\r\na\r\n", "\r\n1\r\na\r\n",
        "1\na\r\n0\r\n\r\n", "1\r\nab0\r\n\r\n", "1\r\na0\r\n\r\n", "1;\x01\r\na\r\n0\r\n\r\n",
        "1 x\r\na\r\n0\r\n\r\n", "1\r\na\n0\r\n\r\n", "10000000000000001\r\na\r\n", "g\r\n",
        "0\r\n x: y\r\n\r\n", "0\r\nx\r\n\r\n", "0\r\nx y: z\r\n\r\n"}) {
    ExpectRefused(head + body);
  }
  ExpectRefused(head + "fffffffffffffff\r\na\r\n", "413");
}

// Bytes after the body are taken neither for a field of the request nor for its end.
TEST_F(HttpSmugglingTest, Trailers_ChangeNothing) {
  const std::string answers = Answers(
      "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;a=b;c=\"d\"\r\nabc\r\n0\r\nHost: y\r\nX: z\r\n\r\n"
      "GET /2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(Count(answers, "HTTP/1.1 200 "), 2u) << answers;
  EXPECT_THAT(answers, HasSubstr("<POST /1 abc>"));
  EXPECT_THAT(answers, HasSubstr("<GET /2 >"));
  const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  ExpectRefused(head + "0\r\nContent-Length: 40\r\n\r\n");
  ExpectRefused(head + "0\r\nTransfer-Encoding: gzip\r\n\r\n");
}

TEST_F(HttpSmugglingTest, RequestsInAnyPieces_AreTheSame) {
  std::string bytes, expected;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&bytes, "POST /", i, " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab", i,
                    "PUT /", i,
                    " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nGE\r\n",
                    "1;x\r\nT\r\n0\r\nA: b\r\n\r\nGET /", i, " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  const std::string whole = Answers(bytes, std::string::npos, /*ends=*/true);
  EXPECT_EQ(Count(whole, "HTTP/1.1 200 OK"), 24u) << whole;
  for (const size_t piece : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    EXPECT_EQ(Answers(bytes, piece, /*ends=*/true), whole) << piece;
  }
}

// More requests than any buffer holds, in one stream, by a client that reads later.
TEST_F(HttpSmugglingTest, FloodOfRequests_IsAnsweredOneByOneInOrder) {
  constexpr int kRequests = 20'000;
  const int fd = ConnectToLoopback(server_->port());
  std::thread sender([fd] {
    std::string bytes;
    for (int i = 0; i < kRequests; ++i) {
      absl::StrAppend(&bytes, "GET /", i, " HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t sent = send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
      if (sent < 0) break;
      at += static_cast<size_t>(sent);
    }
    shutdown(fd, SHUT_WR);
  });
  std::string all;
  std::vector<char> part(1 << 20);
  for (ssize_t size; (size = read(fd, part.data(), part.size())) > 0;) {
    all.append(part.data(), static_cast<size_t>(size));
  }
  sender.join();
  close(fd);
  size_t at = 0;
  for (int i = 0; i < kRequests; ++i) {
    at = all.find(absl::StrCat("<GET /", i, " >"), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_EQ(Count(all, "HTTP/1.1 200 OK"), static_cast<size_t>(kRequests));
}

TEST_F(HttpSmugglingTest, ClientThatExpectsSomethingElse_IsRefused) {
  ExpectRefused("POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-ok\r\nContent-Length: 2\r\n\r\n", "417");
  // Too long a body is refused before it is sent.
  ExpectRefused(absl::StrCat("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n",
                             "Content-Length: 99999999\r\n\r\n"),
                "413");
}

}  // namespace
}  // namespace locus::http
