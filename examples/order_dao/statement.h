// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_DAO_STATEMENT_H_
#define LOCUS_EXAMPLES_ORDER_DAO_STATEMENT_H_

#include <mysql.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "locus/routing/engine/shard_error.h"
#include "locus/routing/engine/shard_pools.h"

namespace shop {

// A prepared statement with up to kMost parameters and columns. Each of them is a number or has at
// most 16 bytes; none is NULL.
//
// Errors: those of locus::ShardErrorOf. INVALID_ARGUMENT also: too many parameters or columns.
class Statement {
 public:
  static constexpr size_t kMost = 6;

  // `text` outlives it.
  Statement(locus::ShardConnection& connection, std::string_view text);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // The next parameter.
  Statement& Bind(uint64_t number);
  Statement& Bind(std::string_view bytes);  // outlive Execute()

  absl::Status Execute();
  uint64_t affected() const { return mysql_stmt_affected_rows(statement_); }

  // Reads the next row: NOT_FOUND after the last.
  absl::Status Fetch();
  uint64_t Number(size_t column) const { return columns_[column].number; }
  std::string_view Bytes(size_t column) const {
    return {columns_[column].bytes.data(), columns_[column].length};
  }

 private:
  struct Value {
    uint64_t number = 0;
    std::array<char, 16> bytes{};
    unsigned long length = 0;
  };

  // The next parameter's; the last again where there are too many, which Execute() refuses.
  size_t Next();
  absl::Status Error() { return locus::ShardErrorOf(connection_, statement_); }
  absl::Status BindColumns();

  locus::ShardConnection& connection_;
  const std::string_view text_;
  MYSQL_STMT* const statement_;
  std::array<MYSQL_BIND, kMost> parameters_{};
  std::array<Value, kMost> values_;  // of the parameters
  unsigned parameter_count_ = 0;
  std::array<Value, kMost> columns_;
};

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_DAO_STATEMENT_H_
