// SPDX-License-Identifier: Apache-2.0
// How an applier treats statements of the log, and rows that XA transactions have prepared.
#include "absl/strings/str_cat.h"
#include "migration/apply/change_applier.h"
#include "migration/apply/fence_changes.h"
#include "migration/mysql/marker_tables.h"
#include "migration/stream/event.h"
#include "migration/stream/statement.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::Quoted;

internal::StatementEffect ChangeApplier::EffectOf(const stream::Statement& statement) const {
  static const std::vector<std::string> kOwn = {kFence, kRuns, kCheckpoints, kCopies};
  std::vector<std::string> tables;
  for (const MovedTable& table : options_.tables) tables.push_back(table.guard.name);
  return internal::EffectOf(statement, options_.peer_database, tables, kOwn);
}

bool ChangeApplier::Heeds(const stream::Statement& statement) const {
  return EffectOf(statement).kind != internal::StatementEffect::Kind::kNone;
}

absl::Status ChangeApplier::JudgeStatement(const stream::Statement& statement,
                                           Attempt& attempt) const {
  using Effect = internal::StatementEffect::Kind;
  const internal::StatementEffect effect = EffectOf(statement);
  const std::string& verb = statement.verb;
  auto stop = [](const std::string& why) {
    return stream::CannotPass(absl::FailedPreconditionError(why));
  };
  switch (effect.kind) {
    case Effect::kNone:
      break;
    // The rows that a trigger changes have events of their own.
    case Effect::kTriggers:
      ++attempt.counts.unguarded;
      attempt.unguarded_text = absl::StrCat(verb, " of table ", Quoted(effect.table));
      break;
    case Effect::kTable:
      return stop(absl::StrCat("table ", Quoted(effect.table),
                               " may have been changed while it moves: ", verb));
    case Effect::kDropsTables:
      return stop(absl::StrCat("the tables are gone: ", verb));
    case Effect::kRows:
      return stop(absl::StrCat("rows of table ", Quoted(effect.table), " may have been changed by ",
                               verb,
                               ", which is in the log as text; set binlog_format=ROW in every"
                               " session"));
    case Effect::kUnknown:
      // Every binlog_format logs it as text.
      if (verb == stream::kOwnModes) {
        return stop(absl::StrCat(
            verb,
            " sql_mode hides which table its statement changes; compare the definitions of"
            " the moved tables on both shards, and set sql_mode by SET SESSION instead"));
      }
      return stop(absl::StrCat(verb.empty() ? "a statement of an unknown kind" : verb,
                               " is in the log as text, and may change rows; set binlog_format=ROW"
                               " in every session"));
  }
  return absl::OkStatus();
}

absl::Status ChangeApplier::PassPrepared(const stream::Change& change, const stream::Xid& xid,
                                         Attempt& attempt) {
  if (change.kind == stream::ChangeKind::kStatement) {
    return JudgeStatement(change.statement, attempt);
  }
  const std::string& name = change.table->table;
  RowWriter::Table* table = writer_.Find(name);
  bool moves = table == nullptr;  // markers and fence: no tool of a move prepares
  if (table != nullptr) {
    LOCUS_RETURN_IF_ERROR(writer_.Use(*table, change.table, attempt.rows));
    for (const stream::Row* row : {&change.before, &change.after}) {
      if (row->empty()) continue;
      const auto gene = internal::GeneIn(*row, table->map(), table->moved().guard);
      moves = moves || (gene && internal::RangeOf(options_.ranges, *gene));
    }
  }
  if (!moves) return absl::OkStatus();
  return stream::CannotPass(absl::FailedPreconditionError(absl::StrCat(
      "the XA transaction ", xid.ToString(), " was prepared with rows of ", Quoted(name),
      " that move, and the log does not show with them whether they are committed; end it by XA"
      " COMMIT or XA ROLLBACK, and use no XA for these rows while the move runs")));
}

}  // namespace locus::mysql
