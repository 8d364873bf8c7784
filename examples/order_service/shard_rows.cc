// SPDX-License-Identifier: Apache-2.0
#include "shard_rows.h"

#include <mysql.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locus/routing/engine/shard_error.h"

namespace shop {
namespace {

// Adds a row to what is known of its order.
void AddRow(Table table, const Row& row, StoredOrder& order) {
  order.sum += DigestOf(table, row);
  if (table != Table::kOrders) return;
  order.no = row[kOrderNoColumn].value_or("");
  static_cast<void>(absl::SimpleAtoi(row[kVersionColumn].value_or(""), &order.version));
}

}  // namespace

absl::StatusOr<uint64_t> Execute(locus::ShardConnection& connection, const std::string& statement) {
  MYSQL* handle = connection.handle();
  if (mysql_real_query(handle, statement.data(), statement.size()) != 0) {
    return locus::ShardErrorOf(connection);
  }
  return mysql_affected_rows(handle);
}

absl::Status Select(locus::ShardConnection& connection, const std::string& query,
                    const std::function<void(const Row&)>& take) {
  MYSQL* handle = connection.handle();
  if (mysql_real_query(handle, query.data(), query.size()) != 0) {
    return locus::ShardErrorOf(connection);
  }
  std::unique_ptr<MYSQL_RES, void (*)(MYSQL_RES*)> rows(mysql_use_result(handle),
                                                        mysql_free_result);
  if (rows == nullptr) return locus::ShardErrorOf(connection);
  const unsigned columns = mysql_num_fields(rows.get());
  while (MYSQL_ROW fields = mysql_fetch_row(rows.get())) {
    const unsigned long* lengths = mysql_fetch_lengths(rows.get());
    Row row(columns);
    for (unsigned i = 0; i < columns; ++i) {
      if (fields[i] != nullptr) row[i].emplace(fields[i], lengths[i]);
    }
    take(row);
  }
  return mysql_errno(handle) == 0 ? absl::OkStatus() : locus::ShardErrorOf(connection);
}

absl::StatusOr<OrderState> SelectOrder(locus::ShardConnection& connection,
                                       const locus::OrderId& id) {
  StoredOrder order;
  bool there = false;
  for (const Table table : kTables) {
    const absl::Status status =
        Select(connection,
               absl::StrCat("SELECT ", ColumnsOf(table), " FROM ", NameOf(table),
                            " WHERE order_id = ", id.ToString()),
               [&](const Row& row) {
                 there = true;
                 AddRow(table, row, order);
               });
    if (!status.ok()) return status;
  }
  return there ? order.state() : OrderState{};
}

absl::StatusOr<ShardContents> ReadShard(locus::ShardPools& pools, const locus::RoutedShard& shard) {
  auto connection = pools.Take(shard, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  if (!connection.ok()) return connection.status();
  for (const char* begin : {"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
                            "START TRANSACTION WITH CONSISTENT SNAPSHOT"}) {
    if (auto begun = Execute(*connection, begin); !begun.ok()) return begun.status();
  }
  ShardContents contents{shard, {}};
  uint64_t unreadable = 0;
  for (const Table table : kTables) {
    const absl::Status status =
        Select(*connection, absl::StrCat("SELECT ", ColumnsOf(table), " FROM ", NameOf(table)),
               [&](const Row& row) {
                 uint64_t id = 0;
                 if (!absl::SimpleAtoi(row[0].value_or(""), &id)) ++unreadable;
                 AddRow(table, row, contents.orders[id]);
               });
    if (!status.ok()) return status;
  }
  if (unreadable > 0) {
    return absl::DataLossError(absl::StrCat("shard ", shard.name, " has ", unreadable,
                                            " rows whose order_id is no number"));
  }
  return contents;
}

}  // namespace shop
