// SPDX-License-Identifier: Apache-2.0
// Servers that are no Redis, or a broken one: no answer makes a call throw, abort, take long or
// take much memory.
#include <functional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locus/engine/redis.h"
#include "locus/engine/sqlite.h"
#include "src/engine/redis/resp.h"
#include "tests/support/lying_server.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

using redis::Reply;
using redis::ReplyReader;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kInfo[] =
    "redis_version:7.0.15\r\nredis_mode:standalone\r\nrole:master\r\nrun_id:0123\r\n"
    "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n";

std::string Bulk(std::string_view text) {
  return absl::StrCat("$", text.size(), "\r\n", std::string(text), "\r\n");
}

// Reads commands and says what `answer` makes of each; an empty answer ends the connection.
using Answer = std::function<std::string(const Reply& command)>;
void Converse(LyingPeer& peer, const Answer& answer) {
  ReplyReader commands;
  while (true) {
    std::string bytes = peer.Receive();
    if (bytes.empty()) return;
    commands.Feed(bytes);
    Reply command;
    while (commands.Next(command).value_or(false)) {
      std::string said = answer(command);
      if (said.empty() || !peer.Send(said)) return;
    }
  }
}

bool IsGreeting(const Reply& command) {
  return !command.elements.empty() && command.elements[0].text == "INFO";
}

RedisOptions OptionsOf(const LyingServer& server, absl::Duration timeout = absl::Seconds(5)) {
  RedisOptions options;
  options.addresses = {{"127.0.0.1", server.port()}};
  options.timeout = options.connect_timeout = timeout;
  return options;
}

// A server that greets like a Redis and answers every script with the same bytes.
LyingServer::Serve Saying(std::string bytes) {
  return [bytes](LyingPeer& peer) {
    Converse(peer, [&](const Reply& command) { return IsGreeting(command) ? Bulk(kInfo) : bytes; });
  };
}

absl::Status NextFrom(const LyingServer& server) {
  auto sequencer = RedisSequencer::Open(OptionsOf(server), {});
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return (*sequencer)->Next("k").status();
}

TEST(RedisLyingServerTest, HugeAnnouncements_AreRefusedWithoutTakingMemory) {
  size_t before = PeakMemoryMiB();
  for (const char* bytes : {"*2147483647\r\n", "*60000000\r\n", "*524289\r\n", "$2000000000\r\n",
                            "*1\r\n*500000\r\n*500000\r\n"}) {
    LyingServer server(Saying(bytes));
    absl::Status status = NextFrom(server);
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("announces")) << bytes;
  }
  EXPECT_LT(PeakMemoryMiB() - before, 64u);
}

TEST(RedisLyingServerTest, EndlessAnswers_EndWithinTheirLimits) {
  size_t before = PeakMemoryMiB();
  for (std::string piece : {std::string(1 << 16, '+'), std::string("*1\r\n"), std::string(":1\r\n"),
                            "*500000\r\n" + std::string(1 << 16, '\n')}) {
    LyingServer server([&](LyingPeer& peer) {
      Converse(peer, [&](const Reply& command) {
        if (IsGreeting(command)) return Bulk(kInfo);
        while (peer.Send(piece)) {
        }
        return std::string();
      });
    });
    absl::Status status = NextFrom(server);
    EXPECT_FALSE(status.ok());
  }
  EXPECT_LT(PeakMemoryMiB() - before, 64u);
}

TEST(RedisLyingServerTest, DrippingServer_HoldsNoCallPastItsDeadline) {
  LyingServer server([](LyingPeer& peer) {
    Converse(peer, [&](const Reply& command) {
      if (IsGreeting(command)) return Bulk(kInfo);
      peer.Drip("$1000000\r\n" + std::string(100'000, 'x'), 20);
      return std::string();
    });
  });
  auto sequencer = RedisSequencer::Open(OptionsOf(server, absl::Seconds(1)), {});
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  absl::Time start = absl::Now();
  absl::Status status = (*sequencer)->Next("k").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << "the answer would take 33 minutes";

  LyingServer greeter([](LyingPeer& peer) {
    Converse(peer, [&](const Reply&) {
      peer.Drip("$1000000\r\n" + std::string(100'000, 'x'), 20);
      return std::string();
    });
  });
  start = absl::Now();
  EXPECT_TRUE(
      absl::IsUnavailable(RedisSequencer::Open(OptionsOf(greeter, absl::Seconds(1)), {}).status()));
  EXPECT_LT(absl::Now() - start, absl::Seconds(20));
}

TEST(RedisLyingServerTest, TextOfTheServer_IsEscapedInMessages) {
  for (const char* error : {"-ERR \x1B[2J\x07 gone\r\n", "-LOADING \x1B]0;owned\x07\r\n"}) {
    LyingServer server(Saying(error));
    absl::Status status = NextFrom(server);
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
    EXPECT_THAT(std::string(status.message()), HasSubstr("\\x1b"));
  }
  std::string info = kInfo;
  info.replace(info.find("7.0.15"), 6, "\x1B[31m4");
  LyingServer server(
      [&](LyingPeer& peer) { Converse(peer, [&](const Reply&) { return Bulk(info); }); });
  absl::Status status = RedisSequencer::Open(OptionsOf(server), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\x1B")));
}

TEST(RedisLyingServerTest, SlotsThatOverlap_AreRefusedAtOnce) {
  std::string slots = "*80000\r\n";
  for (int i = 0; i < 80'000; ++i) slots += "*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\nh\r\n:1\r\n";
  std::string info = kInfo;
  info.replace(info.find("standalone"), 10, "cluster");
  LyingServer server([&](LyingPeer& peer) {
    Converse(peer, [&](const Reply& command) { return IsGreeting(command) ? Bulk(info) : slots; });
  });
  absl::Status status = RedisSequencer::Open(OptionsOf(server, absl::Seconds(60)), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("slot 0 comes twice"));
}

TEST(RedisLyingServerTest, NumbersThatWouldOverflow_AreDataLoss) {
  const std::string most = "9223372036854775807";
  for (const std::string& answer :
       {absl::StrCat("*3\r\n", Bulk("ok"), Bulk(most), Bulk("1")),
        absl::StrCat("*3\r\n", Bulk("banana"), Bulk("1"), Bulk("1")),
        absl::StrCat("*3\r\n", Bulk("ok"), Bulk("-1"), Bulk("1")),
        absl::StrCat("*2\r\n", Bulk("ok"), Bulk("1")), absl::StrCat("*1\r\n", Bulk("wrap")),
        absl::StrCat("*2\r\n", Bulk("ahead"), Bulk("1")),
        absl::StrCat("*3\r\n", Bulk("ahead"), Bulk("x"), Bulk("1"))}) {
    LyingServer server(Saying(answer));
    absl::Status status = NextFrom(server);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  }
  for (const char* answer :
       {"+OK\r\n", ":1\r\n", "*0\r\n", "$-1\r\n", "*1\r\n*0\r\n", "*1\r\n:1\r\n"}) {
    LyingServer server(Saying(answer));
    EXPECT_TRUE(absl::IsFailedPrecondition(NextFrom(server))) << answer;
  }
}

// Replies at random: of the right kind with wrong contents, of the wrong kind, cut off, too long.
class RandomReplies {
 public:
  explicit RandomReplies(uint32_t seed) : random_(seed) {}

  std::string Next() {
    switch (Pick(12)) {
      case 0:
        return Value(0).substr(0, Pick(20));  // cut off; empty: hangs up
      case 1:
        return Bytes(Pick(100));
      case 2:
        return Value(0);
      case 3:
        return "-" + Word() + " 3999 " + Word() + ":" + Word() + "\r\n";
      case 4:
        return "-NOSCRIPT no\r\n";
      default:
        return Script();
    }
  }
  uint32_t Pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

 private:
  std::string Bytes(uint32_t size) {
    std::string bytes;
    for (uint32_t i = 0; i < size; ++i) bytes += static_cast<char>(random_());
    return bytes;
  }
  // Texts that the scripts return, in any order.
  std::string Script() {
    uint32_t size = 1 + Pick(9);
    std::string reply = absl::StrCat("*", size, "\r\n");
    for (uint32_t i = 0; i < size; ++i) reply += Pick(8) == 0 ? Value(1) : Bulk(Word());
    return reply;
  }
  std::string Word() {
    static constexpr const char* kWords[] = {"ok",
                                             "wrap",
                                             "ahead",
                                             "max",
                                             "bad",
                                             "none",
                                             "exists",
                                             "clock",
                                             "options",
                                             "schema",
                                             "lost",
                                             "short",
                                             "stored",
                                             "kept",
                                             "below",
                                             "begun",
                                             "late",
                                             "taken",
                                             "rests",
                                             "refused",
                                             "more",
                                             "1 - 1700000000000 1 1 a {}",
                                             "-",
                                             "0",
                                             "1",
                                             "64",
                                             "4096",
                                             "9223372036854775807",
                                             "72057594037927936",
                                             "72057594037927937",
                                             "18446744073709551615",
                                             "-1",
                                             "",
                                             "256 1672531200000000 16384 16777216",
                                             "256 1 1 4096",
                                             "128 64",
                                             "9 9 9 9 9",
                                             "MOVED",
                                             "ASK",
                                             "127.0.0.1",
                                             "?",
                                             "1700000000000000",
                                             "9000000000000000",
                                             "0123456789abcdef"};
    return kWords[Pick(std::size(kWords))];
  }
  std::string Value(int depth) {
    switch (Pick(6)) {
      case 0:
        return absl::StrCat(":", static_cast<int64_t>(random_()) - 100, "\r\n");
      case 1:
        return "$-1\r\n";
      case 2:
        return "-ERR " + Word() + "\r\n";
      case 3:
        return absl::StrCat("*", Pick(2) == 0 ? Pick(4) : random_(), "\r\n", Bytes(Pick(9)));
      case 4: {
        if (depth > 9) return "*0\r\n";
        uint32_t size = Pick(4);
        std::string reply = absl::StrCat("*", size, "\r\n");
        for (uint32_t i = 0; i < size; ++i) reply += Value(depth + 1);
        return reply;
      }
      default:
        return Bulk(Word());
    }
  }

  std::mt19937 random_;
};

// Every call there is.
void UseSequencer(Sequencer& sequencer) {
  sequencer.Next("k").status().IgnoreError();
  sequencer.NextBatch("k", 10).status().IgnoreError();
  sequencer.Get("k").status().IgnoreError();
  sequencer.Set("k", 7).IgnoreError();
  sequencer.SetIfNotExists("k", 7).status().IgnoreError();
}

void UseStore(RedisSegmentStore& store) {
  SpaceName space;
  store.Create(space, SpaceOptions(), absl::Now()).IgnoreError();
  store.ReadOptions(space).status().IgnoreError();
  SegmentRequest request;
  request.length = 64;
  store.Allocate(space, SpaceOptions(), {&request, 1}, absl::Now()).status().IgnoreError();
  auto view = store.Show(space, absl::Now());
  if (view.ok()) {
    EXPECT_LE(view->base, uint64_t{1} << 56);
  }
  store.DeclareRestored(space, absl::Now()).IgnoreError();
  store.Raise(space, 1000, RaiseReach::kNearFloor, absl::Now()).status().IgnoreError();
}

void UseWorkers(RedisWorkerLeaseStore& store) {
  SpaceName space;
  store.Create(space, {.first_ever = true}, absl::Now()).IgnoreError();
  WorkerAcquire wish;
  wish.nonce = "a";
  wish.caller_now = absl::Now();
  auto grant = store.Acquire(space, wish);
  if (grant.ok()) {
    EXPECT_LE(grant->worker, wish.range.last);
    EXPECT_GE(grant->ceiling, grant->granted_at + wish.term.ttl);
    EXPECT_LE(absl::AbsDuration(grant->granted_at - wish.caller_now),
              wish.term.max_skew + absl::Milliseconds(1));
  }
  WorkerRenew renewal;
  renewal.worker = 7;
  renewal.token = 64;
  renewal.nonce = "a";
  renewal.ceiling = renewal.caller_now = absl::Now();
  auto renewed = store.Renew(space, renewal);
  if (renewed.ok()) {
    EXPECT_EQ(renewed->worker, 7u);
  }
  store.Release(space, {7, 64, absl::Now()}).IgnoreError();
  store.Show(space).status().IgnoreError();
}

TEST(RedisLyingServerTest, GrantsThatTheRulesCannotMake_AreDataLoss) {
  const auto now = static_cast<uint64_t>(absl::ToUnixMillis(absl::Now()));
  auto grant = [&](uint64_t worker, uint64_t token, uint64_t floor, uint64_t ceiling) {
    return absl::StrCat("*7\r\n", Bulk("ok"), Bulk(absl::StrCat(worker)), Bulk(absl::StrCat(token)),
                        Bulk(absl::StrCat(floor)), Bulk(absl::StrCat(ceiling)), Bulk("0"),
                        Bulk(absl::StrCat(now)));
  };
  auto acquire = [&](const std::string& answer) {
    LyingServer server(Saying(answer));
    auto store = RedisWorkerLeaseStore::Open(OptionsOf(server)).value();
    WorkerAcquire wish;
    wish.nonce = "a";
    wish.caller_now = absl::Now();
    return store->Acquire(SpaceName(), wish).status();
  };
  constexpr uint64_t kWhole = 610'000;
  EXPECT_TRUE(acquire(grant(5, 9, 0, now + kWhole)).ok());
  EXPECT_TRUE(absl::IsDataLoss(acquire(grant(1024, 9, 0, now + kWhole)))) << "outside the range";
  EXPECT_TRUE(absl::IsDataLoss(acquire(grant(5, 0, 0, now + kWhole)))) << "token";
  EXPECT_TRUE(absl::IsDataLoss(acquire(grant(5, 9, 0, now + kWhole - 1)))) << "ceiling";
  EXPECT_TRUE(absl::IsDataLoss(acquire(grant(5, 9, now + kWhole, now + kWhole)))) << "floor";
  // A search that does not advance.
  EXPECT_TRUE(absl::IsDataLoss(
      acquire(absl::StrCat("*5\r\n", Bulk("more"), Bulk("0"), Bulk("0"), Bulk("0"), Bulk("1")))));
}

TEST(RedisLyingServerTest, RandomReplies_DoNoHarm) {
  size_t before = PeakMemoryMiB();
  absl::Time start = absl::Now();
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      RandomReplies replies(seed);
      Converse(peer, [&](const Reply& command) {
        bool honest = IsGreeting(command) && replies.Pick(20) != 0;
        return honest ? Bulk(kInfo) : replies.Next();
      });
    });
    RedisOptions options = OptionsOf(server, absl::Milliseconds(30));
    auto sequencer = RedisSequencer::Open(options, {});
    if (sequencer.ok()) UseSequencer(**sequencer);
    auto store = RedisSegmentStore::Open(options);
    if (store.ok()) UseStore(**store);
    auto workers = RedisWorkerLeaseStore::Open(options);
    if (workers.ok()) UseWorkers(**workers);
  }
  EXPECT_LT(PeakMemoryMiB() - before, 128u);
  EXPECT_LT(absl::Now() - start, absl::Seconds(200)) << "19 calls of 30 ms a seed";
}

TEST(RedisLyingServerTest, RandomRepliesToACeiling_DoNoHarm) {
  TemporaryDirectory directory;
  std::shared_ptr<Sequencer> durable =
      SqliteSequencer::Open(directory / "durable", {.create = true}, {}).value();
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    LyingServer server([seed](LyingPeer& peer) {
      RandomReplies replies(seed);
      Converse(peer, [&](const Reply& command) {
        return IsGreeting(command) ? Bulk(kInfo) : replies.Next();
      });
    });
    auto sequencer =
        CeilingSequencer::Open(OptionsOf(server, absl::Milliseconds(30)), {}, durable, {});
    if (sequencer.ok()) UseSequencer(**sequencer);
  }
}

}  // namespace
}  // namespace locus
