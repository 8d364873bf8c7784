// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_RUNNING_H_
#define LOCUS_APPS_LOCUSD_IDS_RUNNING_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_parts.h"
#include "locus/routing/table_publisher.h"
#include "locus/space.h"
#include "locus/worker_lease_store.h"
#include "src/cluster/node/cluster_node.h"

namespace locus::locusd {

// What a handler may ask of the process that it runs in. Functions may be called from any thread.
struct Running {
  bool is_laptop = false;  // without a configuration: on loopback, and nobody is asked for a token
  bool is_id_service = false;
  bool is_cluster_node = false;
  bool is_sequence_node = false;
  // Generators, sequences, router and codec that requests work with now; after a reload others.
  // Never nullptr; without the role, nothing is offered in it.
  std::function<std::shared_ptr<const IdParts>()> parts;
  // A publisher at the place of the routing table, with the password of the configuration. It may
  // wait for the place. NOT_FOUND: there is no table.
  std::function<absl::StatusOr<std::unique_ptr<TablePublisher>>()> open_publisher;
  // The place of the service's own worker lease, likewise. NOT_FOUND: there is none.
  std::function<absl::StatusOr<std::shared_ptr<WorkerLeaseStore>>()> open_leases;
  SpaceName lease_space;
  // The node of the cluster in this process; nullptr: none. It has the leases and the members.
  cluster_node::ClusterNode* node = nullptr;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_RUNNING_H_
