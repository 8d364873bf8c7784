// SPDX-License-Identifier: Apache-2.0
// Runners that are stopped for longer than another one waits before it takes over, and wake up.
#include <fstream>
#include <iterator>

#include "migration/mysql/marker_tables.h"
#include "migration/run/row_cleaner.h"
#include "migration/run/tombstones.h"
#include "tests/run/fault_fixture.h"
#include "tests/support/private_server.h"

namespace locus {
namespace {

using internal::Phase;
using internal::Wish;
using mysql::BandRows;

// Publishes only while it is open; a call that comes earlier waits.
class HeldPublisher : public TablePublisher {
 public:
  explicit HeldPublisher(TablePublisher& publisher) : publisher_(publisher) {}

  void set_open(bool open) { open_ = open; }
  bool held() const { return held_; }

  absl::StatusOr<RoutingTable> Current() override { return publisher_.Current(); }
  absl::Status Publish(const RoutingTable& table, uint64_t expected, const GuardedChanges& named,
                       const PublicationNote& note) override {
    while (!open_) {
      held_ = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return publisher_.Publish(table, expected, named, note);
  }
  absl::StatusOr<std::vector<PublishedEpoch>> History(size_t most) override {
    return publisher_.History(most);
  }
  absl::StatusOr<RoutingTable> Fetch(uint64_t epoch) override { return publisher_.Fetch(epoch); }
  std::string place() const override { return publisher_.place(); }

 private:
  TablePublisher& publisher_;
  std::atomic<bool> open_ = true, held_ = false;
};

class ZombieRunnerTest : public FaultFixture {
 protected:
  // A process that stops itself before its statement number `statement`.
  std::unique_ptr<PrivateServer> StartStopping(int statement) {
    auto process = std::make_unique<PrivateServer>(
        std::vector<std::string>{LOCUS_DYING_RUNNER, directory_ / "table.json", directory_ / "",
                                 absl::StrCat(servers_[0]->port()),
                                 absl::StrCat(servers_[1]->port()), absl::StrCat(statement),
                                 "stop"},
        directory_ / "runner.log");
    EXPECT_TRUE(process->Start([] { return true; }));
    return process;
  }
  static bool Stands(pid_t pid) {
    std::ifstream in(absl::StrCat("/proc/", pid, "/stat"));
    const std::string stat{std::istreambuf_iterator<char>(in), {}};
    const size_t name_ends = stat.rfind(')');
    return name_ends != std::string::npos && stat[name_ends + 2] == 'T';
  }
};

TEST_F(ZombieRunnerTest, WokenUpAfterATakeOver_ChangesNothing) {
  StartReady(4);
  runner_->End();
  uint32_t share = 0;
  const int pause = Long() ? 1 : 17;
  for (int statement = 3; statement <= 60; statement += pause) {
    SCOPED_TRACE(absl::StrCat("statement ", statement));
    auto zombie = StartStopping(statement);
    share = share == 0 ? 5000 : 0;
    AskFor(share);
    ASSERT_TRUE(WaitUntil([&] { return Stands(zombie->pid()); }));
    runner_ = StartFaulty(OptionsOf("two"), *publisher_);
    // The zombie may have made the step before it stood still.
    ASSERT_TRUE(WaitUntil([&] { return Record().runner == "two"; }));
    WaitForShare(share);
    if (HasFailure()) return;
    const uint64_t epoch = publisher_->Current()->epoch();
    zombie->Resume();
    // It notices at its next look at the record, and stands by.
    ASSERT_TRUE(WaitUntil([&] { return !Stands(zombie->pid()); }));
    ASSERT_FALSE(WaitUntil([&] { return !Record().wish.hold.empty(); }, absl::Seconds(1)))
        << Record().wish.hold;
    EXPECT_EQ(publisher_->Current()->epoch(), epoch);
    EXPECT_EQ(Record().runner, "two");
    share = share == 0 ? 5000 : 0;
    StepTo(share);
    EXPECT_EQ(Value(0, "SELECT run FROM locus_shop.locus_run"), absl::StrCat(Record().run));
    EXPECT_EQ(Value(1, "SELECT run FROM locus_shop.locus_run"), absl::StrCat(Record().run));
    if (HasFailure()) return;
    zombie->KillHard();
    runner_->End();
  }
  runner_ = StartFaulty(OptionsOf("three"), *publisher_);
  ExpectNothingLost();
}

TEST_F(ZombieRunnerTest, HeldUpBeforeItPublishes_DoesNotBringAnOlderShareBack) {
  Begin();
  HeldPublisher held(*publisher_);
  auto zombie = StartFaulty(OptionsOf("one"), held);
  WaitForPhase(Phase::kReady);
  held.set_open(false);
  AskFor(2500);
  ASSERT_TRUE(WaitUntil([&] { return held.held(); }));
  runner_ = StartFaulty(OptionsOf("two"), *publisher_);
  WaitForShare(2500);
  StepTo(7500);
  if (HasFatalFailure()) return;
  held.set_open(true);
  zombie->End();
  // Readers of the table see steps that rise.
  uint64_t before = 0;
  const auto history = publisher_->History(100).value();
  for (auto published = history.rbegin(); published != history.rend(); ++published) {
    const RoutingTable table = publisher_->Fetch(published->epoch).value();
    const uint64_t step = internal::SightOf(table, leg_).step;
    EXPECT_GE(step, before) << "epoch " << published->epoch;
    before = step;
  }
  EXPECT_EQ(internal::SightOf(publisher_->Current().value(), leg_).share, 7500u);
}

TEST_F(ZombieRunnerTest, StatementsOfAFormerRun_AreRefused) {
  Begin();
  ASSERT_TRUE(*records_->Claim(move_.name, 7, "one", absl::Seconds(10)));
  auto target = mysql::ShardLink::Create(As(1, "mover")).value();
  std::string place;
  for (const MysqlOptions& server : {As(0, "mover"), As(1, "mover")}) {
    auto handle = mysql::LogInToAny(server, "s3cret", place);
    ASSERT_TRUE(handle.ok()) << handle.status();
    ASSERT_TRUE(mysql::TakeOverRun(handle->get(), place, move_.name, 7).ok());
  }
  Wish wish = Record().wish;
  wish.hold = "the stream stopped";
  const uint64_t serial = Record().serial;
  EXPECT_TRUE(absl::IsAborted(records_->ChangeWish(move_.name, serial, wish, 5)));
  EXPECT_TRUE(records_->Note(move_.name, "step", 0, "by nobody", 5).ok());
  EXPECT_TRUE(records_->Events(move_.name, 10)->empty());
  EXPECT_TRUE(records_->Note(move_.name, "step", 0, "by the runner", 7).ok());
  EXPECT_EQ(records_->Events(move_.name, 10)->size(), 1u);

  auto fence = ShardFence::Create(As(1, "mover"), FenceOf({{.name = "orders"}, {.name = "items"}}));
  ASSERT_TRUE(fence.ok() && fence->Install(TableAt(3, {}), 2).ok());
  BandRows bands(move_, internal::Side::kTarget, *target);
  EXPECT_TRUE(mysql::IsTakenOver(bands.Make(3, 5, absl::Seconds(1))));
  EXPECT_TRUE(bands.Make(3, 7, absl::Seconds(1)).ok());
  EXPECT_TRUE(mysql::IsTakenOver(bands.Replace(*bands.Read(), 3, 5, absl::Seconds(1)).status()));
  EXPECT_TRUE(mysql::IsTakenOver(mysql::ForgetTombstones(*target, move_, 5)));
  // Also where the marker rows are gone, because the move has ended.
  std::atomic<uint64_t> deleted = 0;
  EXPECT_TRUE(mysql::IsTakenOver(mysql::DeleteMovedRows(*target, move_, internal::Side::kTarget, 5,
                                                        absl::Milliseconds(100), false, deleted)));
  EXPECT_TRUE(mysql::IsTakenOver(mysql::CopyTombstones(
      *link_, *target, move_, {0, 10000, 3, 0, 0}, 5, [] { return absl::OkStatus(); }, false)));
  EXPECT_EQ(Value(1, "SELECT COUNT(*) FROM locus_shop.locus_copy"), "0");
}

}  // namespace
}  // namespace locus
