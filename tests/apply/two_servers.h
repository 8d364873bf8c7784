// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_APPLY_TWO_SERVERS_H_
#define LOCUS_TESTS_APPLY_TWO_SERVERS_H_

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "migration/apply/change_applier.h"
#include "migration/fence/guard_sql.h"
#include "migration/mysql/binlog_reader.h"
#include "migration/mysql/change_batch.h"
#include "tests/fence/fence_fixture.h"

namespace locus {

inline constexpr char kDatabase[] = "locus_shop";
inline constexpr char kColumns[] =
    "order_id, line, note, price, ratio, share, flags, kind, tags, born, at, seen, took, extra,"
    " version";

class TwoServersTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (size_t i = 0; i < 2; ++i) {
      servers_[i] = new MariadbServer(FencedServer(static_cast<uint16_t>(i + 1)));
      ASSERT_TRUE(servers_[i]->Start());
      MakeMover(*servers_[i]);
    }
  }
  static void TearDownTestSuite() {
    for (MariadbServer* server : servers_) delete server;
  }

  void SetUp() override {
    table_.guard.name = "items";
    table_.primary_key = {"order_id", "line"};
    table_.replaces = true;
    for (MariadbServer* server : servers_) {
      server->Sql(absl::StrCat(
          "DROP DATABASE IF EXISTS ", kDatabase, "; CREATE DATABASE ", kDatabase, "; USE ",
          kDatabase,
          "; CREATE TABLE items (order_id BIGINT UNSIGNED NOT NULL, line VARBINARY(20) NOT NULL,"
          " note VARCHAR(200) CHARACTER SET utf8mb4, price DECIMAL(20,4), ratio FLOAT, share "
          "DOUBLE,"
          " flags BIT(40), kind ENUM('a','b','c'), tags SET('x','y','z'), born DATE,"
          " at DATETIME(6), seen TIMESTAMP(3) NULL, took TIME(2), extra BLOB,"
          " twice DOUBLE AS (share * 2) STORED, version BIGINT UNSIGNED NOT NULL DEFAULT 1,"
          " PRIMARY KEY (order_id, line)); CREATE TABLE other (a INT); ",
          absl::StrJoin(CreateTombstones(), "; ")));
      MakeVersionTriggers(*server, kDatabase, table_);
    }
    start_ = PositionOf(0);
    back_start_ = PositionOf(1);
  }

  static MysqlOptions As(size_t server, const std::string& user) {
    MysqlOptions options = servers_[server]->Account(kDatabase);
    options.user = user;
    return options;
  }
  static stream::GtidPosition PositionOf(size_t server) {
    return stream::GtidPosition::Parse(servers_[server]->Value("SELECT @@GLOBAL.gtid_binlog_pos"))
        .value();
  }
  mysql::ApplierOptions OptionsTo(size_t recipient) const {
    mysql::ApplierOptions options;
    options.peer_database = "locus_shop";
    options.server = As(recipient, "mover");
    options.tables = {table_};
    options.move = "first";
    options.recipient = recipient == 1 ? internal::Side::kTarget : internal::Side::kSource;
    options.ranges = {{0, 99}};
    options.run = 1;
    // Streams both ways, without a fence: nothing is rogue.
    options.peer = {{.own_lo = 0, .own_hi = 10000}};
    return options;
  }
  std::unique_ptr<mysql::ChangeApplier> OpenTo(size_t recipient) {
    auto applier =
        mysql::ChangeApplier::Open(OptionsTo(recipient), recipient == 1 ? start_ : back_start_);
    EXPECT_TRUE(applier.ok()) << applier.status();
    return *std::move(applier);
  }
  // locus_fence of `server` with rows "(lo, hi, own_lo, own_hi, step, server_id, other, token),
  // ...".
  static void MakeFence(size_t server, const std::string& rows) {
    servers_[server]->Sql(absl::StrCat("USE ", kDatabase, "; ", internal::kCreateFence,
                                       "; INSERT INTO locus_fence VALUES ", rows, "; ",
                                       internal::kCreateVnodes, "; ", internal::kMapVnodes));
  }
  // INSERT of a row of an order of the vnode, whose cohort is in [from, to); counts `sequence` on.
  static std::string InsertIn(uint32_t gene, uint64_t& sequence, uint32_t from = 0,
                              uint32_t to = 10000) {
    return absl::StrCat("INSERT INTO items (order_id, line) VALUES (",
                        Number(NextIn(gene, sequence, from, to)), ", 'l')");
  }
  // Brings what the other server's log has, up to its end; at most `most` transactions.
  static absl::Status Follow(mysql::ChangeApplier& applier, size_t from,
                             uint64_t most = UINT64_MAX) {
    mysql::BinlogReaderOptions options;
    options.server = As(from, "mover");
    options.stream.position = applier.position();
    options.stream.spool.directory = servers_[from]->path("");
    options.stream.wanted = [&](std::string_view database, std::string_view table) {
      return database == kDatabase && applier.Wants(table);
    };
    options.stream.heeded = [&](const stream::Statement& statement) {
      return applier.Heeds(statement);
    };
    options.stop_at_end = true;
    auto reader = mysql::BinlogReader::Open(options);
    if (!reader.ok()) return reader.status();
    while (most > 0) {
      auto batch = mysql::ReadBatch(**reader, In(absl::Seconds(60)),
                                    {.transactions = std::min<uint64_t>(most, 100)});
      if (!batch.ok()) return batch.status();
      if (auto status = applier.Apply(batch->transactions); !status.ok()) return status;
      if (batch->ended) return absl::OkStatus();
      most -= batch->transactions.size();
    }
    return absl::OkStatus();
  }
  static std::string Sum(size_t server) {
    return servers_[server]->Value(absl::StrCat(
        "SELECT CONCAT(COUNT(*), ' ', COALESCE(SHA2(GROUP_CONCAT(CONCAT_WS('|', ",
        absl::StrReplaceAll(
            kColumns,
            {{"extra", "HEX(extra)"}, {"flags", "flags + 0"}, {"ratio", "CAST(ratio AS DOUBLE)"}}),
        ") ORDER BY order_id, line SEPARATOR '\\n'), 256), '')) FROM locus_shop.items"));
  }
  static std::string RandomRow(std::mt19937_64& random) {
    auto pick = [&](uint64_t n) { return random() % n; };
    auto null_or = [&](const std::string& value) { return pick(8) == 0 ? "NULL" : value; };
    return absl::StrCat(
        null_or(pick(2) == 0 ? "'plain'" : "'\xE5\xBC\xA0\xE4\xB8\x89 \xF0\x9F\x98\x80 '"), ", ",
        null_or(absl::StrCat("-", pick(1'000'000'000), ".", pick(10'000))), ", ",
        null_or(absl::StrCat(pick(1000), ".", pick(1'000'000), "e-3")), ", ",
        null_or(absl::StrCat(pick(1'000'000'000), ".", pick(1'000'000'000), "e-9")), ", ",
        null_or(absl::StrCat(pick(uint64_t{1} << 40))), ", ", null_or(absl::StrCat(1 + pick(3))),
        ", ", null_or(absl::StrCat(pick(8))), ", ",
        null_or(absl::StrCat("'", 1900 + pick(300), "-0", 1 + pick(9), "-1", pick(10), "'")), ", ",
        null_or(absl::StrCat("'2024-02-29 23:59:59.", 100000 + pick(900000), "'")), ", ",
        null_or(absl::StrCat("FROM_UNIXTIME(", 1 + pick(2'000'000'000), ".", 100 + pick(900), ")")),
        ", ", null_or(absl::StrCat("'-", pick(838), ":12:34.", 10 + pick(90), "'")), ", ",
        null_or(absl::StrCat("X'00", 10 + pick(90), "FF00'")));
  }
  static std::string RandomStatement(std::mt19937_64& random) {
    const std::string key =
        absl::StrCat(random() % 20 + (uint64_t{5} << 47), ", X'0", random() % 3, "00'");
    const std::string by_key = absl::StrCat(" WHERE (order_id, line) = (", key, ")");
    const std::string columns = absl::StrReplaceAll(kColumns, {{", version", ""}});
    switch (random() % 6) {
      case 0:
        return absl::StrCat("DELETE FROM items", by_key);
      case 1:
        return absl::StrCat("REPLACE INTO items (", columns, ") VALUES (", key, ", ",
                            RandomRow(random), ")");
      case 2:
        return absl::StrCat(
            "UPDATE items SET note = CONCAT(COALESCE(LEFT(note, 50), ''), 'u'),"
            " share = ",
            random() % 1000, by_key);
      default:
        return absl::StrCat("INSERT INTO items (", columns, ") VALUES (", key, ", ",
                            RandomRow(random),
                            ") ON DUPLICATE KEY UPDATE note = VALUES(note),"
                            " price = VALUES(price), ratio = VALUES(ratio), at = VALUES(at)");
    }
  }

  static inline MariadbServer* servers_[2];
  MovedTable table_;
  stream::GtidPosition start_, back_start_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_APPLY_TWO_SERVERS_H_
