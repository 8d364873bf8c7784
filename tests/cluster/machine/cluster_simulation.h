// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_SIMULATION_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "src/cluster/machine/flaw.h"
#include "src/strict/flaw.h"
#include "tests/cluster/machine/replicas.h"

namespace locus::cluster_machine {

// Mistakes of one run.
struct Flaws {
  Flaw machine = Flaw::kNone;
  ShellFlaw shell = ShellFlaw::kNone;
  strict::Flaw strict = strict::Flaw::kNone;
};

// The coverage that runs of all simulations count.
struct ClusterCovered {
  uint64_t repeated = 0;   // answers that a request got once more
  uint64_t late = 0;       // requests behind a later one of their session
  uint64_t forgotten = 0;  // requests that were refused because they had been forgotten
  uint64_t leaders = 0, crashes = 0, installed = 0, restored = 0, jumps = 0;

  // For the end of a test's output.
  std::string Text() const;
};

// The frame of a simulation: one, three or five nodes, the true time, and the network between nodes
// and clients, which loses, repeats and reorders. What clients do is the simulation's.
class ClusterSimulation : public Replicas::Listener {
 public:
  ~ClusterSimulation() override;
  // 900 steps. Empty: nothing went wrong.
  std::string Run();

  void OnApplied(int64_t, const Machine::Applied&) override {}
  void OnRead(uint64_t, const Machine&) override {}
  void OnAnswer(uint64_t tag, const Answer& answer) override;
  void OnFailure(const std::string& what) override;

 protected:
  static constexpr int64_t kBegin = 1'700'000'000'000;
  static constexpr uint64_t kNoTag = UINT64_MAX;  // no client waits for the answer
  struct Options {
    bool steady = false;      // Replicas::Options
    bool long_steps = false;  // some seconds pass at once now and then
  };

  // Makes the mistakes until it is destroyed.
  ClusterSimulation(uint64_t seed, const Flaws& flaws, const Options& options,
                    ClusterCovered& covered);

  virtual void StepClients() = 0;
  virtual void Receive(uint64_t tag, const Answer& answer) = 0;
  // Checks the clients' histories after a run without violations.
  virtual void CheckHistories() = 0;

  raft::NodeId SomeNode() { return random_.OneIn(5) ? replicas_.AnyNode() : replicas_.Leader(); }
  void Post(raft::NodeId node, uint64_t tag, const Request& request) {
    parcels_.push_back({node, tag, request, {}});
  }

  Random random_;
  const Flaws flaws_;
  int64_t now_ = kBegin;  // the true time, in ms
  int64_t moment_ = 0;    // of calls and answers
  Replicas replicas_;

 private:
  struct Parcel {
    raft::NodeId node = 0;  // 0: an answer
    uint64_t tag = 0;
    Request request;
    Answer answer;
  };

  void Step();
  void Deliver();

  const Options options_;
  ClusterCovered& covered_;
  std::string failure_;
  std::vector<Parcel> parcels_;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_CLUSTER_SIMULATION_H_
