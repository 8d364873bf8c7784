// SPDX-License-Identifier: Apache-2.0
// Processes that draw order IDs while their server is killed, stalled and emptied.
#include <sys/mman.h>

#include <atomic>
#include <iostream>

#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/generator/drawing_processes.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_fault";

// The engine runs in child processes: in the tests' own process its watchdog thread would stay, and
// DrawingProcesses fork.
class MysqlFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.Start());
    options_ = server_.OptionsFor(kDatabase);
    options_.timeout = absl::Seconds(1);
    options_.connect_timeout = absl::Seconds(1);
    CreateAll();
  }
  void CreateAll() {
    MysqlOptions patient = server_.OptionsFor(kDatabase);
    patient.timeout = patient.connect_timeout = absl::Seconds(30);
    ChildProcess creator([&] {
      absl::Status created = MysqlSegmentStore::CreateSchema(patient);
      EXPECT_TRUE(created.ok()) << created;
      CreateSpace(*MustOpen(patient));
      return HasFailure() ? 1 : 0;
    });
    ASSERT_EQ(creator.Wait(), 0);
  }
  std::unique_ptr<DrawingProcesses> Draw(absl::Duration horizon) {
    DrawingProcesses::Options drawing;
    drawing.processes = 3;
    drawing.buyers = 300;
    drawing.rate = 5000;
    drawing.horizon = horizon;
    return std::make_unique<DrawingProcesses>(
        [options = options_]() -> absl::StatusOr<std::shared_ptr<SegmentStore>> {
          return MysqlSegmentStore::Open(options);
        },
        drawing);
  }
  void ExpectNoIdTwice(DrawingProcesses& drawing) {
    drawing.Stop();
    EXPECT_EQ(drawing.Repeated(), "");
    std::cout << drawing.drawn() << " order IDs, " << drawing.store_failures()
              << " leases that failed\n";
  }

  MariadbServer server_;
  MysqlOptions options_;
};

TEST_F(MysqlFaultTest, ServerKilledAndRestarted_NoIdTwiceAndNoLoss) {
  auto drawing = Draw(absl::Seconds(1));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(drawing->WaitForEach(3000));
    server_.KillHard();
    ASSERT_TRUE(server_.Start());
    ASSERT_TRUE(drawing->WaitForEach(3000));
    drawing->KillAndRestart(i);
  }
  EXPECT_EQ(drawing->losses(), 0u);
  ExpectNoIdTwice(*drawing);
}

TEST_F(MysqlFaultTest, ServerGone_GeneratorsUseTheirSegments) {
  auto drawing = Draw(absl::Seconds(30));
  ASSERT_TRUE(drawing->WaitForEach(10000));
  ASSERT_TRUE(drawing->WaitForAutonomy(absl::Seconds(10)));
  server_.KillHard();
  uint64_t failed = drawing->failed_calls();
  EXPECT_TRUE(drawing->WaitForEach(10000)) << "two seconds of the rate";
  EXPECT_EQ(drawing->failed_calls(), failed);
  ASSERT_TRUE(server_.Start());
  uint64_t failures = drawing->store_failures();
  ASSERT_TRUE(drawing->WaitForEach(5000));
  EXPECT_GE(drawing->store_failures(), failures);
  ExpectNoIdTwice(*drawing);
}

TEST_F(MysqlFaultTest, ServerStalled_IsUnavailableAndRecovers) {
  auto drawing = Draw(absl::Seconds(1));
  ASSERT_TRUE(drawing->WaitForEach(3000));
  ChildProcess caller([&] {
    auto store = MustOpen(options_);
    Allocate(*store);
    server_.Stall();
    absl::Time start = absl::Now();
    absl::Status status = TryAllocate(*store).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_LT(absl::Now() - start, absl::Seconds(60));
    uint64_t failures = drawing->store_failures();
    EXPECT_TRUE(WaitUntil([&] { return drawing->store_failures() > failures; }));
    server_.Resume();
    EXPECT_TRUE(WaitUntil([&] { return TryAllocate(*store).ok(); }));
    return HasFailure() ? 1 : 0;
  });
  EXPECT_EQ(caller.Wait(), 0);
  server_.Resume();  // also where the child could not
  ASSERT_TRUE(drawing->WaitForEach(3000));
  EXPECT_EQ(drawing->losses(), 0u);
  ExpectNoIdTwice(*drawing);
}

TEST_F(MysqlFaultTest, ServerEmptied_RecoversOnceItIsCreatedAgain) {
  auto drawing = Draw(absl::Seconds(1));
  ASSERT_TRUE(drawing->WaitForEach(3000));
  server_.Empty();
  ASSERT_TRUE(server_.Start());
  CreateAll();
  ASSERT_TRUE(drawing->WaitForEach(3000));
  ExpectNoIdTwice(*drawing);
}

// An allocation whose COMMIT is cut off may have been granted, so its sequences never come again.
// This test must be the last: its own process uses the engine, and its children start no threads.
TEST_F(MysqlFaultTest, ServerKilledWhileAllocating_NothingIsAllocatedTwice) {
  auto store = MustOpen(options_);
  uint64_t end = 0;
  int unavailable = 0;
  void* shared = mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* allocations =
      static_cast<std::atomic<int>*>(shared);  // granted so far, as the killer sees them
  for (int kill = 0; kill < 3; ++kill) {
    std::atomic<int>& granted = *allocations;
    granted = 0;
    ChildProcess killer([&, kill] {
      bool allocating = WaitUntil([&] { return granted > 2 * kill; });
      server_.SignalKill();
      return allocating ? 0 : 1;
    });
    while (true) {
      std::vector<SegmentRequest> requests;
      for (uint16_t section = 0; section < 20; ++section) requests.push_back({section, 64, 0});
      auto reply = store->Allocate(SpaceName(), SpaceOptions(), requests, absl::Now());
      if (!reply.ok()) {
        EXPECT_TRUE(absl::IsUnavailable(reply.status())) << reply.status();
        ++unavailable;
        break;
      }
      for (const SegmentGrant& grant : reply->grants) EXPECT_GE(grant.segment.first, end);
      end = EndOf(*reply);
      ++granted;
    }
    EXPECT_EQ(killer.Wait(), 0);
    ASSERT_TRUE(server_.Start());
  }
  EXPECT_EQ(unavailable, 3);
  munmap(shared, sizeof(std::atomic<int>));
}

}  // namespace
}  // namespace locus
