// SPDX-License-Identifier: Apache-2.0
// Nodes of a Galera cluster that are killed while all of them are written.
#include <unistd.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "tests/engine/mysql/galera_cluster.h"
#include "tests/engine/mysql/mariadb_fixture.h"
#include "tests/generator/drawing_processes.h"

namespace locus {
namespace {

constexpr char kDatabase[] = "locus_galera";

class MysqlGaleraFaultTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start());
    cluster_.node(0).OptionsFor(kDatabase);
    ASSERT_TRUE(MysqlSegmentStore::CreateSchema(cluster_.OptionsFor(kDatabase)).ok());
    CreateSpace(*MustOpen(cluster_.OptionsFor(kDatabase)));
  }
  GaleraCluster cluster_;
};

TEST_F(MysqlGaleraFaultTest, NodeKilledWhileAllAreWritten_NoIdTwice) {
  DrawingProcesses::Options options;
  options.processes = 3;
  options.buyers = 300;
  options.horizon = absl::Seconds(1);
  options.rate = 5000;
  // Each process begins at a node of its own: their IDs follow each other.
  DrawingProcesses drawing(
      [this]() -> absl::StatusOr<std::shared_ptr<SegmentStore>> {
        return MysqlSegmentStore::Open(
            cluster_.OptionsFor(kDatabase, static_cast<size_t>(getpid()) % GaleraCluster::kNodes));
      },
      options);
  ASSERT_TRUE(drawing.WaitForEach(5000));
  cluster_.node(1).KillHard();
  ASSERT_TRUE(drawing.WaitForEach(20000)) << "the others go on; " << cluster_.node(0).LogTail();
  ASSERT_TRUE(cluster_.Rejoin(1));
  ASSERT_TRUE(drawing.WaitForEach(5000));
  EXPECT_EQ(drawing.losses(), 0u);
  drawing.Stop();
  EXPECT_EQ(drawing.Repeated(), "");
  std::cout << drawing.drawn() << " order IDs, " << drawing.store_failures()
            << " allocations that failed\n";
}

TEST_F(MysqlGaleraFaultTest, NodeWithoutItsMajority_IsUnavailableUntilTheOthersAreBack) {
  auto store = MustOpen(cluster_.OptionsFor(kDatabase));
  uint64_t end = EndOf(Allocate(*store));
  for (size_t node : {1u, 2u}) cluster_.node(node).KillHard();
  ASSERT_TRUE(WaitUntil([&] { return !TryAllocate(*store).ok(); }));
  absl::Status status = TryAllocate(*store).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // An operator does this who knows that the other nodes will not return.
  ASSERT_EQ(RunProgram({"mariadb", "--no-defaults", "-h127.0.0.1",
                        absl::StrCat("-P", cluster_.node(0).port()), "-uroot", "-e",
                        "SET GLOBAL wsrep_provider_options='pc.bootstrap=YES'"}),
            0);
  ASSERT_TRUE(WaitUntil([&] { return TryAllocate(*store).ok(); }));
  SegmentReply reply = Allocate(*store, 0, end);
  EXPECT_FALSE(reply.loss_noticed);
  EXPECT_GE(FirstOf(reply), end);
}

}  // namespace
}  // namespace locus
