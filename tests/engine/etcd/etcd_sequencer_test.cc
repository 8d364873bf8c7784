// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <fstream>
#include <iostream>
#include <limits>
#include <thread>

#include "absl/time/clock.h"
#include "locus/testing/manual_clock.h"
#include "src/engine/etcd/sequence_value.h"
#include "tests/counter/sequencer_contract.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/support/child_process.h"

namespace locus {
namespace {

class EtcdUnderTest : public SequencerUnderTest {
 public:
  std::unique_ptr<Sequencer> Connect(const SequencerOptions& options) override {
    return MustOpenSequencer(options_, options);
  }

 private:
  const EtcdOptions options_ = FreshEtcdPrefix();
};

INSTANTIATE_TEST_SUITE_P(Etcd, SequencerContract,
                         ::testing::Values(SequencerEngine{
                             "etcd", [] { return std::make_unique<EtcdUnderTest>(); }}));

class EtcdSequencerTest : public ::testing::Test {
 protected:
  static SequencerOptions WithTtl(absl::Duration ttl) {
    SequencerOptions options;
    options.ttl = ttl;
    return options;
  }

  const EtcdOptions options_ = FreshEtcdPrefix();
  std::unique_ptr<EtcdSequencer> sequencer_ = MustOpenSequencer(options_);
};

TEST_F(EtcdSequencerTest, UsualCall_IsOneRoundTrip) {
  ASSERT_TRUE(sequencer_->Next("a").ok());
  uint64_t before = sequencer_->Stats().requests;
  for (int64_t i = 2; i < 12; ++i) EXPECT_EQ(sequencer_->Next("a").value(), i);
  EXPECT_EQ(sequencer_->Stats().requests, before + 10);
  auto other = MustOpenSequencer(options_);
  EXPECT_EQ(other->Next("a").value(), 12);
  EXPECT_EQ(other->Stats().conflicts, 1u) << "it took the key for new";
  before = sequencer_->Stats().requests;
  EXPECT_EQ(sequencer_->Next("a").value(), 13);
  EXPECT_EQ(sequencer_->Stats().requests, before + 2) << "one more after another process";
}

TEST_F(EtcdSequencerTest, UsualCallWithTtl_IsOneRoundTrip) {
  auto brief = MustOpenSequencer(options_, WithTtl(absl::Hours(1)));
  ASSERT_TRUE(brief->Next("a").ok());
  uint64_t before = brief->Stats().requests;
  for (int64_t i = 2; i < 12; ++i) EXPECT_EQ(brief->Next("a").value(), i);
  EXPECT_EQ(brief->Get("a").value(), 11);
  EXPECT_EQ(brief->Stats().requests, before + 11);
}

TEST_F(EtcdSequencerTest, CallsOfOneProcess_DoNotConflict) {
  std::vector<std::thread> threads;
  ASSERT_TRUE(sequencer_->Next("a").ok());
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) ASSERT_TRUE(sequencer_->Next("a").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sequencer_->Get("a").value(), 201);
  EXPECT_EQ(sequencer_->Stats().conflicts, 0u);
}

TEST_F(EtcdSequencerTest, GetWithTtl_LeavesTheBatchReturnable) {
  auto brief = MustOpenSequencer(options_, WithTtl(absl::Hours(1)));
  SequenceBatch batch = brief->NextBatch("a", 10).value();
  EXPECT_EQ(brief->Get("a").value(), 10);
  EXPECT_EQ(MustOpenSequencer(options_, WithTtl(absl::Hours(2)))->Get("a").value(), 10);
  EXPECT_EQ(brief->Return("a", batch, 4).value(), true) << "to be read is no write";
  EXPECT_EQ(brief->Next("a").value(), 5);
}

TEST_F(EtcdSequencerTest, KeysWithTtl_BelongToALeaseThatOutlivesThem) {
  auto brief = MustOpenSequencer(options_, WithTtl(absl::Minutes(10)));
  ASSERT_TRUE(brief->Next("a").ok());
  ASSERT_TRUE(brief->Next("b").ok());
  std::string log = SharedEtcd().directory() / "leases";
  ASSERT_EQ(std::system(("ETCDCTL_API=3 etcdctl --endpoints=" + options_.endpoints[0] +
                         " lease list | grep -v found > " + log)
                            .c_str()),
            0);
  std::ifstream leases(log);
  bool found = false;
  for (std::string id; std::getline(leases, id);) {
    std::string told = log + ".told";
    ASSERT_EQ(std::system(("ETCDCTL_API=3 etcdctl --endpoints=" + options_.endpoints[0] +
                           " lease timetolive --keys " + id + " > " + told)
                              .c_str()),
              0);
    std::string line;
    std::getline(std::ifstream(told), line);
    if (line.find(options_.prefix + "/seq/a") == std::string::npos) continue;
    EXPECT_NE(line.find(options_.prefix + "/seq/b"), std::string::npos) << line;
    EXPECT_NE(line.find("TTL(811s)"), std::string::npos) << line;
    found = true;
  }
  EXPECT_TRUE(found);
}

// The etcd lease was revoked, and its keys with it: new keys get a new one.
TEST_F(EtcdSequencerTest, LeaseThatIsGone_IsReplaced) {
  auto brief = MustOpenSequencer(options_, WithTtl(absl::Minutes(10)));
  ASSERT_TRUE(brief->Next("a").ok());
  ASSERT_EQ(
      std::system(("for lease in $(ETCDCTL_API=3 etcdctl --endpoints=" + options_.endpoints[0] +
                   " lease list | grep -v found); do ETCDCTL_API=3 etcdctl --endpoints=" +
                   options_.endpoints[0] + " lease revoke $lease > /dev/null; done")
                      .c_str()),
      0);
  EXPECT_EQ(brief->Next("b").value(), 1);
  EXPECT_EQ(brief->Next("a").value(), 1) << "the key went with its lease";
}

TEST_F(EtcdSequencerTest, ValueThatIsNoNumber_IsDataLoss) {
  for (const char* bad : {"x", "-1", "9223372036854775808", "1 2", "1 0 0", "1 2 3 4", "01"}) {
    PutRaw(options_, options_.prefix + "/seq/bad", bad);
    absl::Status status = sequencer_->Next("bad").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find(bad), absl::string_view::npos) << status;
    EXPECT_TRUE(absl::IsDataLoss(sequencer_->Get("bad").status()));
  }
  PutRaw(options_, options_.prefix + "/seq/bad", "41");
  EXPECT_EQ(sequencer_->Next("bad").value(), 42) << "as somebody with etcdctl repairs it";
}

TEST_F(EtcdSequencerTest, ForkedChild_IsRefused) {
  ASSERT_TRUE(sequencer_->Next("a").ok());
  ChildProcess child([&] {
    bool refused = absl::IsFailedPrecondition(sequencer_->Next("a").status()) &&
                   absl::IsFailedPrecondition(sequencer_->Get("a").status());
    sequencer_.reset();
    return refused ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(sequencer_->Next("a").value(), 2);
  EXPECT_EQ(sequencer_->Stats().connects, 1u);
}

// Each namespace of processes has a number 1 of its own.
TEST_F(EtcdSequencerTest, ForkedChildWithTheNumberOfItsParent_IsRefused) {
  ChildProcess unnumbered([&] {
    if (unshare(CLONE_NEWPID) != 0) return 2;
    ChildProcess parent([&] {
      auto sequencer = MustOpenSequencer(options_);
      if (!sequencer->Next("a").ok() || unshare(CLONE_NEWPID) != 0) return 3;
      ChildProcess child([&] {
        bool refused = absl::IsFailedPrecondition(sequencer->Next("a").status());
        sequencer.reset();
        return refused ? 0 : 1;
      });
      return child.Wait() == 0 && sequencer->Next("a").ok() ? 0 : 4;
    });
    return parent.Wait();
  });
  int code = unnumbered.Wait();
  if (code == 2) {
    std::cout << "this account may make no namespace of processes: nothing to test it with\n";
    GTEST_SKIP();
  }
  EXPECT_EQ(code, 0);
}

TEST_F(EtcdSequencerTest, BadOptions_AreRefused) {
  SequencerOptions bad;
  bad.step = 0;
  EXPECT_TRUE(absl::IsInvalidArgument(EtcdSequencer::Open(options_, bad).status()));
}

TEST(SequenceValueTest, Texts_AreReadBackOrRefused) {
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (const etcd::SequenceValue& value :
       {etcd::SequenceValue{0}, etcd::SequenceValue{kHighest},
        etcd::SequenceValue{7, 1'700'000'000'000, 0}, etcd::SequenceValue{7, kHighest, kHighest}}) {
    auto read = etcd::SequenceValue::Parse(value.Text());
    ASSERT_TRUE(read) << value.Text();
    EXPECT_EQ(read->Text(), value.Text());
  }
  for (const char* bad : {"", " ", "1 ", "1  2", " 1 2 3", "1 2 3 ", "1 -2 3", "1 2 -3"}) {
    EXPECT_FALSE(etcd::SequenceValue::Parse(bad)) << bad;
  }
}

// The servers' clock has passed the time at which the counter is forgotten, the caller's has not.
TEST_F(EtcdSequencerTest, ServersClockThatJumpedAhead_ForgetsNoCounter) {
  fakes::ManualClock behind(absl::Now() - absl::Hours(1));
  auto sequencer = EtcdSequencer::Open(options_, WithTtl(absl::Seconds(1)), behind).value();
  ASSERT_EQ(sequencer->NextBatch("a", 10)->last(), 10);
  const auto lasting = MustOpenSequencer(options_);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!absl::IsNotFound(lasting->Get("a").status())) {
    ASSERT_LT(absl::Now(), deadline) << "the servers do not forget it";
    absl::SleepFor(absl::Milliseconds(20));
  }
  behind.Jump(absl::Hours(1));
  EXPECT_EQ(sequencer->Next("a").value(), 11) << "as may one of them on the same host";
}

// The servers are behind their caller. By their clock the counter is forgotten after a second, by
// the caller's it was so from the start.
TEST_F(EtcdSequencerTest, ServersClockThatIsBehind_ForgetsNoCounter) {
  fakes::ManualClock ahead(absl::Now() + absl::Minutes(10));
  auto sequencer = EtcdSequencer::Open(options_, WithTtl(absl::Seconds(1)), ahead).value();
  ASSERT_EQ(sequencer->NextBatch("a", 5)->last(), 5);
  ASSERT_TRUE(MustOpenSequencer(options_, WithTtl(absl::Seconds(1)))->Next("b").ok());
  const auto lasting = MustOpenSequencer(options_);
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!absl::IsNotFound(lasting->Get("b").status())) {
    ASSERT_LT(absl::Now(), deadline) << "the servers do not forget it";
    absl::SleepFor(absl::Milliseconds(20));
  }
  EXPECT_EQ(sequencer->Next("a").value(), 6);
}

}  // namespace
}  // namespace locus
