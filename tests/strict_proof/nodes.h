// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STRICT_PROOF_NODES_H_
#define LOCUS_TESTS_STRICT_PROOF_NODES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "locus/strict_store.h"
#include "tests/locusd/ids_process.h"
#include "tests/support/fault_proxy.h"
#include "tests/support/temporary_directory.h"

namespace locus::strict_proof {

// Processes of locusd with the role sequence-node, of one set in etcd. All requests to a node, even
// from other nodes, and each node's requests to the store, go through proxies of the test. Thread
// safety: none.
class Nodes {
 public:
  // Starts none.
  Nodes(const TemporaryDirectory& directory, int size, uint16_t store_port,
        const StrictSetOptions& set);

  int size() const { return static_cast<int>(nodes_.size()); }
  // Where others reach the nodes.
  std::vector<std::string> Endpoints() const;
  static std::string NameOf(int node);

  bool Start(int node) { return nodes_[node]->process.Start(); }
  // kill -9.
  void Kill(int node) { nodes_[node]->process.process().KillHard(); }
  // SIGTERM, and waits for its end; its exit code.
  int Stop(int node);
  void Stall(int node) { nodes_[node]->process.process().Stall(); }
  void Resume(int node) { nodes_[node]->process.process().Resume(); }
  bool running(int node) { return nodes_[node]->process.process().running(); }

  // Drops all traffic between the node and the store; or between the node and its callers.
  void CutFromStore(int node, bool cut) { SetCut(nodes_[node]->to_store, cut); }
  void CutFromCallers(int node, bool cut) { SetCut(nodes_[node]->to_api, cut); }

  // POST, not through the proxy: 0: no answer.
  unsigned Tell(int node, const std::string& target, const std::string& body) {
    return nodes_[node]->process.StatusOf("POST", target, body);
  }
  // Of /metrics; 0: there is none.
  uint64_t Metric(int node, const std::string& name) const;
  std::string LogOf(int node) const { return nodes_[node]->process.LogText(); }

 private:
  struct Node {
    Node(const TemporaryDirectory& directory, const std::string& name, uint16_t store_port)
        : process(directory, name), to_store(store_port), to_api(process.port()) {}
    IdsProcess process;
    FaultProxy to_store, to_api;
  };
  static void SetCut(FaultProxy& proxy, bool cut) {
    proxy.set_fault(cut ? FaultProxy::Fault::kDrop : FaultProxy::Fault::kNone);
  }

  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace locus::strict_proof

#endif  // LOCUS_TESTS_STRICT_PROOF_NODES_H_
