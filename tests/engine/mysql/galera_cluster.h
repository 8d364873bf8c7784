// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_MYSQL_GALERA_CLUSTER_H_
#define LOCUS_TESTS_ENGINE_MYSQL_GALERA_CLUSTER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/engine/mysql/mariadb_server.h"

namespace locus {

// Three Galera nodes on this machine; the account "locus" as on a MariadbServer.
// Thread safety: none.
class GaleraCluster {
 public:
  static constexpr size_t kNodes = 3;
  GaleraCluster();

  // The first node makes the cluster, the others join it.
  bool Start();
  // A node that was killed joins again.
  bool Rejoin(size_t node);
  MariadbServer& node(size_t i) { return *nodes_[i]; }

  // For `database` with all nodes as hosts, `first` in front.
  MysqlOptions OptionsFor(const std::string& database, size_t first = 0) const;

 private:
  std::array<std::unique_ptr<MariadbServer>, kNodes> nodes_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_MYSQL_GALERA_CLUSTER_H_
