// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STREAM_ROW_WRITER_H_
#define LOCUS_TESTS_STREAM_ROW_WRITER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "migration/mysql/bound_statement.h"
#include "src/engine/mysql/answer.h"

namespace locus {

// Inserts rows as the applier does: by a prepared statement with the values as they came from a
// log, in a session in UTC without a character set.
// Thread safety: none.
class RowWriter {
 public:
  RowWriter(const MysqlOptions& options, const std::string& sql_mode) {
    mysql::Login login;
    login.host = options.hosts[0];
    login.user = options.user;
    login.database = options.database;
    login.connect_timeout = options.connect_timeout;
    login.timeout = options.timeout;
    auto handle = mysql::LogIn(login, options.password.c_str());
    EXPECT_TRUE(handle.ok()) << handle.status();
    if (!handle.ok()) return;
    handle_ = *std::move(handle);
    const std::string set =
        absl::StrCat("SET NAMES binary, time_zone='+00:00', sql_mode='", sql_mode, "'");
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    EXPECT_TRUE(mysql::Ask(handle_.get(), place_, {set, {}, deadline}).results.ok());
  }

  // Into `table`, without the columns named in `left_out`.
  absl::Status Insert(const std::string& table, const stream::TableLayout& layout,
                      const stream::Row& row, const std::set<std::string>& left_out) {
    std::vector<std::string> names, marks;
    for (const stream::Column& column : layout.columns) {
      if (left_out.count(column.name) != 0) continue;
      names.push_back(absl::StrCat("`", column.name, "`"));
      marks.push_back("?");
    }
    auto statement = mysql::BoundStatement::Prepare(
        handle_.get(), place_,
        absl::StrCat("INSERT INTO ", table, " (", absl::StrJoin(names, ","), ") VALUES (",
                     absl::StrJoin(marks, ","), ")"));
    if (!statement.ok()) return statement.status();
    for (size_t i = 0; i < row.size(); ++i) {
      if (left_out.count(layout.columns[i].name) == 0) (*statement)->Bind(row[i]);
    }
    return (*statement)->Execute().status();
  }

 private:
  const std::string place_ = "of the test";
  mysql::Handle handle_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_STREAM_ROW_WRITER_H_
