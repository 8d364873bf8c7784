// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_POOL_SHARD_ENDPOINT_H_
#define LOCUS_ROUTING_POOL_SHARD_ENDPOINT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/engine/mysql.h"

namespace locus::internal {

// A shard's endpoint: mysql://host[:3306]/database[?tls=on|?tls_ca=FILE], see ShardPools.
struct ShardEndpoint {
  MysqlOptions::Host host;  // an IPv6 address without its brackets
  std::string database;
  bool tls = false;         // the endpoint asks for TLS
  std::string tls_ca_file;  // empty: the endpoint names none

  // INVALID_ARGUMENT, saying what is wrong. Does not quote the text, which may contain a password.
  static absl::StatusOr<ShardEndpoint> Parse(std::string_view text);
};

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_POOL_SHARD_ENDPOINT_H_
