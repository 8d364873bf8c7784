// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_ENGINE_MARIADB_SHARD_ENDPOINT_H_
#define LOCUS_ROUTING_ENGINE_MARIADB_SHARD_ENDPOINT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/engine/mariadb.h"

namespace locus {

// Where a shard is: mysql://host[:3306]/database[?tls=on|?tls_ca=FILE], as ShardPools has it.
struct ShardEndpoint {
  MariadbOptions::Host host;  // an IPv6 address without its brackets
  std::string database;
  bool tls = false;         // it asks for TLS
  std::string tls_ca_file;  // empty: it names none

  // INVALID_ARGUMENT, saying what is wrong. Does not quote the text: somebody may have written a
  // password into it.
  static absl::StatusOr<ShardEndpoint> Parse(std::string_view text);
};

}  // namespace locus

#endif  // LOCUS_ROUTING_ENGINE_MARIADB_SHARD_ENDPOINT_H_
