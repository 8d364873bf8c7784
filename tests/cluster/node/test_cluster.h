// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_NODE_TEST_CLUSTER_H_
#define LOCUS_TESTS_CLUSTER_NODE_TEST_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "locus/testing/manual_clock.h"
#include "locus/worker_lease_store.h"
#include "src/cluster/node/cluster_node.h"
#include "src/cluster/node/member_address.h"
#include "src/raft/tcp/tcp_transport.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// Cluster nodes with their threads, files and sockets, all in this process.
// Thread safety: none, but that stores may be used by any thread.
class TestCluster {
 public:
  // Changes the options of a node that starts.
  using Adjust = std::function<void(int node, cluster_node::ClusterNodeOptions& options)>;

  // `clock` is every node's. `api_ports`: of the nodes' APIs, which the caller serves.
  TestCluster(int nodes, Clock& clock, std::vector<uint16_t> api_ports = {}, Adjust adjust = {},
              std::string api_host = "127.0.0.1");
  ~TestCluster();

  // As kill -9; Start begins with what the node had stored.
  void Kill(int node);
  void Start(int node);
  // The file of a node that was killed.
  std::unique_ptr<raft::LogStore> OpenStore(int node);
  // Of all nodes, which were killed: keeps a copy of their files; puts the one that was kept last
  // in their place.
  void KeepFiles();
  void PutFilesBack();
  // A node that is no member of a cluster yet. Returns its number.
  int AddBlank(uint16_t api_port);
  // Where the node is reached.
  cluster_node::MemberAddress address(int node) const;
  // All nodes with empty files, and other IDs.
  void LoseAll();
  // The node that leads for sure; -1: none within a minute.
  int WaitForLeader();

  cluster_node::ClusterNode* node(int number) { return places_[number].node.get(); }
  int size() const { return static_cast<int>(places_.size()); }
  // A client that asks all nodes until one of them answers.
  std::unique_ptr<WorkerLeaseStore> Connect();

 private:
  struct Place {
    std::string path;
    uint16_t port = 0;
    std::unique_ptr<raft::TcpTransport> tcp;
    std::unique_ptr<cluster_node::MemberTransport> transport;
    std::unique_ptr<cluster_node::ClusterNode> node;
  };
  void Begin();
  std::string kept() const { return directory_ / "kept"; }

  Clock& clock_;
  std::vector<uint16_t> api_ports_;
  const Adjust adjust_;
  const std::string api_host_;
  TemporaryDirectory directory_;
  int generation_ = 0;
  std::vector<Place> places_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_CLUSTER_NODE_TEST_CLUSTER_H_
