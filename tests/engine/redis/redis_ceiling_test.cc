// SPDX-License-Identifier: Apache-2.0
// CeilingSequencer on real servers: its scripts beside the protocol, and Redis losing what it held.
#include <limits>
#include <random>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "locus/engine/sqlite.h"
#include "src/engine/redis/ceiling_store.h"
#include "tests/engine/redis/redis_server.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

std::shared_ptr<Sequencer> Durable(const std::string& path) {
  SqliteSegmentStore::Options file;
  file.create = true;
  auto durable = SqliteSequencer::Open(path, file, SequencerOptions());
  EXPECT_TRUE(durable.ok()) << durable.status();
  return *std::move(durable);
}

std::unique_ptr<RedisSequencer> OpenPlain(const RedisOptions& server) {
  auto sequencer = RedisSequencer::Open(server, SequencerOptions());
  EXPECT_TRUE(sequencer.ok()) << sequencer.status();
  return *std::move(sequencer);
}

class RedisCeilingTest : public ::testing::Test {
 protected:
  std::unique_ptr<CeilingSequencer> Open(const RedisOptions& server,
                                         const SequencerOptions& options = {},
                                         int64_t block = 100) {
    CeilingSequencer::Options blocks;
    blocks.block = block;
    auto sequencer = CeilingSequencer::Open(server, options, durable_, blocks);
    EXPECT_TRUE(sequencer.ok()) << sequencer.status();
    return *std::move(sequencer);
  }
  std::unique_ptr<CeilingSequencer> Open() { return Open(server_.options()); }

  // Draws `count` numbers, each above all before.
  void Draw(Sequencer& sequencer, int count) {
    for (int i = 0; i < count; ++i) {
      auto number = sequencer.Next("k");
      ASSERT_TRUE(number.ok()) << number.status();
      ASSERT_GT(*number, last_);
      last_ = *number;
    }
  }

  TemporaryDirectory directory_;
  std::shared_ptr<Sequencer> durable_ = Durable(directory_ / "ceilings.db");
  RedisServer server_;
  int64_t last_ = 0;
};

TEST_F(RedisCeilingTest, Numbers_RunWithoutGapsAcrossBlocks) {
  auto sequencer = Open();
  for (int64_t i = 1; i <= 1000; ++i) ASSERT_EQ(sequencer->Next("k").value(), i);
  auto stats = sequencer->Stats();
  EXPECT_GT(stats.raises, 1u);
  EXPECT_EQ(stats.losses, 1u) << "the first block";
  EXPECT_GE(durable_->Get("k").value(), 1000);
  EXPECT_EQ(Open()->Next("k").value(), 1001) << "another process goes on";
}

TEST_F(RedisCeilingTest, BatchAndStep_AreOneRun) {
  SequencerOptions options;
  options.step = 7;
  auto sequencer = Open(server_.options(), options);
  EXPECT_EQ(sequencer->Next("k").value(), 7);
  SequenceBatch batch = sequencer->NextBatch("k", 5000).value();
  EXPECT_EQ(batch.count, 5000);
  EXPECT_EQ(batch.first % 7, 0);
  EXPECT_EQ(sequencer->Next("k").value(), batch.last() + 7);
}

TEST_F(RedisCeilingTest, ReturnedTail_IsGivenOutAgainUnlessAnotherCallCameBetween) {
  auto sequencer = Open();
  SequenceBatch batch = sequencer->NextBatch("k", 50).value();
  EXPECT_TRUE(sequencer->Return("k", batch, 10).value());
  EXPECT_EQ(sequencer->Next("k").value(), 11);
  EXPECT_FALSE(sequencer->Return("k", batch, 5).value());
  batch = sequencer->NextBatch("k", 10).value();
  server_.Ask("FLUSHALL");
  EXPECT_FALSE(sequencer->Return("k", batch, 5).value()) << "that life is over";
  EXPECT_GT(sequencer->Next("k").value(), batch.last());
}

TEST_F(RedisCeilingTest, SetAndGet_OnlyRaise) {
  auto sequencer = Open();
  EXPECT_TRUE(absl::IsNotFound(sequencer->Get("k").status()));
  EXPECT_TRUE(sequencer->SetIfNotExists("k", 5000).value());
  EXPECT_FALSE(sequencer->SetIfNotExists("k", 9000).value());
  EXPECT_EQ(sequencer->Get("k").value(), 5000);
  Draw(*sequencer, 1);
  EXPECT_EQ(last_, 5001);
  ASSERT_TRUE(sequencer->Set("k", 123456789).ok());
  Draw(*sequencer, 200);
  EXPECT_GT(last_, 123456789);
  EXPECT_TRUE(absl::IsFailedPrecondition(sequencer->Set("k", 5)));
  server_.Ask("FLUSHALL");
  EXPECT_FALSE(sequencer->SetIfNotExists("k", 1).value()) << "the durable one knows it";
  EXPECT_GE(sequencer->Get("k").value(), last_);
  Draw(*sequencer, 1);
}

TEST_F(RedisCeilingTest, OptionsUnderWhichNumbersRepeat_AreRefused) {
  SequencerOptions wraps, forgets;
  wraps.max_value = 10;
  wraps.at_max = SequencerOptions::AtMax::kWrap;
  forgets.ttl = absl::Seconds(1);
  for (const SequencerOptions& options : {wraps, forgets}) {
    auto refused = CeilingSequencer::Open(server_.options(), options, durable_);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  }
  auto none = CeilingSequencer::Open(server_.options(), {}, nullptr);
  EXPECT_TRUE(absl::IsInvalidArgument(none.status()));
}

TEST_F(RedisCeilingTest, MaxValue_IsReachedExactlyAndThenNoBlockIsBurnt) {
  SequencerOptions options;
  options.max_value = 1000;
  auto sequencer = Open(server_.options(), options);
  for (int64_t i = 1; i <= 1000; ++i) ASSERT_EQ(sequencer->Next("k").value(), i);
  EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("k").status()));
  auto raises = [&] { return sequencer->Stats().raises; };
  uint64_t before = raises();
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("k").status()));
  }
  EXPECT_LE(raises(), before + 1);
  server_.Ask("FLUSHALL");
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("k").status()));
  }
  EXPECT_LE(raises(), before + 3);
}

TEST_F(RedisCeilingTest, LastNumbersOfAll_AreExact) {
  auto sequencer = Open();
  for (int64_t edge : {int64_t{1} << 53, kHighest - 5}) {
    ASSERT_TRUE(sequencer->Set("k", edge - 1).ok());
    EXPECT_EQ(sequencer->Next("k").value(), edge);
    EXPECT_EQ(sequencer->Next("k").value(), edge + 1);
  }
  EXPECT_EQ(sequencer->NextBatch("k", 4).value().last(), kHighest);
  EXPECT_TRUE(absl::IsOutOfRange(sequencer->Next("k").status()));
}

TEST_F(RedisCeilingTest, FlushAll_PlainRepeatsAndThisContinues) {
  auto plain = OpenPlain(server_.options());
  auto sequencer = Open();
  auto other = Open();
  ASSERT_EQ(plain->Next("p").value(), 1);
  Draw(*sequencer, 250);
  server_.Ask("FLUSHALL");
  EXPECT_EQ(plain->Next("p").value(), 1) << "the same number again";
  Draw(*other, 10);
  Draw(*sequencer, 250);
  EXPECT_GE(other->Stats().losses, 1u);
}

TEST_F(RedisCeilingTest, RestartWithoutPersistence_PlainRepeatsAndThisContinues) {
  auto plain = OpenPlain(server_.options());
  auto sequencer = Open();
  ASSERT_EQ(plain->Next("p").value(), 1);
  Draw(*sequencer, 250);
  server_.KillHard();
  EXPECT_TRUE(absl::IsUnavailable(sequencer->Next("k").status()));
  ASSERT_TRUE(server_.Start());
  EXPECT_EQ(plain->Next("p").value(), 1) << "the same number again";
  Draw(*sequencer, 250);
}

TEST_F(RedisCeilingTest, RestartFromAnOldDump_PlainRepeatsAndThisContinues) {
  auto plain = OpenPlain(server_.options());
  auto sequencer = Open();
  Draw(*sequencer, 30);
  ASSERT_EQ(plain->Next("p").value(), 1);
  ASSERT_EQ(server_.Ask("SAVE"), "OK");
  ASSERT_EQ(plain->Next("p").value(), 2);
  Draw(*sequencer, 20);
  server_.KillHard();
  ASSERT_TRUE(server_.Start());
  EXPECT_EQ(server_.Ask("HGET locus:ceiling:k value"), "30") << "below what was given out";
  EXPECT_EQ(plain->Next("p").value(), 2) << "the same number again";
  Draw(*Open(), 1);  // a process that has seen nothing
  Draw(*sequencer, 250);
}

// The replica stops following, the master gives out more, and the replica takes over.
TEST_F(RedisCeilingTest, FailoverToALaggingReplica_PlainRepeatsAndThisContinues) {
  RedisServer replica;
  auto plain = OpenPlain(server_.options());
  auto sequencer = Open();
  Draw(*sequencer, 20);
  ASSERT_EQ(plain->Next("p").value(), 1);
  ASSERT_TRUE(Replicate(server_, replica));
  CutOff(replica);
  ASSERT_EQ(plain->Next("p").value(), 2);
  Draw(*sequencer, 20);
  server_.KillHard();
  ASSERT_EQ(replica.Ask("REPLICAOF NO ONE"), "OK");
  EXPECT_EQ(replica.Ask("HGET locus:ceiling:k value"), "20") << "below what was given out";
  EXPECT_EQ(OpenPlain(replica.options())->Next("p").value(), 2) << "the same number again";
  Draw(*Open(replica.options()), 250);
}

// A process keeps its connection while its master becomes a replica of another, and master again.
TEST_F(RedisCeilingTest, RolesChangedUnderAQuietConnection_NothingRepeats) {
  RedisServer other;
  auto quiet = Open();
  Draw(*quiet, 10);
  ASSERT_TRUE(Replicate(server_, other));
  CutOff(other);
  Draw(*Open(), 50);  // a process that quiet knows nothing of
  other.Ask("REPLICAOF NO ONE");
  // The old master takes over what the replica had, whatever that is, and comes back.
  server_.Ask(absl::StrCat("REPLICAOF 127.0.0.1 ", other.port()));
  ASSERT_TRUE(WaitUntil([&] {
    return server_.Ask("INFO replication").find("master_link_status:up") != std::string::npos;
  }));
  server_.Ask("REPLICAOF NO ONE");
  Draw(*quiet, 200);
}

// A replica has its master's replication ID, and may still accept writes.
TEST_F(RedisCeilingTest, WritableReplicaUnderAnOldConnection_GivesOutNothing) {
  RedisServer other;
  auto before = Open();
  Draw(*before, 10);
  ASSERT_TRUE(Replicate(server_, other));
  other.Ask("REPLICAOF NO ONE");
  server_.Ask("CONFIG SET replica-read-only no");
  auto after = Open(other.options());
  Draw(*after, 10);
  ASSERT_TRUE(Replicate(other, server_));
  absl::StatusOr<int64_t> number = before->Next("k");
  EXPECT_TRUE(absl::IsUnavailable(number.status())) << number.status();
  int64_t next = after->Next("k").value();
  EXPECT_NE(number.value_or(0), next) << "twice";
  server_.Ask("REPLICAOF NO ONE");
  last_ = next;
  Draw(*before, 10);
}

// Not covered (docs/run/engines-redis.md): Redis rewound, and the same master as before.
TEST_F(RedisCeilingTest, RewindUnderTheSameMaster_RepeatsForAProcessThatHasSeenNothing) {
  auto sequencer = Open();
  Draw(*sequencer, 10);
  ASSERT_EQ(server_.Ask("COPY locus:ceiling:k old"), "1");
  Draw(*sequencer, 10);
  ASSERT_EQ(server_.Ask("RENAME old locus:ceiling:k"), "OK");
  EXPECT_EQ(Open()->Next("k").value(), 11) << "this is the hole";
  EXPECT_GT(sequencer->Next("k").value(), last_) << "who has seen more notices";
}

// A sequencer that fails on demand.
class FaultySequencer : public Sequencer {
 public:
  explicit FaultySequencer(std::shared_ptr<Sequencer> real)
      : Sequencer(SequencerOptions()), real_(std::move(real)) {}
  std::atomic<bool> fails{false};

 protected:
  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    if (fails) return absl::UnavailableError("the disk is full");
    auto batch = real_->NextBatch(name, span);
    if (!batch.ok()) return batch.status();
    return Taken{batch->last(), batch->version};
  }
  absl::Status Store(const std::string&, int64_t) override { return absl::InternalError("unused"); }
  absl::StatusOr<bool> StoreNew(const std::string&, int64_t) override { return false; }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    auto value = real_->Get(name);
    if (absl::IsNotFound(value.status())) return std::nullopt;
    if (!value.ok()) return value.status();
    return *value;
  }
  absl::StatusOr<bool> PutBack(const std::string&, const Taken&, int64_t) override { return false; }

 private:
  const std::shared_ptr<Sequencer> real_;
};

TEST_F(RedisCeilingTest, DurableSequencerDown_NumbersContinueToTheCeilingAndLaterAgain) {
  auto faulty = std::make_shared<FaultySequencer>(durable_);
  durable_ = faulty;
  auto sequencer = Open();
  Draw(*sequencer, 10);
  faulty->fails = true;
  absl::Status status;
  int drawn = 0;
  while (status.ok() && drawn < 10000) {
    auto number = sequencer->Next("k");
    status = number.status();
    if (!status.ok()) break;
    EXPECT_GT(*number, last_);
    last_ = *number;
    ++drawn;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_NE(status.message().find("the disk is full"), absl::string_view::npos) << status;
  EXPECT_EQ(last_, durable_->Get("k").value()) << "all that was raised, and no more";
  EXPECT_GT(drawn, 50);
  EXPECT_FALSE(sequencer->Stats().last_raise_error.ok());
  faulty->fails = false;
  Draw(*sequencer, 300);
}

TEST_F(RedisCeilingTest, CeilingIsStoredBeforeRedisMayPassIt) {
  auto sequencer = Open();
  for (int i = 0; i < 1000; ++i) {
    Draw(*sequencer, 1);
    ASSERT_LE(last_, durable_->Get("k").value());
  }
}

TEST_F(RedisCeilingTest, ThreadsAndHandles_EachNumberOnceWhileRedisIsEmptied) {
  std::vector<std::unique_ptr<CeilingSequencer>> handles;
  for (int i = 0; i < 3; ++i) handles.push_back(Open());
  constexpr int kThreads = 6, kCalls = 400;
  std::vector<std::vector<int64_t>> got(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        auto number = handles[t % 3]->Next("k");
        if (number.ok()) got[t].push_back(*number);
        if (t == 0 && i % 100 == 50) server_.Ask("FLUSHALL");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<int64_t> all;
  size_t count = 0;
  for (const auto& numbers : got) {
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    all.insert(numbers.begin(), numbers.end());
    count += numbers.size();
  }
  EXPECT_EQ(all.size(), count);
  EXPECT_EQ(count, size_t{kThreads * kCalls});
}

TEST_F(RedisCeilingTest, ForkedChild_IsRefused) {
  auto sequencer = Open();
  Draw(*sequencer, 3);
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(sequencer->Next("k").status()) &&
                   absl::IsFailedPrecondition(sequencer->Get("k").status());
    sequencer.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  Draw(*sequencer, 3);
}

// The fork may copy a lock that is held.
TEST_F(RedisCeilingTest, ForkedWhileItsLockIsHeld_StatsOfTheChildDoNotHang) {
  auto sequencer = Open();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) sequencer->Stats();
  });
  for (int i = 0; i < 100; ++i) {
    ChildProcess child([&] {
      alarm(60);
      sequencer->Stats();
      return 0;
    });
    EXPECT_EQ(child.Wait(), 0);
    if (HasFailure()) break;
  }
  stop = true;
  busy.join();
}

TEST_F(RedisCeilingTest, SpoiltKey_IsDataLoss) {
  server_.Ask("HSET locus:ceiling:k value 5");
  EXPECT_TRUE(absl::IsDataLoss(Open()->Next("k").status()));
  server_.Ask("DEL locus:ceiling:k");
  auto sequencer = Open();
  Draw(*sequencer, 1);
  server_.Ask("HSET locus:ceiling:k value 999999");
  EXPECT_TRUE(absl::IsDataLoss(sequencer->Next("k").status())) << "above its ceiling";
}

// The state of "k" in Redis, in the protocol's terms.
ceiling::Held Held(RedisServer& server, const std::string& master) {
  ceiling::Held held;
  std::vector<std::string> fields = absl::StrSplit(
      server.Ask("HMGET locus:ceiling:k master life version value ceiling low high"), '\n');
  if (fields.size() != 7 || fields[0] == "(nil)") return held;
  auto number = [&](size_t i) { return std::strtoll(fields[i].c_str(), nullptr, 10); };
  held.master = fields[0] == master ? "this" : "another";
  held.life = fields[1];
  held.version = static_cast<uint64_t>(number(2));
  held.begun = fields[3] != "(nil)";
  if (held.begun) {
    held.value = number(3);
    held.ceiling = number(4);
  }
  if (fields[5] != "(nil)") held.next = ceiling::Block{number(5), number(6)};
  return held;
}

TEST_F(RedisCeilingTest, Scripts_FollowTheProtocol) {
  std::string info = server_.Ask("INFO replication");
  std::string master = info.substr(info.find("master_replid:") + 14, 40);
  redis::CeilingStore store(redis::Client::Open(server_.options()).value(), durable_);
  redis::CeilingStore::Name name{"locus:ceiling:k", "k"};
  int words[4] = {}, installs[5] = {};
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    server_.Ask("DEL locus:ceiling:k");
    ceiling::Held expected;
    uint64_t version = 0;
    int64_t at = std::vector<int64_t>{0, (int64_t{1} << 53) - 20, 999'999'980,
                                      kHighest - 200}[static_cast<size_t>(below(4))];
    int64_t top = at;
    for (int step = 0; step < 40 && top < kHighest - 60; ++step) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, " step ", step));
      int64_t kind = below(12);
      if (kind == 0) {  // another master's
        server_.Ask("HSET locus:ceiling:k master somebody");
        if (!expected.life.empty()) expected.master = "another";
        if (expected.life.empty()) server_.Ask("DEL locus:ceiling:k");
      } else if (kind < 5) {
        std::string life = below(4) == 0 ? "stale" : expected.life;
        int64_t from = std::max<int64_t>(0, top - 10 * below(2) + 10 * below(2));
        ceiling::Block block{from, from + 1 + below(30)};
        top = std::max(top, block.high);
        ++installs[static_cast<int>(ceiling::Install(expected, life, block, "this"))];
        ASSERT_TRUE(store.Install(name, life, block).ok());
      } else {
        ceiling::DrawRequest request;
        request.span = below(25);
        request.limit = below(3) == 0 ? std::max<int64_t>(25, top - below(40)) : kHighest;
        request.seen = below(10) == 0 ? version + 5 : 0;
        request.new_life = absl::StrCat("life", step);
        auto drawn = store.Draw(name, request);
        ASSERT_TRUE(drawn.ok()) << drawn.status();
        bool begins = drawn->life == request.new_life;
        ceiling::Held now = Held(server_, master);
        ceiling::Drawn wanted = ceiling::Draw(expected, request, "this", 1);
        if (begins) expected.version = now.version;  // by the server's clock
        ++words[static_cast<int>(wanted.word)];
        ASSERT_EQ(drawn->word, wanted.word);
        EXPECT_EQ(drawn->life, wanted.life);
        EXPECT_EQ(drawn->value, wanted.value);
        EXPECT_EQ(drawn->version, wanted.version);
        EXPECT_EQ(drawn->left, wanted.left);
        EXPECT_GE(now.version, request.seen);
      }
      ASSERT_EQ(Held(server_, master), expected);
      version = expected.version;
    }
  }
  for (int count : words) EXPECT_GT(count, 50);
  for (int count : installs) EXPECT_GT(count, 20);
}

}  // namespace
}  // namespace locus
