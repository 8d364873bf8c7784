// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_APPLY_NAIVE_APPLIER_H_
#define LOCUS_TESTS_APPLY_NAIVE_APPLIER_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/apply/row_sql.h"
#include "migration/cut_over/version_rule.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/mysql/bound_statement.h"
#include "migration/mysql/target_session.h"
#include "migration/stream/change_transaction.h"

namespace locus {

// Applies a stream of one table change by change, each by the rule, without folding and without
// statements of many rows: what ChangeApplier is compared with.
class NaiveApplier {
 public:
  NaiveApplier(const MysqlOptions& server, internal::TargetTable table)
      : session_(*mysql::TargetSession::Open(server)), table_(std::move(table)) {}

  absl::Status Apply(stream::ChangeTransaction& transaction) {
    return session_->TransactOnce([&]() -> absl::Status {
      LOCUS_RETURN_IF_ERROR(transaction.Rewind());
      stream::Change change;
      while (true) {
        LOCUS_ASSIGN_OR_RETURN(bool more, transaction.Next(change));
        if (!more) return absl::OkStatus();
        if (change.table == nullptr || change.table->table != table_.moved.guard.name) continue;
        LOCUS_RETURN_IF_ERROR(ApplyChange(change));
      }
    });
  }

 private:
  absl::Status ApplyChange(const stream::Change& change) {
    LOCUS_ASSIGN_OR_RETURN(const internal::RowMap map, internal::MapRow(*change.table, table_));
    const internal::RowSql sql = internal::SqlOf(table_, *change.table, map);
    const bool deleted = change.kind == stream::ChangeKind::kDelete;
    const stream::Row& row = deleted ? change.before : change.after;
    LOCUS_ASSIGN_OR_RETURN(uint64_t version, internal::VersionIn(row, map));
    if (deleted) ++version;
    if (change.kind == stream::ChangeKind::kUpdate) {
      LOCUS_ASSIGN_OR_RETURN(const uint64_t before, internal::VersionIn(change.before, map));
      if (version <= before) return absl::DataLossError("the version did not rise");
    }
    const std::string pk = internal::TombstoneKey(row, map);
    const stream::Value tombstone = stream::Bytes{pk},
                        bucket = uint64_t{internal::TombstoneBucket(pk)};
    std::vector<const stream::Value*> key, others;
    for (uint32_t column : map.key) key.push_back(&row[column]);
    for (uint32_t column : map.others) others.push_back(&row[column]);
    LOCUS_ASSIGN_OR_RETURN(
        auto there,
        Number(absl::StrCat("SELECT version FROM items WHERE ", sql.key_condition), {key}));
    LOCUS_ASSIGN_OR_RETURN(auto gone,
                           Number("SELECT version FROM locus_tombstone WHERE bucket = ? AND pk = ?",
                                  {{&bucket, &tombstone}}));
    internal::RowState local;
    if (there) local = {*there, false};
    if (!there && gone) local = {*gone, true};
    LOCUS_ASSIGN_OR_RETURN(auto same, Number(sql.same, {others, key}));
    switch (internal::JudgeIncoming({version, deleted}, local, same.has_value())) {
      case internal::ApplyVerdict::kConflict:
        return absl::DataLossError("two rows of one version");
      case internal::ApplyVerdict::kSkip:
        return absl::OkStatus();
      case internal::ApplyVerdict::kWrite:
        break;
    }
    if (!deleted) {
      return there ? Change(sql.update, {others, key}) : Change(sql.insert, {key, others});
    }
    LOCUS_RETURN_IF_ERROR(Change(sql.remove, {key}));
    const stream::Value place = uint64_t{0}, number = version;
    LOCUS_RETURN_IF_ERROR(Change(sql.raise_post, {{&number, &bucket}}));
    return Change(sql.put_tombstone, {{&bucket, &tombstone, &number, &place, &place}});
  }

  using Parameters = std::vector<std::vector<const stream::Value*>>;
  absl::StatusOr<std::unique_ptr<mysql::BoundStatement>> Bound(const std::string& text,
                                                               const Parameters& parameters) {
    LOCUS_ASSIGN_OR_RETURN(auto statement, mysql::BoundStatement::Prepare(session_->handle(),
                                                                          session_->place(), text));
    for (const auto& some : parameters) {
      for (const stream::Value* value : some) statement->Bind(*value);
    }
    return statement;
  }
  absl::StatusOr<std::optional<uint64_t>> Number(const std::string& text,
                                                 const Parameters& parameters) {
    LOCUS_ASSIGN_OR_RETURN(auto statement, Bound(text, parameters));
    return statement->ExecuteForNumber();
  }
  absl::Status Change(const std::string& text, const Parameters& parameters) {
    LOCUS_ASSIGN_OR_RETURN(auto statement, Bound(text, parameters));
    return statement->Execute().status();
  }

  const std::unique_ptr<mysql::TargetSession> session_;
  const internal::TargetTable table_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_APPLY_NAIVE_APPLIER_H_
