// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_FENCE_FENCE_FIXTURE_H_
#define LOCUS_TESTS_FENCE_FENCE_FIXTURE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "locus/migration/shard_fence.h"
#include "locus/order_id.h"
#include "tests/engine/mariadb/mariadb_server.h"
#include "tests/pool/shard_pools_fixture.h"

namespace locus {

// A server as moves need it.
inline MariadbServer::Settings FencedServer(uint16_t server_id) {
  return {.server_id = server_id,
          .lines = {"log_bin", "sync_binlog=1", "binlog_format=ROW", "binlog_row_image=FULL",
                    "log_bin_trust_function_creators=1"}};
}

// The account "mover", which the guards let pass, on `server`: all rights.
inline void MakeMover(MariadbServer& server) {
  server.Sql(
      "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO "
      "mover@'127.0.0.1'");
}

inline FenceOptions FenceOf(std::vector<GuardedTable> tables) {
  FenceOptions options;
  options.tables = std::move(tables);
  options.movers = {"mover@127.0.0.1"};
  return options;
}

inline OrderId IdOf(uint32_t gene, uint64_t sequence) {
  return OrderId::FromParts(ShardGene::FromUint16(static_cast<uint16_t>(gene)), sequence).value();
}
inline std::string Number(const OrderId& id) { return absl::StrCat(*id.ToInt64()); }

// The next order ID of the gene whose cohort is in [from, to).
inline OrderId NextIn(uint32_t gene, uint64_t& sequence, uint32_t from, uint32_t to) {
  while (true) {
    OrderId id = IdOf(gene, ++sequence);
    if (id.cohort() >= from && id.cohort() < to) return id;
  }
}

}  // namespace locus

#endif  // LOCUS_TESTS_FENCE_FENCE_FIXTURE_H_
