// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_FENCE_FENCE_FIXTURE_H_
#define LOCUS_TESTS_FENCE_FENCE_FIXTURE_H_

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "locus/migration/moved_table.h"
#include "locus/migration/shard_fence.h"
#include "locus/order_id.h"
#include "tests/engine/mysql/mariadb_server.h"
#include "tests/pool/shard_pools_fixture.h"

namespace locus {

// A server as moves need it.
inline MariadbServer::Settings FencedServer(uint16_t server_id) {
  return {
      .server_id = server_id,
      .lines = {"log_bin", "sync_binlog=1", "innodb_flush_log_at_trx_commit=1", "binlog_format=ROW",
                "binlog_row_image=FULL", "binlog_row_metadata=FULL", "binlog_checksum=CRC32",
                "gtid_strict_mode=ON", "log_bin_trust_function_creators=1"}};
}

// The account "mover", which the guards let pass, on `server`: all rights.
inline void MakeMover(MariadbServer& server) {
  server.Sql(
      "CREATE USER mover@'127.0.0.1' IDENTIFIED BY 's3cret'; GRANT ALL ON *.* TO "
      "mover@'127.0.0.1'");
}

// One such server for the tests of a suite, with the mover.
class FencedServerTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new MariadbServer(FencedServer(3));
    ASSERT_TRUE(server_->Start());
    MakeMover(*server_);
  }
  static void TearDownTestSuite() { delete server_; }

  static inline MariadbServer* server_ = nullptr;
};

// The version triggers of a table, which let the mover pass.
inline void MakeVersionTriggers(MariadbServer& server, const std::string& database,
                                const MovedTable& table) {
  for (const VersionTrigger& trigger : VersionTriggersOf(table, {"mover@127.0.0.1"})) {
    server.Sql(absl::StrCat("USE ", database, "; CREATE TRIGGER ", trigger.name, " ",
                            trigger.timing, " ", trigger.event, " ON ", trigger.table,
                            " FOR EACH ROW ", trigger.body));
  }
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
