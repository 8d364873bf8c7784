// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_BOUND_STATEMENT_H_
#define LOCUS_MIGRATION_MYSQL_BOUND_STATEMENT_H_

#include <mysql.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/mysql/statement_value.h"
#include "migration/stream/change.h"
#include "src/engine/mysql/login.h"

namespace locus::mysql {

// A prepared statement whose parameters are values of the change stream. They travel in the binary
// protocol: as text a FLOAT would lose digits. Thread safety: none.
class BoundStatement {
 public:
  // `handle` and `place` outlive it.
  static absl::StatusOr<std::unique_ptr<BoundStatement>> Prepare(st_mysql* handle,
                                                                 const std::string& place,
                                                                 const std::string& text);
  ~BoundStatement();
  BoundStatement(const BoundStatement&) = delete;
  BoundStatement& operator=(const BoundStatement&) = delete;

  // The parameters of the next execution, in order. What is passed must stay until then.
  void Bind(const StatementValue& value);
  void Bind(const stream::Value& value) { Bind(StatementValue(value)); }

  // The number of rows that it changed.
  absl::StatusOr<uint64_t> Execute();
  // Of a SELECT of one number: that of the first row; nullopt: there is none.
  absl::StatusOr<std::optional<uint64_t>> ExecuteForNumber();

  // Of a SELECT of the layout's columns, with BIT, ENUM and SET as numbers: all of its rows.
  absl::StatusOr<std::vector<stream::Row>> ExecuteForRows(const stream::TableLayout& layout);

  // Of the last execution: the server's error, and whether the whole transaction may be repeated.
  unsigned error() const { return error_; }
  bool conflict() const { return conflict_; }

 private:
  // Where a column of a result is fetched to.
  struct Slot {
    union {
      int64_t number;
      uint64_t natural;
      float real;
      double wide;
    };
    MYSQL_TIME time;
    unsigned long length;
  };

  BoundStatement(st_mysql* handle, const std::string& place, MYSQL_STMT* statement);
  absl::Status Run();
  absl::StatusOr<stream::Value> Fetched(size_t index, const stream::Column& column, Slot& slot,
                                        MYSQL_BIND& out);
  absl::Status Fail();

  st_mysql* const handle_;
  const std::string& place_;
  MYSQL_STMT* const statement_;
  std::vector<MYSQL_BIND> binds_;
  std::vector<StatementValue> values_;
  std::vector<unsigned long> lengths_;
  size_t bound_ = 0;
  unsigned error_ = 0;
  bool conflict_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_BOUND_STATEMENT_H_
