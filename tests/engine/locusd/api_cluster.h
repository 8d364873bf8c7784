// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_LOCUSD_API_CLUSTER_H_
#define LOCUS_TESTS_ENGINE_LOCUSD_API_CLUSTER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "locus/engine/locusd.h"
#include "src/cluster/api/api.h"
#include "src/http/server.h"
#include "tests/cluster/node/test_cluster.h"

namespace locus {

// Admits requests with one of these tokens. If there are operators, routes of the scope operate
// need one of their tokens.
std::function<cluster_api::Admission(const http::ServerRequest&, http_api::Scopes)> AdmitTokens(
    std::vector<std::string> clients, std::vector<std::string> operators = {});

// A cluster whose nodes serve the API, all in this process.
// Thread safety: none.
class ApiCluster {
 public:
  // Changes the options of an API that starts.
  using Adjust = std::function<void(int node, cluster_api::ApiOptions& options)>;

  // `api_host`: of the APIs' addresses, as the members have them.
  ApiCluster(int nodes, Clock& clock, std::vector<std::string> tokens = {}, Adjust adjust = {},
             TestCluster::Adjust adjust_node = {}, const std::string& api_host = "127.0.0.1");
  ~ApiCluster();

  // The node keeps running.
  void StopServing(int node) { servers_.erase(node); }
  void Kill(int node);
  void Start(int node);
  void LoseAll();
  // A node that waits to be added, and serves the API; returns its number. `cluster`: the name that
  // it gives itself there.
  int AddBlank(const std::string& cluster = "leases");

  std::string endpoint(int node) const;
  // "locusd://..." with the first `count` nodes.
  std::string uri(int count) const;
  // With the nodes that there are now.
  LocusdOptions options() const;
  std::unique_ptr<LocusdWorkerLeaseStore> Connect() const { return Connect(options()); }
  std::unique_ptr<LocusdWorkerLeaseStore> Connect(const LocusdOptions& options) const;
  TestCluster& nodes() { return *cluster_; }
  cluster_api::Api& api(int node) { return *apis_.at(node); }
  uint64_t id(int node) { return cluster_->node(node)->Status().self; }

 private:
  void Serve(int node);

  Clock& clock_;
  const std::vector<std::string> tokens_;
  const Adjust adjust_;
  std::vector<uint16_t> ports_;
  std::map<int, std::string> names_;  // of the cluster, where a node has another one
  std::unique_ptr<TestCluster> cluster_;
  std::map<int, std::shared_ptr<cluster_api::Api>> apis_;
  std::map<int, std::unique_ptr<http::Server>> servers_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_LOCUSD_API_CLUSTER_H_
