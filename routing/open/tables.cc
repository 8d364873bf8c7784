// SPDX-License-Identifier: Apache-2.0
#include "routing/open/tables.h"

namespace locus::internal {

extern const TableOpeners kFileTables, kMysqlTables, kEtcdTables, kHttpTables;

// CMake defines each LOCUS_OPENS_ROUTING_* as the address of these, or as nullptr where the engine
// is left out; see src/open/engines.cc, which declares the engines.
const TableOpeners* TablesOf(const Engine& engine) {
  if (engine.name == "file") return &kFileTables;
  if (engine.name == "mysql") return LOCUS_OPENS_ROUTING_MYSQL;
  if (engine.name == "etcd") return LOCUS_OPENS_ROUTING_ETCD;
  if (engine.name == "http") return LOCUS_OPENS_ROUTING_HTTP;
  return nullptr;
}

absl::Status CheckBuilt(const TableUri& uri) {
  return TablesOf(*uri.engine) == nullptr ? Absent(*uri.engine, uri.text) : absl::OkStatus();
}

}  // namespace locus::internal
