// SPDX-License-Identifier: Apache-2.0
// Routing tables read from servers that are no HTTP server, a broken one, or one that lies: every
// call ends in time, takes little memory, and says what is wrong.
#include <atomic>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/routing/engine/http.h"
#include "locus/routing/router.h"
#include "tests/source/table_place.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Of the head of a request; false: the client is gone.
bool Hear(LyingPeer& peer, std::string& request) {
  request.clear();
  while (request.find("\r\n\r\n") == std::string::npos) {
    std::string bytes = peer.Receive();
    if (bytes.empty()) return false;
    request += bytes;
  }
  return true;
}

std::string Answer(std::string_view headers, std::string_view body) {
  return absl::StrCat("HTTP/1.1 200 OK\r\n", std::string(headers), "Content-Length: ", body.size(),
                      "\r\n\r\n", std::string(body));
}

// Says the same to every request, then hangs up.
LyingServer::Serve Says(std::string bytes) {
  return [bytes = std::move(bytes)](LyingPeer& peer) {
    std::string request;
    if (Hear(peer, request)) peer.Send(bytes);
  };
}

HttpTableOptions OptionsOf(const LyingServer& server) {
  HttpTableOptions options;
  options.url = absl::StrCat("http://127.0.0.1:", server.port(), "/table");
  options.request_timeout = absl::Seconds(2);
  options.poll_every = absl::Milliseconds(10);
  return options;
}

// One question to a server, by a source of its own; fails the test unless it ends in time.
absl::StatusOr<std::optional<SourcedTable>> AskOnce(const LyingServer& server) {
  auto source = HttpTableSource::Open(OptionsOf(server)).value();
  const absl::Time start = absl::Now();
  auto news = source->Next("", std::chrono::steady_clock::now());
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
  return news;
}

void ExpectRefused(const LyingServer& server, const std::string& says) {
  absl::Status status = AskOnce(server).status();
  EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(says));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/table: ")) << "the place";
}

TEST(HttpTableLyingServerTest, HonestAnswer_IsTaken) {
  LyingServer server(Says(Answer("", "the table")));
  auto news = AskOnce(server);
  ASSERT_TRUE(news.ok() && *news) << news.status();
  EXPECT_EQ((*news)->document, "the table");
}

TEST(HttpTableLyingServerTest, BodiesThatCannotBe_AreRefused) {
  constexpr char kChunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& [bytes, says] : std::vector<std::pair<std::string, std::string>>{
           {"HTTP/1.1 200 OK\r\n\r\nends somewhere", "Content-Length"},
           {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort", "connection closed"},
           {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", ""},
           {"HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello", ""},
           {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nx", ""},
           {"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx", ""},
           {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", ""},
           {absl::StrCat(kChunked, "zz\r\nhello\r\n0\r\n\r\n"), ""},
           {absl::StrCat(kChunked, "-5\r\nhello\r\n0\r\n\r\n"), ""},
           {absl::StrCat(kChunked, "FFFFFFFFFFFFFFFFF\r\nhello"), ""},
           {absl::StrCat(kChunked, "FFFFFFFFFFFFFFFF\r\nhello"), ""},
           {absl::StrCat(kChunked, "5\r\nhello0\r\n\r\n"), ""},
           {absl::StrCat(kChunked, "5\r\nhello\r\n"), "connection closed"},
           {absl::StrCat(kChunked, "\r\n\r\n"), ""},
           {absl::StrCat(kChunked, "5;", std::string(1 << 20, 'x'), "\r\nhello\r\n0\r\n\r\n"), ""},
           {absl::StrCat(kChunked, "5\r\nhello\r\n0\r\nA: ", std::string(1 << 20, 'x')), ""},
           {Answer("Content-Encoding: gzip\r\n", "\x1F\x8B\x08"), "gzip"},
           {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n\x1F\x8B\x08", ""}}) {
    SCOPED_TRACE(bytes.substr(0, 120));
    LyingServer server(Says(bytes));
    ExpectRefused(server, says);
  }
}

TEST(HttpTableLyingServerTest, HeadsThatCannotBe_AreRefused) {
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 100'000; ++i) absl::StrAppend(&many, "A", i, ": b\r\n");
  const size_t before = PeakMemoryMiB();
  for (const std::string& bytes : std::vector<std::string>{
           "HTTP/1.1 2000 OK\r\nContent-Length: 1\r\n\r\nx", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
           "SSH-2.0-OpenSSH_9.2\r\n",
           std::string("HTTP/1.1 200 OK\r\nA: \0\r\nContent-Length: 1\r\n\r\nx", 45),
           "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 1\r\n\r\nx",
           absl::StrCat("HTTP/1.1 200 ", std::string(10 << 20, 'x')),
           absl::StrCat("HTTP/1.1 200 OK\r\nA: ", std::string(10 << 20, 'x')), many,
           absl::StrCat("HTTP/1.1 200 OK\r\nETag: \"", std::string(1 << 20, 'x'),
                        "\"\r\nContent-Length: 1\r\n\r\nx"),
           std::string(1 << 20, '\0')}) {
    SCOPED_TRACE(bytes.substr(0, 60));
    LyingServer server(Says(bytes));
    ExpectRefused(server, "");
  }
  EXPECT_LT(PeakMemoryMiB() - before, 128u) << "mostly the liar's own";
}

TEST(HttpTableLyingServerTest, AnswerThatDrips_IsGivenUp) {
  const std::string whole = Answer("", std::string(100'000, 'x'));
  const size_t head = whole.find("\r\n\r\n") + 4;
  for (size_t at_once : {size_t{0}, head}) {
    LyingServer server([&](LyingPeer& peer) {
      std::string request;
      if (!Hear(peer, request) || !peer.Send(whole.substr(0, at_once))) return;
      peer.Drip(whole.substr(at_once), 20);
    });
    ExpectRefused(server, "answer within 2s");
  }
  LyingServer silent([](LyingPeer& peer) { peer.Hang(); });
  ExpectRefused(silent, "answer within 2s");
}

// Each is an answer that continues while the client reads.
TEST(HttpTableLyingServerTest, AnswerWithoutAnEnd_TakesLittleMemoryAndTime) {
  const size_t before = PeakMemoryMiB();
  struct Endless {
    std::string begin, more;
  };
  for (const Endless& said :
       std::vector<Endless>{{"HTTP/1.1 200 OK\r\n\r\n", std::string(64 << 10, 'x')},
                            {"HTTP/1.1 404 None\r\n\r\n", std::string(64 << 10, 'x')},
                            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                             absl::StrCat("100000\r\n", std::string(1 << 20, 'x'), "\r\n")},
                            {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
                            {"HTTP/1.1 200 OK\r\nA: ", std::string(64 << 10, 'x')},
                            {"HTTP/1.1 200 OK\r\n", "A: b\r\n"},
                            {"", "HTTP/1.1 103 Early Hints\r\n\r\n"},
                            {"", std::string(64 << 10, '\n')}}) {
    SCOPED_TRACE(absl::StrCat(said.begin, said.more.substr(0, 40)));
    LyingServer server([&](LyingPeer& peer) {
      std::string request;
      if (!Hear(peer, request) || !peer.Send(said.begin)) return;
      while (peer.Send(said.more)) {
      }
    });
    absl::Status status = AskOnce(server).status();
    EXPECT_FALSE(status.ok());
  }
  EXPECT_LT(PeakMemoryMiB() - before, 4 * (TableSource::kMaxDocumentBytes >> 20));
}

// Bytes behind an answer are not the answer to the next request.
TEST(HttpTableLyingServerTest, MoreThanWasAnnounced_IsNotTakenForTheNextAnswer) {
  for (const std::string& lie :
       {Answer("", "first") + Answer("", "smuggled"),
        "HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n" + Answer("", "smuggled")}) {
    std::atomic<int> asked = 0;
    LyingServer server([&](LyingPeer& peer) {
      std::string request;
      while (Hear(peer, request)) {
        const bool lies = ++asked == 2;
        if (!peer.Send(lies ? lie
                            : Answer("ETag: \"1\"\r\n", absl::StrCat("table ", asked.load()))))
          return;
      }
    });
    auto source = HttpTableSource::Open(OptionsOf(server)).value();
    std::string known;
    for (int i = 0; i < 4; ++i) {
      auto news = source->Next(known, std::chrono::steady_clock::now());
      ASSERT_TRUE(news.ok()) << news.status();
      if (!*news) continue;
      EXPECT_THAT((*news)->document, AnyOf(HasSubstr("table "), "first"));
      known = (*news)->version;
    }
  }
}

TEST(HttpTableLyingServerTest, RedirectToItself_IsNotFollowed) {
  std::atomic<int> asked = 0;
  LyingServer server([&](LyingPeer& peer) {
    std::string request;
    while (Hear(peer, request)) {
      ++asked;
      if (!peer.Send("HTTP/1.1 302 Found\r\nLocation: /table\r\nContent-Length: 0\r\n\r\n")) return;
    }
  });
  ExpectRefused(server, "redirects are not followed");
  EXPECT_EQ(asked, 1);
}

TEST(HttpTableLyingServerTest, ETagsThatLie_HideNoDocumentFromAnUnconditionalRequest) {
  std::atomic<int> asked = 0;
  LyingServer server([&](LyingPeer& peer) {
    std::string request;
    while (Hear(peer, request)) {
      const int number = ++asked;
      const bool conditional = request.find("If-None-Match") != std::string::npos;
      // One ETag for all documents, and a 304 even without a condition in the request.
      std::string said = conditional || number == 1
                             ? "HTTP/1.1 304 Not Modified\r\n\r\n"
                             : Answer("ETag: \"same\"\r\n", absl::StrCat("table ", number));
      if (!peer.Send(said)) return;
    }
  });
  auto source = HttpTableSource::Open(OptionsOf(server)).value();
  auto now = [] { return std::chrono::steady_clock::now(); };
  absl::Status first = source->Next("", now()).status();
  EXPECT_TRUE(absl::IsUnavailable(first)) << first;
  EXPECT_THAT(std::string(first.message()), HasSubstr("304 to an unconditional request"));
  auto second = source->Next("", now());
  ASSERT_TRUE(second.ok() && *second) << second.status();
  EXPECT_EQ((*second)->document, "table 2");
  auto third = source->Next((*second)->version, now());
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_FALSE(third->has_value()) << "it says that nothing changed";
  auto fourth = source->Next("another version", now());
  ASSERT_TRUE(fourth.ok() && *fourth) << fourth.status();
  EXPECT_EQ((*fourth)->document, "table 4");
}

TEST(HttpTableLyingServerTest, HtmlInsteadOfATable_IsRefusedWithItsReason) {
  LyingServer server(Says(Answer("Content-Type: text/html\r\n", "<html>Please log in</html>")));
  RouterOptions options;
  options.open_timeout = absl::ZeroDuration();
  auto router = Router::Open(HttpTableSource::Open(OptionsOf(server)).value(), options);
  EXPECT_TRUE(absl::IsFailedPrecondition(router.status())) << router.status();
  EXPECT_THAT(std::string(router.status().message()), HasSubstr("its table is refused"));
}

TEST(HttpTableLyingServerTest, EpochGoesBack_TheTableInForceStays) {
  std::atomic<uint64_t> epoch = 5;
  LyingServer server([&](LyingPeer& peer) {
    std::string request;
    while (Hear(peer, request)) {
      if (!peer.Send(Answer("", TableOfEpoch(epoch).ToJson()))) return;
    }
  });
  RouterOptions options;
  options.confirm_every = absl::Milliseconds(100);
  auto router = Router::Open(HttpTableSource::Open(OptionsOf(server)).value(), options);
  ASSERT_TRUE(router.ok()) << router.status();
  for (uint64_t older : {4, 1}) {
    const uint64_t refusals = (*router)->Stats().refusals;
    epoch = older;
    EXPECT_TRUE(WaitUntil([&] { return (*router)->Stats().refusals > refusals; }));
    EXPECT_EQ((*router)->epoch(), 5u);
    EXPECT_EQ((*router)->Stats().source, RouterStats::Source::kRefused);
  }
  epoch = 6;
  EXPECT_TRUE(WaitUntil([&] { return (*router)->epoch() == 6; }));
}

TEST(HttpTableLyingServerTest, TextOfAServer_IsEscapedInMessages) {
  for (const char* said :
       {"HTTP/1.1 503 No\r\nRetry-After: \x1B[31m1\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 302 No\r\nLocation: http://\x1B[31m/\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: \x1B[31m\r\nContent-Length: 1\r\n\r\nx"}) {
    LyingServer server(Says(said));
    absl::Status status = AskOnce(server).status();
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
  }
}

TEST(HttpTableLyingServerTest, RandomAnswers_DoNoHarm) {
  const std::string honest = Answer(
      "ETag: \"1\"\r\nDate: Sun, 06 Nov 1994 08:49:39 GMT\r\n"
      "Last-Modified: Sun, 06 Nov 1994 08:49:30 GMT\r\n",
      TableOfEpoch(1).ToJson());
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5;a=b\r\nhello\r\n"
      "3\r\nyou\r\n0\r\nA: b\r\n\r\n";
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([&, seed](LyingPeer& peer) {
      std::mt19937 random(seed);
      std::string request;
      while (Hear(peer, request)) {
        std::string said = random() % 2 == 0 ? honest : chunked;
        const uint32_t changes = random() % 4;
        for (uint32_t i = 0; i < changes; ++i) {
          // Mostly in the head, where more depends on each byte.
          const size_t at = random() % std::min<size_t>(said.size(), random() % 2 == 0 ? 90 : 9000);
          if (random() % 3 == 0) {
            said.erase(at, random() % 9);
          } else {
            said[at] = static_cast<char>(random());
          }
        }
        // After a lie it hangs up, so that the client need not wait for the rest.
        if (!peer.Send(said) || changes > 0) return;
      }
    });
    HttpTableOptions options = OptionsOf(server);
    options.request_timeout = absl::Milliseconds(200);
    auto source = HttpTableSource::Open(options).value();
    std::string known;
    for (int i = 0; i < 3; ++i) {
      const absl::Time start = absl::Now();
      auto news = source->Next(known, std::chrono::steady_clock::now());
      EXPECT_LT(absl::Now() - start, absl::Seconds(20));
      if (news.ok() && *news) known = (*news)->version;
    }
  }
}

}  // namespace
}  // namespace locus
