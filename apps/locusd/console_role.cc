// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console_role.h"

#include "apps/locusd/ids/id_places.h"

namespace locus::locusd {

ConsoleParts ConsolePartsOf(const Running& running, const Config& config) {
  ConsoleParts parts;
  parts.environment = config.console.environment;
  parts.colour = config.console.colour;
  if (!running.is_id_service || !config.ids) return parts;
  const IdSettings& ids = *config.ids;
  parts.ids = running.parts;
  parts.order_space = ids.space;
  parts.move_file = config.console.move_file;
  if (ids.table) {
    parts.table_place = ids.table->place.uri;
    // From a web server tables can be followed only.
    if (!parts.table_place.starts_with("http")) {
      parts.open_publisher = [table = *ids.table] { return OpenPublisher(table); };
    }
  }
  if (ids.snowflake) {
    parts.open_leases = running.open_leases;
    parts.lease_space = running.lease_space;
    const PlaceSettings& leases = ids.snowflake->leases;
    if (leases.uri.starts_with("locusd:")) {
      parts.open_cluster = [leases] { return OpenCluster(leases); };
    }
  }
  return parts;
}

ConsoleOptions ConsoleOptionsOf(const Running& running, const Config& config) {
  ConsoleOptions options;
  options.roles.clear();
  if (running.is_cluster_node) options.roles.emplace_back("cluster-node");
  if (running.is_id_service) options.roles.emplace_back("id-service");
  if (running.is_sequence_node) options.roles.emplace_back("sequence-node");
  options.leases_elsewhere = running.is_cluster_node;
  options.strict_elsewhere = running.is_sequence_node;
  options.events.most_streams = config.console.streams;
  return options;
}

}  // namespace locus::locusd
