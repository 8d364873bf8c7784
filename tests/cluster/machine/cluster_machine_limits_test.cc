// SPDX-License-Identifier: Apache-2.0
#include "gmock/gmock.h"
#include "tests/cluster/machine/machine_fixture.h"

namespace locus::cluster_machine {
namespace {

using ::testing::HasSubstr;

// Fills the machine to its limits: each round holds kMostHeld new IDs until they expire.
TEST_F(MachineTest, FullMachine_RefusesAndFitsIntoASnapshot) {
  uint64_t worker = 0;
  for (size_t round = 0; round < kMostWorkers / kMostHeld; ++round) {
    while (machine_.held() < kMostHeld) {
      Command command{now_, false, {}};
      for (size_t i = 0; i < kMostRequests; ++i, ++worker) {
        WorkerAcquire acquire = AcquireOf(absl::StrCat("n", worker));
        acquire.range = {0, kMostWorker};
        acquire.preferred = acquire.start = worker;
        acquire.holder = std::string(round == 15 ? kMostHolderBytes : 2, 'h');
        command.requests.push_back({std::nullopt, space_, acquire});
      }
      machine_.Apply(command);
    }
    WorkerAcquire more = AcquireOf("more");
    more.range = {0, kMostWorker};
    more.start = worker;
    EXPECT_THAT(std::string(Do(more).status.message()),
                round < 15 ? HasSubstr("65536 worker IDs with a holder")
                           : HasSubstr("1048576 worker IDs that were ever"));
    if (round == 15) break;
    now_ += kTtl + kSkew + absl::Milliseconds(1);
    for (size_t i = 0; i < kMostHeld / kMostExpiries; ++i) Expire();
    EXPECT_EQ(machine_.held(), 0u);
  }
  EXPECT_EQ(machine_.workers(), kMostWorkers);
  const std::string bytes = machine_.Snapshot();
  EXPECT_LT(bytes.size(), kMostSnapshotBytes);
  EXPECT_EQ(Machine::Restore(bytes).value().Snapshot(), bytes);
}

}  // namespace
}  // namespace locus::cluster_machine
