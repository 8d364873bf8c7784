// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_DAO_STATEMENT_H_
#define LOCUS_EXAMPLES_ORDER_DAO_STATEMENT_H_

#include <mysql.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "locus/routing/engine/shard_pools.h"

namespace shop {

// Of the errors of a statement, both ABORTED.
//
// A shard that does not have the order, or not any more, says "LOCUS_FENCED <step> <other shard>":
// the name of that other shard, a part of the status's message. Empty: it is no such error, or the
// shard knows no other.
std::string_view ShardThatHasIt(const absl::Status& status);
// The statement was undone because of another transaction, and may be tried again on this shard: a
// deadlock (1213), a lock that did not come in time (1205), a row that changed meanwhile (1020).
bool LostAgainstAnother(const absl::Status& status);

// A prepared statement of up to kMost parameters and columns, which are numbers or at most 16
// bytes.
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

  absl::Status Error();
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
