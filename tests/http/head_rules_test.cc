// SPDX-License-Identifier: Apache-2.0
#include "src/http/head_rules.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace locus::http {
namespace {

// The flaw of the bytes as the head of a request; "more": they have no end yet.
std::string Flaw(const std::string& bytes) {
  const HeadScan scan = ScanHead(bytes, 0);
  if (!scan.flaw.empty()) return std::string(scan.flaw);
  if (scan.size == 0) return "more";
  return std::string(FlawOfHead(std::string_view(bytes).substr(0, scan.size)));
}
std::string FlawOfFields(const std::string& fields, const std::string& version = "HTTP/1.1") {
  return Flaw(absl::StrCat("POST / ", version, "\r\n", fields, "\r\n"));
}

TEST(HeadRulesTest, PlainRequests_AreTaken) {
  EXPECT_EQ(Flaw("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "");
  EXPECT_EQ(Flaw("GET / HTTP/1.0\r\n\r\n"), "");
  EXPECT_EQ(Flaw("OPTIONS * HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), "");
  EXPECT_EQ(FlawOfFields("host:x\r\nContent-Length: 5\r\nX: a\tb \xc3\xa9\r\nX:\r\n"), "");
  EXPECT_EQ(FlawOfFields("Host: x\r\nTransfer-Encoding: \t Chunked \r\n"), "");
}

TEST(HeadRulesTest, End_IsFoundHoweverTheBytesCome) {
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string bytes = head + "GET /2 HTTP/1.1\r\n";
  for (size_t first = 0; first <= bytes.size(); ++first) {
    const HeadScan before = ScanHead(std::string_view(bytes).substr(0, first), 0);
    EXPECT_EQ(before.size, first < head.size() ? 0 : head.size()) << first;
    EXPECT_EQ(before.flaw, "") << first;
    if (first < head.size()) {
      EXPECT_EQ(ScanHead(bytes, first).size, head.size()) << first;
    }
  }
}

TEST(HeadRulesTest, LinesThatEndOtherwise_AreRefused) {
  for (const char* const bytes :
       {"GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\r\nHost: x\n\r\n", "\n", "\r\n", "\r\r",
        "GET / HTTP/1.1\r\nHost: x\r\r\n", "GET / HTTP/1.1\rHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n", "\x16\x03\x01", "GET \x7f"}) {
    EXPECT_NE(Flaw(bytes), "") << bytes;
    EXPECT_NE(Flaw(bytes), "more") << bytes;
  }
  using namespace std::string_literals;
  EXPECT_NE(Flaw("GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"s), "");
}

TEST(HeadRulesTest, RequestLines_HaveThreeWords) {
  for (const char* const line :
       {"GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET / x HTTP/1.1",
        "GET / HTTP/1.2", "GET / HTTP/2.0", "GET / http/1.1", "GET /HTTP/1.1", "G(T / HTTP/1.1",
        "GET /\tx HTTP/1.1", "GET\t/\tHTTP/1.1", "PRI * HTTP/2.0"}) {
    EXPECT_NE(Flaw(absl::StrCat(line, "\r\nHost: x\r\n\r\n")), "") << line;
  }
}

TEST(HeadRulesTest, FieldsThatTwoServersReadInTwoWays_AreRefused) {
  const std::string host = "Host: x\r\n";
  for (const char* const fields : {"Content-Length: 5\r\nContent-Length: 5\r\n",
                                   "Content-Length: 5\r\nContent-Length: 6\r\n",
                                   "Content-Length: 5, 5\r\n",
                                   "Content-Length: +5\r\n",
                                   "Content-Length: -0\r\n",
                                   "Content-Length: 0x5\r\n",
                                   "Content-Length: 5 5\r\n",
                                   "Content-Length:\r\n",
                                   "Content-Length : 5\r\n",
                                   "Content-Length\t: 5\r\n",
                                   "Content-Length\r\n",
                                   " Content-Length: 5\r\n",
                                   "Content\\Length: 5\r\n",
                                   ": 5\r\n",
                                   "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                                   "Content-Length: 5\r\ntransfer-encoding: chunked\r\n",
                                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding: identity\r\n",
                                   "Transfer-Encoding: gzip, chunked\r\n",
                                   "Transfer-Encoding: chunked, identity\r\n",
                                   "Transfer-Encoding: xchunked\r\n",
                                   "Transfer-Encoding: \"chunked\"\r\n",
                                   "Transfer-Encoding: chunked;x\r\n",
                                   "Transfer-Encoding: ,chunked\r\n",
                                   "Transfer-Encoding : chunked\r\n",
                                   "Transfer-Encoding:\r\n",
                                   "Host: x\r\n",
                                   "Host: y\r\n"}) {
    EXPECT_NE(FlawOfFields(host + fields), "") << fields;
    EXPECT_NE(FlawOfFields(host + fields), "more") << fields;
  }
  EXPECT_NE(FlawOfFields(""), "");
  EXPECT_NE(FlawOfFields("Host: x\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.0"), "");
  for (const char* const name : {"x y", "x,y", "x/y", "user@x", "x\\y", "http://x"}) {
    EXPECT_NE(FlawOfFields(absl::StrCat("Host: ", name, "\r\n")), "") << name;
  }
}

TEST(HeadRulesTest, Targets_ArePathsThatMeanOneThing) {
  for (const char* const good :
       {"/", "/v1/orders/ids", "/v1/order_no:decode", "/v1/sequences/b%2Fc/next", "/a?b=//../;",
        "/v1/spaces/a.b", "/...", "/a/..b", "/x?%00", "/x?a={b}|c", "/a/", "http://x/",
        "HTTPS://x:80/a?b", "http://x", "http://[::1]:7070?a"}) {
    EXPECT_EQ(FlawOfTarget("GET", good), "") << good;
  }
  for (const char* const bad : {"",
                                "*",
                                "x",
                                "http://",
                                "http:///a",
                                "http://x/../b",
                                "http://a@b/",
                                "http://x#a",
                                "http://x?a#b",
                                "ftp://x/",
                                "http://x/a//b",
                                "http:/x",
                                "x:80",
                                "//",
                                "//x",
                                "/a//b",
                                "/.",
                                "/..",
                                "/a/../b",
                                "/a/./b",
                                "/%2e",
                                "/%2E%2e/b",
                                "/.%2e/b",
                                "/a/%2e%2E",
                                "/a/..%2fb",
                                "/a%2f..%2fb",
                                "/%00",
                                "/a%0d%0ab",
                                "/a;b",
                                "/a;/../b",
                                "/a\\..\\b",
                                "/a%5cb",
                                "/%",
                                "/%4",
                                "/%zz",
                                "/a#b",
                                "/a?b#c",
                                "/\xc3\xa9",
                                "/a%7f"}) {
    EXPECT_NE(FlawOfTarget("GET", bad), "") << bad;
  }
  EXPECT_EQ(FlawOfTarget("OPTIONS", "*"), "");
}

}  // namespace
}  // namespace locus::http
