// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_RUN_H_
#define LOCUS_TESTS_PROOF_RUN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/proof/clients.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/plan.h"

namespace locus::proof {

// Does what a plan says to a cluster and its clients, then mends everything.
// Thread safety: none.
class Run {
 public:
  // The cluster has one node more than the plan, which is added by it.
  Run(const Plan& plan, Network& network, Cluster& cluster, Clients& clients)
      : plan_(plan), network_(network), cluster_(cluster), clients_(clients) {}

  // Returns when the plan is done, all faults are mended, and everything works again. Failures are
  // in wrong(), and in that of the cluster.
  void Do();

  const std::vector<std::string>& wrong() const { return wrong_; }
  // The run's events, one line each, with times.
  const std::string& story() const { return story_; }

 private:
  // A step that has begun.
  struct Active {
    Step step;
    int target = -1;           // a node or a client
    std::vector<int> nodes;    // of the leader's part, or the nodes that were killed
    absl::Duration next_flap;  // kFlap
    bool flap_cut = false;
    bool added = false;  // kMemberAdded
  };

  absl::Duration Now() const;
  void Tell(const std::string& what);
  void Begin(const Step& step);
  void BeginOfNode(Active& active);
  void BeginOfClient(Active& active);
  void Go(Active& active);  // while it lasts
  void End(Active& active);
  void Mend();
  // One of the started nodes, by choice; with `leads` the leader, if there is one.
  int Pick(uint64_t choice, bool leads);
  void CutInTwo(Active& active, bool leader_in_majority, int most);
  void CutOneWay(const Active& active);
  void SetWaysOf(int node, bool cut);

  const Plan plan_;
  Network& network_;
  Cluster& cluster_;
  Clients& clients_;
  absl::Time began_;
  std::vector<Active> active_;
  std::vector<std::string> wrong_;
  std::string story_;
};

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_RUN_H_
