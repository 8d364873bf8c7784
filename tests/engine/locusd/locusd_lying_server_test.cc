// SPDX-License-Identifier: Apache-2.0
// Servers that are no locusd, or a broken one: no answer makes a call throw, abort, take long or
// take much memory, and nothing of it reaches a terminal as it is.
#include <functional>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/locusd.h"
#include "locus/engine/locusd_cluster.h"
#include "src/engine/locusd/node_answers.h"
#include "tests/support/lying_server.h"

namespace locus {
namespace {

using ::testing::HasSubstr;

std::string Http(std::string_view body, std::string_view head = "200 OK") {
  return absl::StrCat("HTTP/1.1 ", std::string(head), "\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", std::string(body));
}

// A leader of itself and of a silent one.
std::string Honest() {
  return R"({"id":"7","cluster":"c","version":"0.1.0","raft":"127.0.0.1:7071",)"
         R"("api":"127.0.0.1:7070","role":"leader","leads_for_sure":true,"term":3,"leader":"7",)"
         R"("leader_address":"127.0.0.1:7071 127.0.0.1:7070","removed":false,"commit":9,)"
         R"("applied":9,"last":9,"snapshot":0,"waiting":0,"workers":1,"held":1,)"
         R"("clock_off_ms":-4,"failure":"","members":[{"id":"7","address":)"
         R"("127.0.0.1:7071 127.0.0.1:7070","voter":true,"leader":true,"match":9,"forgot":false,"silent_ms":0},)"
         R"({"id":"18446744073709551615","address":"127.0.0.1:1 127.0.0.1:1","voter":false,)"
         R"("leader":false,"match":0,"forgot":false,"silent_ms":null}]})";
}

LocusdOptions OptionsOf(const LyingServer& server) {
  LocusdOptions options;
  options.endpoints = {absl::StrCat("127.0.0.1:", server.port())};
  options.timeout = absl::Milliseconds(300);
  options.request_timeout = absl::Milliseconds(200);
  return options;
}

// Every call; the first that is not OK. No message has anything that a terminal acts on.
absl::Status Use(const LocusdOptions& options) {
  auto cluster = LocusdCluster::Open(options);
  if (!cluster.ok()) return cluster.status();
  absl::Status all;
  auto say = [&all](const absl::Status& status) {
    for (char c : status.message()) {
      EXPECT_TRUE(!absl::ascii_iscntrl(static_cast<unsigned char>(c))) << status;
    }
    all.Update(status);
  };
  say((*cluster)->Show().Health());
  say((*cluster)->Ask(options.endpoints[0]).status());
  say((*cluster)->Leader().status());
  LocusdAddOptions add;
  add.patience = absl::Milliseconds(300);
  say((*cluster)->Add(options.endpoints[0], add).status());
  say((*cluster)->Remove(7).status());
  say((*cluster)->Transfer(8).status());
  auto store = LocusdWorkerLeaseStore::Open(options);
  if (!store.ok()) return store.status();
  WorkerAcquire wish;
  wish.nonce = "a";
  wish.caller_now = absl::Now();
  say((*store)->Create(SpaceName(), {.first_ever = true}, absl::Now()));
  say((*store)->Acquire(SpaceName(), wish).status());
  say((*store)->Show(SpaceName()).status());
  return all;
}

// The same of order IDs, counters and strict sequences.
absl::Status UseStore(const LocusdOptions& options) {
  auto segments = LocusdSegmentStore::Open(options);
  auto sequencer = LocusdSequencer::Open(options);
  auto strict = LocusdStrictStore::Open(options);
  if (!segments.ok() || !sequencer.ok() || !strict.ok()) return segments.status();
  const SegmentRequest request{7, 64, 128};
  absl::Status all =
      (*segments)->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now()).status();
  all.Update((*segments)->Show(SpaceName(), absl::Now()).status());
  all.Update((*sequencer)->Next("a").status());
  const StrictOwner owner{"a", "", 1000};
  all.Update((*strict)->Take(SpaceName(), {}, {owner, {{3, 128}}}).status());
  all.Update((*strict)->Extend(SpaceName(), {}, {owner, {{3, 7, 128, 0}}}).status());
  all.Update((*strict)->Release(SpaceName(), {}, {owner, {{3, 7, 128}}, ""}).status());
  all.Update((*strict)->Show(SpaceName()).status());
  return all;
}

LyingServer::Serve Saying(const std::string& bytes) {
  return
      [bytes](LyingPeer& peer) { ConverseHttp(peer, [&](const std::string&) { return bytes; }); };
}

TEST(LocusdLyingServerTest, HonestAnswer_IsRead) {
  auto node = locusd::ParseNode(Honest());
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->clock_off, absl::Milliseconds(-4));
  EXPECT_EQ(node->members[1].id, UINT64_MAX);
  EXPECT_EQ(node->members[1].silent_for, std::nullopt);
  LyingServer server(Saying(Http(Honest())));
  auto cluster = LocusdCluster::Open(OptionsOf(server));
  EXPECT_EQ((*cluster)->Leader()->id, 7u);
}

TEST(LocusdLyingServerTest, ServerThatSaysYesToEverything_IsNotBelieved) {
  LyingServer server(Saying(Http("welcome")));
  auto store = LocusdWorkerLeaseStore::Open(OptionsOf(server));
  const absl::Status made = (*store)->Create(SpaceName(), {.first_ever = true}, absl::Now());
  EXPECT_TRUE(absl::IsUnavailable(made)) << made;
  EXPECT_THAT(made.message(), HasSubstr("HTTP 200 where locusd answers 204"));
  auto cluster = LocusdCluster::Open(OptionsOf(server));
  EXPECT_FALSE((*cluster)->Remove(7).ok());
}

TEST(LocusdLyingServerTest, AnswersOfAnotherShape_AreErrors) {
  const std::string deep(60'000, '[');
  const size_t before = PeakMemoryMiB();
  auto with = [](const char* from, const char* to) {
    const std::string changed = absl::StrReplaceAll(Honest(), {{from, to}});
    EXPECT_NE(changed, Honest()) << from;
    return changed;
  };
  for (const std::string& body :
       {std::string(),
        std::string("{}"),
        std::string("[]"),
        std::string("nonsense"),
        deep,
        with(R"("id":"7","c)", R"("id":7,"c)"),
        with(R"("id":"7","c)", R"("id":"0","c)"),
        with(R"("term":3)", R"("term":-3)"),
        with(R"("term":3)", R"("term":1e99)"),
        with(R"("term":3)", R"("term":99999999999999999999)"),
        with(R"("role":"leader")", R"("role":"king")"),
        with(R"("role":"leader")", R"("role":"follower")"),
        with(R"("cluster":"c")", R"("cluster":"\u001b[31m")"),
        with(R"("version":"0.1.0")", R"("version":"\u202e")"),
        with(R"("api":"127.0.0.1:7070","role")", R"("api":"here","role")"),
        with(R"("18446744073709551615")", R"("7")"),
        with(R"("18446744073709551615")", R"("18446744073709551616")"),
        with(R"("127.0.0.1:1 127.0.0.1:1")", R"("127.0.0.1:1")"),
        with(R"("silent_ms":null)", R"("silent_ms":-1)"),
        with(R"("clock_off_ms":-4)", R"("clock_off_ms":-9223372036854775808)"),
        with(R"("members":[)", R"("members":[[],)"),
        with(R"("commit":9,)", "")}) {
    LyingServer server(Saying(Http(body)));
    EXPECT_FALSE(Use(OptionsOf(server)).ok()) << body.substr(0, 100);
    auto node = locusd::ParseNode(body);
    EXPECT_EQ(node.status().code(), absl::StatusCode::kDataLoss) << body.substr(0, 400);
  }
  EXPECT_LT(PeakMemoryMiB() - before, 64u);
}

TEST(LocusdLyingServerTest, MembersOfANewerVersion_ArePassedOver) {
  const std::string body = absl::StrReplaceAll(
      Honest(),
      {{R"("term":3)", R"("term":3,"new":{"a":[1]})"}, {R"("match":9)", R"("x":1,"match":9)"}});
  EXPECT_TRUE(locusd::ParseNode(body).ok()) << locusd::ParseNode(body).status();
}

TEST(LocusdLyingServerTest, AnswersWithoutEnd_EndInTimeAndTakeLittleMemory) {
  const size_t before = PeakMemoryMiB();
  const std::string head = "HTTP/1.1 200 OK\r\n";
  for (const auto& flood : std::vector<std::pair<std::string, std::string>>{
           {head, "X-Header: " + std::string(1000, 'x') + "\r\n"},
           {head + "Transfer-Encoding: chunked\r\n\r\n",
            "3e8\r\n" + std::string(1000, ' ') + "\r\n"},
           {head + "\r\n", std::string(1000, ' ')},
           {"", "HTTP/1.1 100 Continue\r\n\r\n"},
           {head + "Content-Length: 99999999999999999\r\n\r\n", std::string(1000, ' ')}}) {
    const auto& begin = flood.first;  // clang 14 captures no structured bindings
    const auto& piece = flood.second;
    LyingServer server([&](LyingPeer& peer) {
      ConverseHttp(peer, [&](const std::string&) {
        peer.Send(begin);
        while (peer.Send(piece)) {
        }
        return std::string();
      });
    });
    const absl::Time start = absl::Now();
    EXPECT_FALSE(Use(OptionsOf(server)).ok());
    EXPECT_FALSE(UseStore(OptionsOf(server)).ok());
    EXPECT_LT(absl::Now() - start, absl::Seconds(30)) << begin << piece.substr(0, 20);
  }
  // The longest answer, the view of a strict set, may have 32 MiB. Its text doubles as it comes
  // (32 MiB beside 64), and the allocator keeps some of what was freed. Ten times as long timeouts
  // take 132 MiB.
  EXPECT_LT(PeakMemoryMiB() - before, 192u);
}

// Pages that go back, repeat or overlap: every call ends.
TEST(LocusdLyingServerTest, PagesOfLeasesThatDoNotEnd_AreNoView) {
  auto page = [](std::string_view workers, std::string_view next) {
    std::string listed;
    for (char worker : workers) {
      absl::StrAppend(&listed, listed.empty() ? "" : ",", R"({"worker":)", std::string(1, worker),
                      R"(,"token":"7","floor_ms":null,"ceiling_ms":9,"granted_at_ms":8,)"
                      R"("renewed_at_ms":8,"nonce":"","holder":""})");
    }
    return absl::StrCat(R"({"now_ms":9,"rest_until_ms":null,"losses":0,"workers":[)", listed,
                        R"(],"next":)", std::string(next), "}");
  };
  for (const std::string& body :
       {page("3", "3"), page("3", "4"), page("", "5"), page("32", "null"), page("33", "null")}) {
    LyingServer server(Saying(Http(body)));
    auto store = LocusdWorkerLeaseStore::Open(OptionsOf(server));
    const auto view = (*store)->Show(SpaceName());
    EXPECT_EQ(view.status().code(), absl::StatusCode::kDataLoss) << body << view.status();
  }
  LyingServer honest(Saying(Http(page("37", "null"))));
  auto store = LocusdWorkerLeaseStore::Open(OptionsOf(honest));
  EXPECT_EQ((*store)->Show(SpaceName())->workers.size(), 2u);
}

// Sections and numbers that were not asked for must not become another's numbers.
TEST(LocusdLyingServerTest, StrictGrantsThatWereNotAskedFor_AreDataLoss) {
  auto take = [](const std::string& body) {
    LyingServer server(Saying(Http(body)));
    auto store = LocusdStrictStore::Open(OptionsOf(server));
    return (*store)->Take(SpaceName(), {}, {{"a", "h:1", 1000}, {{3, 128}}}).status().code();
  };
  const std::string honest =
      R"({"table_version":"1","loss_noticed":false,"owners":[{"name":"a","address":"h:1",)"
      R"("instance":"1000"}],"sections":[{"section":3,"verdict":"granted","owner":0,)"
      R"("token":"7","start":"128","max_seq":"10128"}]})";
  EXPECT_EQ(take(honest), absl::StatusCode::kOk);
  // The last numbers of a section.
  EXPECT_EQ(take(absl::StrReplaceAll(
                honest, {{"10128", "9223372036854775807"}, {"128", "9223372036854775800"}})),
            absl::StatusCode::kOk);
  for (const auto& [from, to] : std::vector<std::pair<const char*, const char*>>{
           {R"("section":3)", R"("section":4)"},
           {R"("section":3)", R"("section":1048576)"},
           {R"("owner":0)", R"("owner":1)"},
           {R"("owner":0)", R"("owner":null)"},
           {R"("instance":"1000")", R"("instance":"1001")"},
           {R"("name":"a")", R"("name":"b")"},
           {R"("name":"a")", R"("name":"\u001b")"},
           {R"("token":"7")", R"("token":"0")"},
           {R"("start":"128")", R"("start":"127")"},
           {R"("start":"128")", R"("start":"-1")"},
           {R"("max_seq":"10128")", R"("max_seq":"10129")"},
           {R"("max_seq":"10128")", R"("max_seq":"9223372036854775808")"},
           {R"("granted")", R"("given")"},
           {R"("sections":[)", R"("section":[)"},
           {R"(,"max_seq")", R"(,"wait_ms":1,"max_seq")"}}) {
    const std::string changed = absl::StrReplaceAll(honest, {{from, to}});
    EXPECT_NE(changed, honest) << from;
    EXPECT_EQ(take(changed), absl::StatusCode::kDataLoss) << changed;
  }
  auto extend = [](const std::string& body) {
    LyingServer server(Saying(Http(body)));
    auto store = LocusdStrictStore::Open(OptionsOf(server));
    return (*store)
        ->Extend(SpaceName(), {}, {{"a", "h:1", 1000}, {{3, 7, 128, 500}}})
        .status()
        .code();
  };
  auto extended = [](std::string_view items) {
    return absl::StrCat(R"({"table_version":"1","loss_noticed":false,"sections":[)",
                        std::string(items), "]}");
  };
  EXPECT_EQ(extend(extended(R"({"section":3,"held":true,"max_seq":"500"})")),
            absl::StatusCode::kOk);
  EXPECT_EQ(extend(extended(R"({"section":3,"held":false,"max_seq":"0"})")), absl::StatusCode::kOk);
  EXPECT_EQ(extend(extended(R"({"section":3,"held":true,"max_seq":"499"})")),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(extend(extended(R"({"section":4,"held":true,"max_seq":"500"})")),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(extend(extended("")), absl::StatusCode::kDataLoss);
}

// Sequences that were not asked for must not become order IDs.
TEST(LocusdLyingServerTest, GrantsThatWereNotAskedFor_AreDataLoss) {
  auto allocate = [](const std::string& body, uint64_t length = 64) {
    LyingServer server(Saying(Http(body)));
    auto store = LocusdSegmentStore::Open(OptionsOf(server));
    const SegmentRequest request{7, length, 128};
    return (*store)
        ->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now())
        .status()
        .code();
  };
  auto grant = [](std::string_view first, std::string_view length) {
    return absl::StrCat(R"({"first":")", std::string(first), R"(","length":")", std::string(length),
                        R"(","wait_ns":"0","lead_ns":"-5","room_ns":"inf"})");
  };
  auto reply = [](const std::string& grants) {
    return absl::StrCat(R"({"granted_at_ms":1,"loss_noticed":false,"grants":[)", grants, "]}");
  };
  const std::string honest = reply(grant("128", "64"));
  EXPECT_EQ(allocate(honest), absl::StatusCode::kOk);
  EXPECT_EQ(allocate(reply(grant("0", "0"))), absl::StatusCode::kOk) << "nothing fits now";
  for (const std::string& body :
       {reply(""), reply(grant("128", "64") + "," + grant("192", "64")), reply(grant("128", "128")),
        reply(grant("128", "32")), reply(grant("64", "64")), reply(grant("129", "64")),
        reply(grant("72057594037927936", "64")), reply(grant("-64", "64")),
        absl::StrReplaceAll(honest, {{R"("wait_ns":"0")", R"("wait_ns":"soon")"}}),
        absl::StrReplaceAll(honest, {{R"("lead_ns":"-5")", R"("lead_ns":"9223372036854775808")"}}),
        absl::StrReplaceAll(honest, {{R"(,"loss_noticed":false)", ""}}), std::string("[]")}) {
    EXPECT_EQ(allocate(body), absl::StatusCode::kDataLoss) << body;
  }
  EXPECT_EQ(allocate(reply(grant("128", "192")), 256), absl::StatusCode::kDataLoss)
      << "no power of 2";
}

TEST(LocusdLyingServerTest, NumbersThatCannotBe_AreDataLoss) {
  auto next = [](const std::string& body) {
    LyingServer server(Saying(Http(body)));
    SequencerOptions options;
    options.step = 10;
    options.max_value = 100;
    return (*LocusdSequencer::Open(OptionsOf(server), options))->Next("a").status().code();
  };
  auto reply = [](const char* value) {
    return absl::StrCat(R"({"done":true,"value":)", value, R"(,"version":"1"})");
  };
  EXPECT_EQ(next(reply(R"("100")")), absl::StatusCode::kOk);
  for (const char* value : {"null", R"("9")", R"("101")", R"("-1")", "10", R"("1e1")", "[]"}) {
    EXPECT_EQ(next(reply(value)), absl::StatusCode::kDataLoss) << value;
  }
}

TEST(LocusdLyingServerTest, DrippingServer_HoldsNoCallPastItsBound) {
  LyingServer server([&](LyingPeer& peer) {
    ConverseHttp(peer, [&](const std::string&) {
      peer.Drip("HTTP/1.1 200 OK\r\nX: " + std::string(5000, 'x'), 50);
      return std::string();
    });
  });
  auto cluster = LocusdCluster::Open(OptionsOf(server));
  const absl::Time start = absl::Now();
  EXPECT_EQ((*cluster)->Leader().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << "the answer takes four minutes";
}

// Redirections that lead nowhere, around, or where the token must not go.
TEST(LocusdLyingServerTest, Redirections_EndInTimeAndTakeNoTokenAway) {
  for (const char* location : {"http://127.0.0.1:1/x", "http://10.1.2.3:7070/x", "nonsense", "",
                               "http://[::1/", "http://\x1b[31m:7/", "https://127.0.0.1:99999/"}) {
    LyingServer server([location](LyingPeer& peer) {
      ConverseHttp(peer, [&](const std::string& line) {
        if (absl::StrContains(line, "/v1/status")) return Http(Honest());
        return absl::StrCat("HTTP/1.1 307 Gone\r\nLocation: ", location,
                            "\r\nContent-Length: 0\r\n\r\n");
      });
    });
    LocusdOptions options = OptionsOf(server);
    options.token = "s3cret";
    const absl::Time start = absl::Now();
    const absl::Status status = Use(options);
    EXPECT_FALSE(status.ok()) << location;
    EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << location;
    EXPECT_EQ(status.message().find("s3cret"), absl::string_view::npos);
  }
}

TEST(LocusdLyingServerTest, TextOfTheServer_IsEscapedInMessages) {
  LyingServer server(
      Saying(Http(R"({"detail":"no \u001b[31mentry","code":"ABORTED"})", "409 Conflict")));
  const absl::Status status = Use(OptionsOf(server));
  EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b[31mentry"));
}

// Nearly correct answers, changed at random.
TEST(LocusdLyingServerTest, RandomAnswers_DoNoHarm) {
  const size_t before = PeakMemoryMiB();
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string body = Honest();
    for (size_t changes = 1 + random() % 3; changes > 0; --changes) {
      body[random() % body.size()] = static_cast<char>(random());
    }
    auto node = locusd::ParseNode(body);
    if (node.ok()) {
      EXPECT_TRUE(!node->leads_for_sure || node->Find(node->id) != nullptr);
    } else {
      EXPECT_EQ(node.status().code(), absl::StatusCode::kDataLoss);
    }
  }
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      std::mt19937 of_peer(seed);
      ConverseHttp(peer, [&](const std::string& line) {
        std::string said = Http(absl::StrContains(line, "/v1/status") ? Honest() : "");
        said[of_peer() % said.size()] = static_cast<char>(of_peer());
        return said;
      });
    });
    LocusdOptions options = OptionsOf(server);
    options.timeout = absl::Milliseconds(50);
    options.request_timeout = absl::Milliseconds(30);
    Use(options).IgnoreError();
    UseStore(options).IgnoreError();
  }
  EXPECT_LT(PeakMemoryMiB() - before, 64u);
}

}  // namespace
}  // namespace locus
