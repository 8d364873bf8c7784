// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_BULK_STATEMENT_H_
#define LOCUS_MIGRATION_MYSQL_BULK_STATEMENT_H_

#include <mysql.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/mysql/statement_value.h"

namespace locus::mysql {

// A prepared INSERT, UPDATE or DELETE that runs for many rows of parameters in one round trip, or
// in a few if the server takes no packet of all of them, in their order. Thread safety: none.
class BulkStatement {
 public:
  // `handle` and `place` outlive it. `text` has at least one parameter. `max_packet`: the session's
  // max_allowed_packet.
  static absl::StatusOr<std::unique_ptr<BulkStatement>> Prepare(st_mysql* handle,
                                                                const std::string& place,
                                                                const std::string& text,
                                                                size_t max_packet);
  ~BulkStatement();
  BulkStatement(const BulkStatement&) = delete;
  BulkStatement& operator=(const BulkStatement&) = delete;

  // The next parameter; behind the last one of a row comes the first one of the next. All values of
  // a parameter have one type, or are NULL. What is passed must stay until Execute.
  void Add(const StatementValue& value);
  void Add(const stream::Value& value) { Add(StatementValue(value)); }

  // Forgets what was added.
  void Clear();
  // Runs for the rows that were added, whole ones, and forgets them. Where it fails, some may have
  // been done: their transaction must be rolled back. FAILED_PRECONDITION: also where a row is
  // larger than max_packet.
  absl::Status Execute();

  // Of the last execution: the server's error, and whether the whole transaction may be repeated.
  unsigned error() const { return error_; }
  bool conflict() const { return conflict_; }

 private:
  // The arrays that the client library reads for one parameter.
  struct Column {
    enum_field_types type = MYSQL_TYPE_NULL;
    bool is_unsigned = false;
    std::vector<StatementValue> values;
    // Only the array that the type needs is used: numbers side by side, or pointers.
    std::vector<uint64_t> words;
    std::vector<float> reals;
    std::vector<void*> pointers;
    std::vector<unsigned long> lengths;
    std::vector<char> indicators;
  };

  BulkStatement(st_mysql* handle, const std::string& place, MYSQL_STMT* statement,
                size_t max_packet);
  // Rows [begin, end).
  static void Lay(Column& column, size_t begin, size_t end, MYSQL_BIND& bind);
  // How many rows from `begin` on fit into one packet; 0: not even one.
  size_t Fitting(size_t begin) const;
  absl::Status ExecuteRows(size_t begin, size_t end);
  absl::Status Fail();

  st_mysql* const handle_;
  const std::string& place_;
  MYSQL_STMT* const statement_;
  const size_t max_packet_;
  std::vector<Column> columns_;
  std::vector<MYSQL_BIND> binds_;
  size_t next_ = 0;  // the parameter that Add gives next
  unsigned error_ = 0;
  bool conflict_ = false;
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_BULK_STATEMENT_H_
