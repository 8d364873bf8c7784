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

// What the error of a statement says; both kinds of these are ABORTED.
//
// A shard that does not have the order, or no longer has it, answers
// "LOCUS_FENCED <step> <other shard>". Returns the name of the other shard, which is a part of the
// status's message. Empty: it is another error, or the shard knows no other.
std::string_view ShardThatHasIt(const absl::Status& status);
// Another transaction was in the way and the statement was rolled back: a deadlock (1213), a lock
// wait that took too long (1205), a row that has changed (1020). Try again on this shard.
bool LostAgainstAnother(const absl::Status& status);
// The connection broke before the answer came: the server may have executed the statement.
bool AnswerLost(const absl::Status& status);

// A prepared statement with up to kMost parameters and columns. Each of them is a number or has at
// most 16 bytes; none is NULL.
//
// Errors: ALREADY_EXISTS duplicate key. INVALID_ARGUMENT a value does not fit (SQLSTATE 22xxx).
// FAILED_PRECONDITION another refusal that a retry does not change: constraints (23xxx), SIGNAL
// (45000), rights and names (42xxx). ABORTED see above. Otherwise UNAVAILABLE.
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
