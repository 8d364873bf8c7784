// SPDX-License-Identifier: Apache-2.0
// Servers that stall, die, refuse and come back; and what is sent where.
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/engine/redis.h"
#include "locus/order_id_generator.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

std::unique_ptr<RedisSequencer> Open(const RedisOptions& server) {
  auto sequencer = RedisSequencer::Open(server, SequencerOptions());
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return *std::move(sequencer);
}

RedisOptions Impatient(const RedisServer& server) {
  RedisOptions options = server.options();
  options.timeout = options.connect_timeout = absl::Seconds(1);
  return options;
}

TEST(RedisFaultTest, StalledServer_AllPendingCallsEndInTimeAndNothingRepeats) {
  RedisServer server;
  auto sequencer = Open(Impatient(server));
  ASSERT_EQ(sequencer->Next("k").value(), 1);
  server.Stall();
  std::atomic<int> unavailable{0};
  absl::Time start = absl::Now();
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back(
        [&] { unavailable += absl::IsUnavailable(sequencer->Next("k").status()); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(unavailable, 6);
  EXPECT_LT(absl::Now() - start, absl::Seconds(60));
  absl::Status status = sequencer->Next("k").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find(absl::StrCat("127.0.0.1:", server.port())),
            absl::string_view::npos)
      << status;
  server.Resume();
  int64_t next = 0, attempts = 0;
  ASSERT_TRUE(WaitUntil([&] {
    ++attempts;
    auto number = sequencer->Next("k");
    next = number.value_or(0);
    return number.ok();
  }));
  EXPECT_GT(next, 1);
  EXPECT_LE(next, 7 + attempts) << "each call was sent once, whether it was applied or not";
  EXPECT_GE(sequencer->Stats().failures, 7u);
}

TEST(RedisFaultTest, ServerGone_IsUnavailableAtOnceAndUsedAgainWhenBack) {
  RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
  RedisOptions options = server.options();
  options.timeout = options.connect_timeout = absl::Minutes(2);
  auto sequencer = Open(options);
  ASSERT_EQ(sequencer->NextBatch("k", 5).value().last(), 5);
  server.KillHard();
  absl::Time start = absl::Now();
  EXPECT_TRUE(absl::IsUnavailable(sequencer->Next("k").status()));
  EXPECT_LT(absl::Now() - start, options.timeout / 2);
  EXPECT_TRUE(absl::IsUnavailable(RedisSequencer::Open(server.options(), {}).status()));
  ASSERT_TRUE(server.Start());
  ASSERT_TRUE(WaitUntil([&] { return sequencer->Next("k").ok(); }));
  EXPECT_GT(sequencer->Next("k").value(), 6);
}

// The next call finds the connection closed before it has sent anything: it need not fail.
TEST(RedisFaultTest, IdleConnectionClosedByTheServer_IsReplacedUnnoticed) {
  RedisServer server;
  auto sequencer = Open(server.options());
  ASSERT_EQ(sequencer->Next("k").value(), 1);
  absl::Time idle = absl::Now() + absl::Milliseconds(2);
  server.Ask("CLIENT KILL TYPE normal");
  ASSERT_TRUE(WaitUntil([&] { return absl::Now() > idle; }));
  EXPECT_EQ(sequencer->Next("k").value(), 2);
  EXPECT_EQ(sequencer->Stats().connects, 2u);
}

TEST(RedisFaultTest, NoServerListens_IsUnavailableAndNamesThePlace) {
  RedisOptions options;
  options.addresses = {{"127.0.0.1", FreePort()}};
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("127.0.0.1"), absl::string_view::npos);
}

TEST(RedisFaultTest, BusyScriptOfOthers_IsUnavailable) {
  RedisServer server({"--busy-reply-threshold", "1"});
  auto sequencer = Open(server.options());
  ASSERT_TRUE(sequencer->Next("k").ok());
  std::thread busy([&] { server.AskWords({"EVAL", "while true do end", "0"}); });
  EXPECT_TRUE(WaitUntil([&] { return absl::IsUnavailable(sequencer->Next("k").status()); }));
  EXPECT_TRUE(WaitUntil([&] { return server.Ask("SCRIPT KILL") == "OK"; }));
  busy.join();
  EXPECT_TRUE(sequencer->Next("k").ok());
}

TEST(RedisFaultTest, FullMemory_IsUnavailableAndChangesNothing) {
  RedisServer server;
  auto sequencer = Open(server.options());
  ASSERT_EQ(sequencer->Next("k").value(), 1);
  server.Ask("CONFIG SET maxmemory 1000");
  EXPECT_TRUE(absl::IsUnavailable(sequencer->Next("k").status()));
  server.Ask("CONFIG SET maxmemory 0");
  EXPECT_EQ(sequencer->Next("k").value(), 2);
}

TEST(RedisFaultTest, ServerThatMayEvictCounters_IsRefused) {
  RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  absl::Status status = RedisSequencer::Open(server.options(), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("allkeys-lru"), absl::string_view::npos);
  server.Ask("CONFIG SET maxmemory-policy noeviction");
  EXPECT_TRUE(RedisSequencer::Open(server.options(), {}).ok());
}

TEST(RedisFaultTest, Replica_IsRefusedAndSoIsAMasterThatBecameOne) {
  RedisServer master, replica;
  auto sequencer = Open(replica.options());
  ASSERT_TRUE(sequencer->Next("k").ok());
  ASSERT_TRUE(Replicate(master, replica));
  absl::Status status = RedisSequencer::Open(replica.options(), {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(sequencer->Next("k").status())) << "READONLY, on the old socket";
  EXPECT_TRUE(absl::IsFailedPrecondition(sequencer->Next("k").status()));
}

TEST(RedisFaultTest, Password_IsSentAndNeverShown) {
  RedisServer server({"--requirepass", "s3cret word"});
  RedisOptions options = server.options();
  absl::Status without = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(without)) << without;
  EXPECT_NE(without.message().find("no password was given: commands take that of a store from "
                                   "LOCUS_PASSWORD"),
            absl::string_view::npos)
      << without;
  options.password = "wr0ng word";
  absl::Status wrong = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(wrong)) << wrong;
  EXPECT_EQ(wrong.message().find("wr0ng"), absl::string_view::npos) << wrong;
  options.password = "s3cret word";
  EXPECT_TRUE(Open(options)->Next("k").ok());
}

// A server that does not know a command repeats its words.
TEST(RedisFaultTest, PasswordForAServerWithoutAuth_IsNotInTheMessage) {
  RedisServer server({"--rename-command", "AUTH", "HIDDEN"});
  RedisOptions options = server.options();
  options.password = "s3cret";
  for (const char* user : {"", "somebody"}) {
    options.user = user;
    absl::Status status = RedisSequencer::Open(options, {}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(status.message().find("s3cret"), absl::string_view::npos) << status;
    EXPECT_NE(status.message().find("AUTH"), absl::string_view::npos) << status;
  }
}

TEST(RedisFaultTest, PasswordForAServerThatHasNone_IsNoObstacle) {
  RedisServer server;
  RedisOptions options = server.options();
  options.password = "of the ceiling's engine, say";
  EXPECT_EQ(Open(options)->Next("k").value(), 1);
}

TEST(RedisFaultTest, UserWithTheDocumentedRights_CanDoAllAndOneWithoutGetsTheReason) {
  RedisServer server;
  ASSERT_EQ(
      server.AskWords({"ACL",      "SETUSER", "orders", "on",       ">pw",      "resetkeys",
                       "~locus:*", "-@all",   "+eval",  "+evalsha", "+info",    "+select",
                       "+time",    "+hmget",  "+hset",  "+hget",    "+hgetall", "+hincrby",
                       "+hdel",    "+exists", "+del",   "+persist", "+pexpire", "+cluster|slots",
                       "+asking"}),
      "OK");
  RedisOptions options = server.options();
  options.user = "orders";
  options.password = "pw";
  auto sequencer = Open(options);
  EXPECT_EQ(sequencer->Next("k").value(), 1);
  EXPECT_TRUE(sequencer->Set("k", 5).ok());
  auto store = RedisSegmentStore::Open(options);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Create(SpaceName(), SpaceOptions(), absl::Now()).ok());
  SegmentRequest request;
  EXPECT_TRUE((*store)->Allocate(SpaceName(), SpaceOptions(), {&request, 1}, absl::Now()).ok());
  EXPECT_TRUE((*store)->Show(SpaceName(), absl::Now()).ok());
  // Also an account from before sequence types were listed in parts.
  for (const char* right : {"-hscan", "+hscan"}) {
    server.AskWords({"ACL", "SETUSER", "orders", right});
    auto types = RedisSequenceTypeStore::Open(options);
    ASSERT_TRUE(types.ok()) << types.status();
    server.AskWords({"HSET", "locus:sequence_types", "a", "1 x"});
    const auto listed = (*types)->ListAny();
    ASSERT_TRUE(listed.ok()) << right << ": " << listed.status();
    EXPECT_EQ(listed->size(), 1u);
  }
  server.Ask("ACL SETUSER orders -evalsha -eval");
  EXPECT_TRUE(absl::IsFailedPrecondition(sequencer->Next("k").status()));
}

// A machine's own address that is not a loopback one; empty: it has none.
std::string OwnAddress() {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(9);
  inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
  socklen_t length = sizeof address;
  std::string text;
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0) {
    char buffer[INET_ADDRSTRLEN];
    text = inet_ntop(AF_INET, &address.sin_addr, buffer, sizeof buffer);
  }
  close(fd);
  return text;
}

TEST(RedisFaultTest, PasswordBeyondThisHost_IsNotSentUnlessAllowed) {
  std::string own = OwnAddress();
  if (own.empty() || own.starts_with("127.")) {
    std::cout << "this machine has no address but loopback: nothing to test it with\n";
    GTEST_SKIP();
  }
  RedisServer server({"--bind", own, "127.0.0.1", "--requirepass", "pw"});
  RedisOptions options = server.options();
  options.addresses[0].host = own;
  options.password = "pw";
  absl::Status status = RedisSequencer::Open(options, {}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_NE(status.message().find("password_in_plain_text"), absl::string_view::npos) << status;
  options.password_in_plain_text = true;
  EXPECT_TRUE(Open(options)->Next("k").ok());
}

constexpr uint64_t kMostNotes = 1 << 20;
struct Notes {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> values[kMostNotes];
};
Notes* SharedNotes() {
  void* pages = mmap(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<Notes*>(pages);
}

// Draws order IDs until killed; a generator is never made anew once it works.
int DrawIds(const RedisOptions& server, Notes& notes) {
  while (true) {
    auto store = RedisSegmentStore::Open(server);
    if (!store.ok()) continue;
    OrderIdGenerator::Options options;
    options.horizon = absl::Seconds(1);
    auto generator = OrderIdGenerator::Create(*std::move(store), options);
    if (!generator.ok()) continue;
    for (uint64_t n = 0; n < kMostNotes;) {
      auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
      auto id = (*generator)->Next(BuyerKey::Uint64(n % 40), soon);
      if (!id.ok()) continue;
      notes.values[n].store(id->first_word());
      notes.count.store(++n);
      if (n % 16 == 0) sched_yield();
    }
    pause();
  }
}

TEST(RedisFaultTest, ServerKilledStalledAndEmptiedUnderProcesses_NoIdTwice) {
  RedisServer server;
  RedisOptions options = Impatient(server);
  {
    auto store = RedisSegmentStore::Open(options).value();
    ASSERT_TRUE(store->Create(SpaceName(), SpaceOptions(), absl::Now()).ok());
  }
  constexpr int kProcesses = 3;
  std::vector<Notes*> notes;
  std::vector<ChildProcess> children;
  for (int i = 0; i < kProcesses; ++i) notes.push_back(SharedNotes());
  auto start = [&](int i) {
    return ChildProcess([&, i] { return DrawIds(options, *notes[static_cast<size_t>(i)]); });
  };
  children.push_back(start(0));
  children.push_back(start(1));
  auto all_go_on = [&](size_t processes) {
    std::vector<uint64_t> before;
    for (size_t i = 0; i < processes; ++i) before.push_back(notes[i]->count);
    return WaitUntil([&] {
      for (size_t i = 0; i < processes; ++i) {
        if (notes[i]->count < std::min(kMostNotes, before[i] + 3000)) return false;
      }
      return true;
    });
  };
  ASSERT_TRUE(all_go_on(2));
  ASSERT_EQ(server.Ask("SAVE"), "OK");
  ASSERT_TRUE(all_go_on(2));
  server.Stall();
  for (int i = 0; i < 2; ++i) {  // until calls have run into their timeouts
    EXPECT_TRUE(absl::IsUnavailable(RedisSegmentStore::Open(options).status()));
  }
  server.Resume();
  ASSERT_TRUE(all_go_on(2));
  server.KillHard();
  ASSERT_TRUE(server.Start()) << "from the older dump";
  ASSERT_TRUE(all_go_on(2));
  children.push_back(start(2));
  ASSERT_TRUE(all_go_on(3)) << "one that has seen nothing";
  for (ChildProcess& child : children) {
    child.Kill(SIGKILL);
    EXPECT_EQ(child.Wait(), -SIGKILL);
  }
  std::vector<uint64_t> all;
  for (Notes* mine : notes) {
    for (uint64_t i = 0; i < mine->count; ++i) all.push_back(mine->values[i]);
    munmap(mine, sizeof(Notes));
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_GT(all.size(), 20000u);
}

}  // namespace
}  // namespace locus
