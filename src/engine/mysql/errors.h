// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_ERRORS_H_
#define LOCUS_SRC_ENGINE_MYSQL_ERRORS_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace locus::mysql {

// The error numbers of servers and of the client library that some code here depends on.
enum ErrorNumber : unsigned {
  kNone = 0,
  kNotReadyForQueries = 1047,  // Galera: not in the primary component
  kNoSuchColumn = 1054,
  kDuplicateKey = 1062,
  kTableDenied = 1142,
  kNoSuchTable = 1146,
  kLockWaitTimeout = 1205,
  kDeadlock = 1213,  // Galera: certification too
  kReadOnlyServer = 1290,
  kOutOfRange = 1690,
  kStatementOutOfTime = 1969,  // max_statement_time
  kOutOfSync = 2014,           // of the client library: nothing was sent
  kTlsFailed = 2026,           // of the client library
};

struct Verdict {
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  // The same transaction may go through when it is tried again; it has been rolled back.
  bool conflict = false;
  // The connection is of no further use.
  bool leave = false;
};

// The meaning of an error for the caller: by one table of numbers, otherwise by the SQLSTATE. Wrong
// SQL (42), wrong values (22), constraints (23) and the like persist until an operator acts, so
// they are FAILED_PRECONDITION; unknown errors are UNAVAILABLE.
Verdict Judge(unsigned number, std::string_view sqlstate);

// The server's text without the values of rows that some errors quote; of a duplicate key its name
// is left. For errors of other people's rows, which are stored and shown.
std::string TextWithoutValues(unsigned number, const std::string& text);

// "mariadb PLACE: TEXT (NUMBER)", the server's text escaped.
absl::Status StatusOf(const Verdict& verdict, std::string_view place, unsigned number,
                      std::string_view text);

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_ERRORS_H_
