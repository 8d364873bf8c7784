// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_ROW_WRITER_H_
#define LOCUS_TESTS_STREAM_ROW_WRITER_H_

#include <memory>
#include <set>
#include <string>

#include "locus/engine/mariadb.h"
#include "migration/stream/change.h"

struct st_mysql;

namespace locus {

// Inserts rows by a prepared statement with the values as they came from a log, in a session in UTC
// without a character set.
// Thread safety: none.
class RowWriter {
 public:
  RowWriter(const MariadbOptions& options, const std::string& sql_mode);
  ~RowWriter();

  // Into `table`, without the columns named in `left_out`; the server's error, or nothing.
  std::string Insert(const std::string& table, const stream::TableLayout& layout,
                     const stream::Row& row, const std::set<std::string>& left_out);

 private:
  st_mysql* handle_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_ROW_WRITER_H_
