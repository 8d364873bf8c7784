// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_MYSQL_STATEMENT_VALUE_H_
#define LOCUS_MIGRATION_MYSQL_STATEMENT_VALUE_H_

#include <mysql.h>

#include <cstdint>
#include <string>

#include "migration/stream/change.h"

namespace locus::mysql {

// A value of the change stream as a parameter of a prepared statement, in the binary protocol. Text
// and bytes are not copied: they must stay where they are until the statement has run.
struct StatementValue {
  StatementValue() = default;
  explicit StatementValue(const stream::Value& value);
  explicit StatementValue(uint64_t natural);
  explicit StatementValue(const std::string& bytes);

  enum_field_types type = MYSQL_TYPE_NULL;
  bool is_unsigned = false;
  union {
    uint64_t natural = 0;  // also the bits of a negative number
    float real;
    double wide;
  };
  MYSQL_TIME time{};                   // of TIME, DATE and DATETIME
  const std::string* bytes = nullptr;  // of BLOB and NEWDECIMAL
};

}  // namespace locus::mysql

#endif  // LOCUS_MIGRATION_MYSQL_STATEMENT_VALUE_H_
