// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_STREAM_STATEMENT_H_
#define LOCUS_MIGRATION_STREAM_STATEMENT_H_

#include <string_view>

namespace locus::stream {

// What a statement in the log does, by its first words.
enum class StatementKind {
  kBegin,
  kCommit,
  kRollback,
  kSavepoint,   // changes nothing: SAVEPOINT, RELEASE SAVEPOINT
  kRollbackTo,  // takes back a part of the transaction
  kXa,
  kSchema,  // changes tables, accounts or other objects
  kOther,   // changes rows, or is not known
};

// Comments and spaces before the words do not count; the words inside of /*! ... */ do, as servers
// run them.
StatementKind KindOfStatement(std::string_view text);

}  // namespace locus::stream

#endif  // LOCUS_MIGRATION_STREAM_STATEMENT_H_
