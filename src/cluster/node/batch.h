// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_NODE_BATCH_H_
#define LOCUS_SRC_CLUSTER_NODE_BATCH_H_

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "src/cluster/machine/machine.h"

namespace locus::cluster_node {

struct Waiting {
  cluster_machine::Request request;
  std::function<void(cluster_machine::Answer)> answered;
};

// The requests of one command, and the callers that wait for their answers.
struct Batch {
  std::vector<cluster_machine::Request> requests;
  std::vector<std::function<void(cluster_machine::Answer)>> answered;  // one for each request
  // Answered already.
  std::vector<std::pair<std::function<void(cluster_machine::Answer)>, cluster_machine::Answer>>
      known;
  // It deletes a space: a request screened before that is applied could create the space again.
  bool deletes = false;
};

// Takes from what waits as much as fits into one command; each request as Machine::Screen leaves
// it. `machine` has applied all of the terms before.
Batch NextBatch(std::deque<Waiting>& waiting, const cluster_machine::Machine& machine);

// The ttls that counters are called with by commands under way.
// Thread safety: none.
class TtlsUnderWay {
 public:
  // Adds those of a command that is proposed now. True: a counter may be called with a shorter one
  // than before, by the machine or what is under way: the command is to say keeps_ends. Nodes of
  // earlier versions read all others.
  bool Add(const std::vector<cluster_machine::Request>& requests,
           const cluster_machine::Machine& machine, absl::Time now);
  void Clear() { longest_.clear(); }

 private:
  std::map<std::string, absl::Duration> longest_;  // by counter; InfiniteDuration: none
};

}  // namespace locus::cluster_node

#endif  // LOCUS_SRC_CLUSTER_NODE_BATCH_H_
