// SPDX-License-Identifier: Apache-2.0
// Servers that are no etcd, or a broken one: no answer makes a call throw, abort, take long or take
// much memory.
#include <functional>
#include <random>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/etcd.h"
#include "src/engine/etcd/reply.h"
#include "tests/support/lying_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHeader[] =
    R"("header":{"cluster_id":"7","member_id":"8","revision":"9","raft_term":"2"})";

std::string Http(std::string_view body) {
  return absl::StrCat(
      "HTTP/1.1 200 OK\r\nDate: ",
      absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
      "\r\nContent-Length: ", body.size(), "\r\n\r\n", std::string(body));
}

std::string Honest(const std::string& path) {
  if (absl::StrContains(path, "status")) {
    return Http(absl::StrCat("{", kHeader, R"(,"version":"3.4.23","leader":"8","raftIndex":"90",)",
                             R"("raftAppliedIndex":"90"})"));
  }
  if (absl::StrContains(path, "grant")) return Http(absl::StrCat("{", kHeader, R"(,"ID":"5"})"));
  return Http(
      absl::StrCat("{", kHeader, R"(,"succeeded":true,"responses":[{"response_put":{}}]})"));
}

// Reads requests and sends what `answer` makes of each path; empty: hangs up.
void Converse(LyingPeer& peer, const std::function<std::string(const std::string&)>& answer) {
  std::string bytes;
  while (true) {
    size_t end = bytes.find("\r\n\r\n");
    size_t length = 0;
    if (end != std::string::npos) {
      size_t at = bytes.find("Content-Length: ");
      if (at != std::string::npos) length = std::strtoul(&bytes[at + 16], nullptr, 10);
    }
    if (end == std::string::npos || bytes.size() < end + 4 + length) {
      std::string more = peer.Receive();
      if (more.empty()) return;
      bytes += more;
      continue;
    }
    std::string path = bytes.substr(0, bytes.find('\r'));
    bytes.erase(0, end + 4 + length);
    std::string said = answer(path);
    if (said.empty() || !peer.Send(said)) return;
  }
}

EtcdOptions OptionsOf(const LyingServer& server) {
  EtcdOptions options;
  options.endpoints = {absl::StrCat("127.0.0.1:", server.port())};
  options.prefix = "t";
  return options;
}

absl::Status Use(const EtcdOptions& options) {
  auto store = EtcdSegmentStore::Open(options);
  if (!store.ok()) return store.status();
  SpaceName space;
  SegmentRequest request;
  request.length = 64;
  absl::Status status = (*store)->Create(space, SpaceOptions(), absl::Now());
  status.Update((*store)->Allocate(space, SpaceOptions(), {&request, 1}, absl::Now()).status());
  status.Update((*store)->Show(space, absl::Now()).status());
  auto workers = EtcdWorkerLeaseStore::Open(options);
  if (!workers.ok()) return workers.status();
  WorkerAcquire wish;
  wish.nonce = "a";
  wish.caller_now = absl::Now();
  status.Update((*workers)->Create(space, {.first_ever = true}, absl::Now()));
  auto grant = (*workers)->Acquire(space, wish);
  if (grant.ok()) {
    EXPECT_LE(grant->worker, wish.range.last);
    EXPECT_GE(grant->ceiling, grant->granted_at + wish.term.ttl);
  }
  status.Update(grant.status());
  WorkerRenew renewal;
  renewal.token = 1;
  renewal.nonce = "a";
  renewal.ceiling = renewal.caller_now = absl::Now();
  status.Update((*workers)->Renew(space, renewal).status());
  status.Update((*workers)->Release(space, {0, 1, absl::Now()}));
  status.Update((*workers)->Show(space).status());
  auto sections = EtcdStrictStore::Open(options);
  if (!sections.ok()) return sections.status();
  StrictSetOptions set;
  const StrictOwner owner{"a", "", 1};
  status.Update((*sections)->Create(space, set, {.first_ever = true}));
  auto taken = (*sections)->Take(space, set, {owner, {{3, 0}, {4, 0}}});
  if (taken.ok()) {
    EXPECT_EQ(taken->items.size(), 2u);
    EXPECT_EQ(taken->items[1].section, 4u);
  }
  status.Update(taken.status());
  status.Update((*sections)->Extend(space, set, {owner, {{3, 1, 0, 9}}}).status());
  status.Update((*sections)->Release(space, set, {owner, {{3, 1, 0}}, ""}).status());
  status.Update((*sections)->DeclareRestored(space));
  status.Update((*sections)->Show(space).status());
  auto sequencer = EtcdSequencer::Open(options, {});
  if (!sequencer.ok()) return sequencer.status();
  status.Update((*sequencer)->Next("k").status());
  status.Update((*sequencer)->Set("k", 7));
  status.Update((*sequencer)->Get("k").status());
  return status;
}

LyingServer::Serve Saying(const std::string& bytes) {
  return [bytes](LyingPeer& peer) {
    Converse(peer, [&](const std::string& path) {
      return absl::StrContains(path, "status") ? Honest(path) : bytes;
    });
  };
}

TEST(EtcdLyingServerTest, AnswersOfAnotherShape_AreErrors) {
  std::string deep(100'000, '[');
  std::string wide = "{\"a\":[";
  for (int i = 0; i < 2'000'000; ++i) wide += "0,";
  wide += "0]}";
  const size_t before = PeakMemoryMiB();
  for (const std::string& body :
       {std::string(), std::string("{}"), std::string("[]"), std::string("nonsense"), deep, wide,
        absl::StrCat("{", kHeader, "}"), absl::StrCat("{", kHeader, R"(,"responses":{}})"),
        absl::StrCat("{", kHeader, R"(,"responses":[1]})"),
        absl::StrCat("{", kHeader, R"(,"responses":[{"response_range":{"kvs":[{}]}}]})"),
        absl::StrCat("{", kHeader,
                     R"(,"responses":[{"response_range":{"kvs":[{"key":"YQ==","value":"!",)",
                     R"("mod_revision":"99999999999999999999"}]}}]})")}) {
    LyingServer server(Saying(Http(body)));
    EXPECT_FALSE(Use(OptionsOf(server)).ok()) << body.substr(0, 100);
  }
  EXPECT_LT(PeakMemoryMiB() - before, 128u);
}

TEST(EtcdLyingServerTest, AnswersWithoutEnd_EndInTimeAndTakeLittleMemory) {
  const size_t before = PeakMemoryMiB();
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const auto& flood : std::vector<std::pair<std::string, std::string>>{
           {head, "X-Header: " + std::string(1000, 'x') + "\r\n"},
           {head + "Transfer-Encoding: chunked\r\n\r\n",
            "3e8\r\n" + std::string(1000, ' ') + "\r\n"},
           {head + "Transfer-Encoding: chunked\r\n\r\n1;", std::string(1000, 'x')},
           {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
            "X: " + std::string(1000, 'x') + "\r\n"},
           {head + "\r\n", std::string(1000, ' ')},
           {"", "HTTP/1.1 100 Continue\r\n\r\n"},
           {head + "Content-Length: 99999999999999999\r\n\r\n", std::string(1000, ' ')}}) {
    const auto& begin = flood.first;  // clang 14 captures no structured bindings
    const auto& piece = flood.second;
    LyingServer server([&](LyingPeer& peer) {
      Converse(peer, [&](const std::string&) {
        peer.Send(begin);
        while (peer.Send(piece)) {
        }
        return std::string();
      });
    });
    EtcdOptions options = OptionsOf(server);
    options.request_timeout = absl::Milliseconds(250);
    options.call_timeout = absl::Milliseconds(500);
    absl::Time start = absl::Now();
    EXPECT_FALSE(Use(options).ok());
    EXPECT_LT(absl::Now() - start, absl::Seconds(60)) << begin << piece.substr(0, 20);
  }
  EXPECT_LT(PeakMemoryMiB() - before, 128u);
}

TEST(EtcdLyingServerTest, DrippingServer_HoldsNoCallPastItsBound) {
  for (const std::string& drips :
       {"HTTP/1.1 200 OK\r\nX: " + std::string(5000, 'x'),
        "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + std::string(5000, ' '),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(5000, '0')}) {
    LyingServer server([&](LyingPeer& peer) {
      Converse(peer, [&](const std::string&) {
        peer.Drip(drips, 50);
        return std::string();
      });
    });
    EtcdOptions options = OptionsOf(server);
    options.request_timeout = options.call_timeout = absl::Seconds(1);
    auto store = EtcdSegmentStore::Open(options);
    ASSERT_TRUE(store.ok()) << store.status();
    absl::Time start = absl::Now();
    absl::Status status = (*store)->ReadOptions(SpaceName()).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_LT(absl::Now() - start, absl::Seconds(40)) << "the answer takes four minutes";
  }
}

TEST(EtcdLyingServerTest, TextOfTheServer_IsEscapedInMessages) {
  std::string body = R"({"code":9,"message":"no \u001b[31mentry"})";
  LyingServer server(
      Saying(absl::StrCat("HTTP/1.1 400 Bad\r\nContent-Length: ", body.size(), "\r\n\r\n", body)));
  absl::Status status = Use(OptionsOf(server));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
}

TEST(EtcdLyingServerTest, DatesThatCannotBe_AreNotUsed) {
  for (const char* date : {"infinite-future", "infinite-past", "Mon, 01 Jan 9999 00:00:00 GMT"}) {
    LyingServer server([date](LyingPeer& peer) {
      Converse(peer, [date](const std::string& path) {
        std::string said = Honest(path);
        size_t at = said.find("Date: ") + 6;
        return said.replace(at, said.find('\r', at) - at, date);
      });
    });
    EXPECT_FALSE(Use(OptionsOf(server)).ok()) << date;
  }
}

// Text that is nearly what etcd says, changed at random.
std::string RandomAnswer(const std::string& path, std::mt19937& random) {
  auto pick = [&](size_t below) { return static_cast<size_t>(random() % below); };
  static constexpr const char* kParts[] = {
      R"({"response_put":{}})", R"({"response_range":{}})",
      R"({"response_range":{"kvs":[{"key":"aw==","value":"NQ==","mod_revision":"3"}]}})",
      R"({"response_range":{"kvs":[{"key":"aw==","value":"NSA5IDE=","mod_revision":"3"}]}})",
      R"({"response_range":{"more":true}})",
      // The answer of the test below, cut short.
      R"({"response_txn":{"succeeded":true,"responses":[{"response_range":{}},{"response_put":{}}]}})",
      R"({"response_txn":{"responses":[{"response_txn":7}]}})", "{}", "null", "7"};
  std::string responses;
  for (size_t i = 0, count = pick(5); i < count; ++i) {
    absl::StrAppend(&responses, i > 0 ? "," : "", kParts[pick(std::size(kParts))]);
  }
  std::string body = absl::StrCat("{", kHeader, pick(2) == 0 ? R"(,"succeeded":true)" : "",
                                  R"(,"responses":[)", responses, "]}");
  std::string said = absl::StrContains(path, "txn") ? Http(body) : Honest(path);
  switch (pick(4)) {
    case 0:
      said[pick(said.size())] = static_cast<char>(random());
      break;
    case 1:
      if (pick(4) == 0) said.resize(pick(said.size()));
      break;
    default:
      break;
  }
  return said;
}

TEST(EtcdLyingServerTest, RandomAnswers_DoNoHarm) {
  const size_t before = PeakMemoryMiB();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      std::mt19937 random(seed);
      Converse(peer, [&](const std::string& path) { return RandomAnswer(path, random); });
    });
    EtcdOptions options = OptionsOf(server);
    options.request_timeout = absl::Milliseconds(50);
    options.call_timeout = absl::Milliseconds(100);
    Use(options).IgnoreError();
  }
  EXPECT_LT(PeakMemoryMiB() - before, 128u);
}

TEST(EtcdLyingServerTest, TooManyValues_AreRefusedBeforeTheyAreParsed) {
  std::string body = R"({"a":[)" + std::string(300'000, '[');
  EXPECT_THAT(std::string(etcd::ReadTxn(body).status().message()), HasSubstr("values"));
  // Brackets in a text are no values.
  std::string text = absl::StrCat("{", kHeader, R"(,"x":")", std::string(300'000, '['), R"("})");
  EXPECT_TRUE(etcd::ReadTxn(text).ok()) << etcd::ReadTxn(text).status();
}

}  // namespace
}  // namespace locus
