// SPDX-License-Identifier: Apache-2.0
#include "tests/strict_proof/nodes.h"

#include <csignal>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace locus::strict_proof {

std::string Nodes::NameOf(int node) { return absl::StrCat("node-", node + 1); }

Nodes::Nodes(const TemporaryDirectory& directory, int size, uint16_t store_port,
             const StrictSetOptions& set) {
  for (int i = 0; i < size; ++i) {
    auto node = std::make_unique<Node>(directory, NameOf(i), store_port);
    node->process.Write(
        "roles = [\"sequence-node\"]\n", "",
        absl::StrCat("[strict]\nname = \"", NameOf(i),
                     "\"\nstore = \"etcd://127.0.0.1:", node->to_store.port(),
                     "\"\ncreate = true\nadvertise = \"127.0.0.1:", node->to_api.port(),
                     "\"\nuids = ", set.uids, "\nsection_size = ", set.section_size, "\nstep = ",
                     set.step, "\nttl = \"", absl::ToInt64Milliseconds(set.ttl), "ms\"\n"));
    nodes_.push_back(std::move(node));
  }
}

std::vector<std::string> Nodes::Endpoints() const {
  std::vector<std::string> endpoints;
  for (const auto& node : nodes_) {
    endpoints.push_back(absl::StrCat("127.0.0.1:", node->to_api.port()));
  }
  return endpoints;
}

int Nodes::Stop(int node) {
  IdsProcess& process = nodes_[node]->process;
  kill(process.process().pid(), SIGTERM);
  const int code = process.WaitForEnd();
  process.process().running();  // reaps it
  return code;
}

uint64_t Nodes::Metric(int node, const std::string& name) const {
  uint64_t value = 0;
  return absl::SimpleAtoi(nodes_[node]->process.Metric(name), &value) ? value : 0;
}

}  // namespace locus::strict_proof
