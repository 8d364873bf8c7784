// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/row_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "migration/fence/guard_sql.h"
#include "migration/fence/tombstone_sql.h"
#include "migration/stream/event.h"
#include "migration/stream/table_layout.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::ApplyVerdict;
using internal::Quoted;
using internal::RowHistory;
using internal::RowState;
using internal::TombstoneBucket;
using stream::ColumnKind;

namespace {

// How many keys a statement takes: the smallest of these that is enough, so that few statements are
// prepared. Places that are left get the last key again.
size_t SizeFor(size_t keys, size_t most) {
  for (size_t size : {1, 8, 64}) {
    if (keys <= size) return std::min(size, most);
  }
  return most;
}
constexpr size_t kMostKeys = 256;
constexpr size_t kMostKeyBytes = 256 << 10;  // of keys as literals
// Keys of several columns are conditions with AND and OR, which the optimizer takes longer for.
constexpr char kUniqueConflict[] = "locus/unique-conflict";
constexpr size_t kMostLongKeys = 64;

}  // namespace

bool IsUniqueConflict(const absl::Status& status) {
  return status.GetPayload(kUniqueConflict).has_value();
}

absl::Status RowWriter::AddTable(const MovedTable& moved) {
  LOCUS_ASSIGN_OR_RETURN(
      Result columns,
      session_.Query(
          absl::StrCat("SELECT COLUMN_NAME, IS_GENERATED, CHARACTER_SET_NAME, COLLATION_NAME FROM"
                       " information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND"
                       " TABLE_NAME = ",
                       internal::SqlText(moved.guard.name), " ORDER BY ORDINAL_POSITION"),
          Rows(4, stream::kMostColumns)));
  internal::TargetTable target;
  target.moved = moved;
  for (const Result::Row& row : columns.rows) {
    const std::string name = row[0].value_or("");
    (row[1] == "ALWAYS" ? target.generated : target.writable).push_back(name);
    if (row[2]) target.text[name] = {*row[2], row[3].value_or("")};
  }
  if (target.writable.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", session_.place(), " has no table ", Quoted(moved.guard.name)));
  }
  tables_.push_back(std::unique_ptr<Table>(new Table(std::move(target))));
  return absl::OkStatus();
}

RowWriter::Table* RowWriter::Find(std::string_view name) const {
  for (const std::unique_ptr<Table>& table : tables_) {
    if (table->moved().guard.name == name) return table.get();
  }
  return nullptr;
}

size_t RowWriter::pending_bytes() const {
  size_t bytes = 0;
  for (const std::unique_ptr<Table>& table : tables_) bytes += table->effect_.bytes();
  return bytes;
}

absl::Status RowWriter::Use(Table& table, const std::shared_ptr<const stream::TableLayout>& layout,
                            Counts& counts) {
  if (table.layout_ == layout) return absl::OkStatus();
  if (!table.effect_.empty()) LOCUS_RETURN_IF_ERROR(Flush(Source::kStream, counts));
  LOCUS_ASSIGN_OR_RETURN(table.map_, internal::MapRow(*layout, table.target_));
  table.sql_ = internal::SqlOf(table.target_, *layout, table.map_);
  table.lock_layout_ = {};
  for (uint32_t column : table.map_.key) {
    table.lock_layout_.columns.push_back(layout->columns[column]);
  }
  table.lock_layout_.columns.push_back(layout->columns[table.map_.version]);
  table.layout_ = layout;
  return absl::OkStatus();
}

void RowWriter::Forget() {
  Clear();
  for (const std::unique_ptr<Table>& table : tables_) table->deleted_.clear();
}

void RowWriter::Clear() {
  for (const std::unique_ptr<Table>& table : tables_) {
    table->inserts_.clear();
    table->updates_.clear();
    table->removes_.clear();
    table->replaced_.clear();
    table->effect_.Clear();
  }
  pending_ = 0;
}

absl::StatusOr<BoundStatement*> RowWriter::Select(Table& table, const std::string& text) {
  std::unique_ptr<BoundStatement>& statement = table.selects_[text];
  if (statement == nullptr) {
    LOCUS_ASSIGN_OR_RETURN(statement,
                           BoundStatement::Prepare(session_.handle(), session_.place(), text));
  }
  return statement.get();
}

absl::StatusOr<BulkStatement*> RowWriter::Change(Table& table, const std::string& text) {
  std::unique_ptr<BulkStatement>& statement = table.changes_[text];
  if (statement == nullptr) {
    LOCUS_ASSIGN_OR_RETURN(statement, BulkStatement::Prepare(session_.handle(), session_.place(),
                                                             text, session_.max_packet()));
  }
  statement->Clear();
  return statement.get();
}

absl::Status RowWriter::Flush(Source source, Counts& counts, bool make_room) {
  order_matters_ = false;
  for (const auto& table : tables_) LOCUS_RETURN_IF_ERROR(Judge(*table, source, counts));
  // Deletions first, since they free unique values. Children are deleted before their parents, and
  // inserted after them.
  for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
    LOCUS_RETURN_IF_ERROR(Remove(**table));
    if (make_room) LOCUS_RETURN_IF_ERROR(MakeRoom(**table));
  }
  for (const auto& table : tables_) LOCUS_RETURN_IF_ERROR(Update(*table));
  for (const auto& table : tables_) LOCUS_RETURN_IF_ERROR(Insert(*table));
  if (source != Source::kStream) {
    for (const auto& table : tables_) LOCUS_RETURN_IF_ERROR(CheckTombstones(*table));
  }
  Clear();
  return absl::OkStatus();
}

absl::Status RowWriter::Judge(Table& table, Source source, Counts& counts) {
  if (table.effect_.empty()) return absl::OkStatus();
  Histories all, absent;
  for (const RowHistory& history : table.effect_.Sorted()) all.push_back(&history);
  if (source == Source::kFreshCopy) {
    table.inserts_ = std::move(all);
    counts.written += table.inserts_.size();
    return absl::OkStatus();
  }
  LOCUS_ASSIGN_OR_RETURN(auto versions, Versions(table, all));
  for (const RowHistory* history : all) {
    if (!versions.contains(history->key)) absent.push_back(history);
  }
  LOCUS_ASSIGN_OR_RETURN(auto tombstones, Tombstones(table, absent));
  for (const RowHistory* history : all) {
    auto there = versions.find(history->key);
    auto gone = tombstones.find(history->key);
    const bool is_there = there != versions.end();
    RowState local;
    if (is_there) local = {there->second, false};
    if (!is_there && gone != tombstones.end()) local = {gone->second, true};
    bool same = false;
    if (auto* incoming = internal::StateToCompare(*history, local)) {
      LOCUS_ASSIGN_OR_RETURN(same, IsSame(table, incoming->row));
    }
    const internal::HistoryVerdict judged = internal::JudgeHistory(*history, local, same);
    counts.written += judged.written;
    counts.skipped += judged.skipped;
    if (judged.verdict == ApplyVerdict::kConflict) {
      const bool twice = history->conflict != 0 && history->conflict >= local.version;
      return absl::DataLossError(
          absl::StrCat("the row ", Quoted(history->key), " of ", Quoted(table.moved().guard.name),
                       twice ? absl::StrCat(" came twice with version ", history->conflict)
                             : absl::StrCat(" has version ", local.version, " on both shards"),
                       ", with different contents: something wrote past the guards"));
    }
    if (judged.verdict == ApplyVerdict::kSkip) continue;
    if (is_there && history->last().state.deleted) table.deleted_.insert(history->key);
    (history->last().state.deleted ? table.removes_
     : is_there                    ? table.updates_
                                   : table.inserts_)
        .push_back(history);
  }
  return absl::OkStatus();
}

// The versions of those rows that the shard has, by their keys; locks them.
absl::StatusOr<std::unordered_map<std::string, uint64_t>> RowWriter::Versions(
    Table& table, const Histories& histories) {
  const std::vector<uint32_t>& key = table.map_.key;
  const size_t most = key.size() == 1 ? kMostKeys : kMostLongKeys;
  internal::RowMap found_map;
  for (uint32_t i = 0; i < key.size(); ++i) found_map.key.push_back(i);
  found_map.key_columns = table.map_.key_columns;
  found_map.version = static_cast<uint32_t>(key.size());
  std::unordered_map<std::string, uint64_t> versions;
  for (size_t begin = 0; begin < histories.size(); begin += most) {
    const size_t end = std::min(begin + most, histories.size());
    const size_t size = SizeFor(end - begin, most);
    LOCUS_ASSIGN_OR_RETURN(BoundStatement * select, Select(table, table.sql_.Lock(size)));
    for (size_t i = 0; i < size; ++i) {
      const stream::Row& row = histories[std::min(begin + i, end - 1)]->last().row;
      for (uint32_t column : key) select->Bind(row[column]);
    }
    auto rows = select->ExecuteForRows(table.lock_layout_);
    session_.NoteConflict(!rows.ok() && select->conflict());
    LOCUS_RETURN_IF_ERROR(rows.status());
    for (const stream::Row& row : *rows) {
      LOCUS_ASSIGN_OR_RETURN(const uint64_t version, internal::VersionIn(row, found_map));
      versions[internal::TombstoneKey(row, found_map)] = version;
    }
  }
  return versions;
}

absl::StatusOr<std::unordered_map<std::string, uint64_t>> RowWriter::Tombstones(
    Table& table, const Histories& histories) {
  std::unordered_map<std::string, uint64_t> versions;
  const size_t most_bytes = std::min(kMostKeyBytes, session_.max_packet() / 4);
  for (size_t begin = 0; begin < histories.size();) {
    std::string keys;
    size_t end = begin;
    for (; end < histories.size() && end - begin < kMostKeys &&
           (keys.empty() || keys.size() < most_bytes);
         ++end) {
      const std::string& key = histories[end]->key;
      absl::StrAppend(&keys, end == begin ? "(" : ", (", TombstoneBucket(key), ", X'",
                      internal::HexOf(key), "')");
    }
    LOCUS_ASSIGN_OR_RETURN(Result found,
                           session_.Query(table.sql_.LockTombstones(keys), Rows(2, end - begin)));
    for (const Result::Row& row : found.rows) {
      // The column is a BIGINT UNSIGNED.
      versions[row[0].value_or("")] =
          internal::ParseDecimal(row[1].value_or(""), UINT64_MAX).value_or(UINT64_MAX);
    }
    begin = end;
  }
  return versions;
}

absl::StatusOr<bool> RowWriter::IsSame(Table& table, const stream::Row& row) {
  LOCUS_ASSIGN_OR_RETURN(BoundStatement * select, Select(table, table.sql_.same));
  for (uint32_t other : table.map_.others) select->Bind(row[other]);
  for (uint32_t key : table.map_.key) select->Bind(row[key]);
  auto equal = select->ExecuteForNumber();
  session_.NoteConflict(!equal.ok() && select->conflict());
  LOCUS_RETURN_IF_ERROR(equal.status());
  return equal->has_value();
}

absl::Status RowWriter::Execute(Table& table, BulkStatement& statement) {
  const absl::Status status = statement.Execute();
  if (status.ok()) return status;
  session_.NoteConflict(statement.conflict());
  const unsigned error = statement.error();
  order_matters_ = error == kDuplicateKey;
  if (!order_matters_) {
    return stream::Prefixed(
        absl::StrCat("a row of ", Quoted(table.moved().guard.name), " cannot be written: "),
        status);
  }
  absl::Status conflict =
      absl::DataLossError(absl::StrCat("a row of ", Quoted(table.moved().guard.name),
                                       " has a unique key of another row: ", status.message()));
  conflict.SetPayload(kUniqueConflict, absl::Cord("1"));
  return conflict;
}

absl::Status RowWriter::Send(Table& table, const std::string& text, const Histories& histories,
                             const std::vector<uint32_t>& columns) {
  if (histories.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(BulkStatement * statement, Change(table, text));
  for (const RowHistory* history : histories) {
    for (uint32_t column : columns) statement->Add(history->last().row[column]);
  }
  return Execute(table, *statement);
}

// The number 0 of an ENUM means a value that was none of its members. A strict session cannot write
// it (1265). A session that is not strict can, but would also change other values silently, so each
// such row is compared with the row that came.
absl::Status RowWriter::Write(Table& table, const std::string& text, const Histories& histories,
                              const std::vector<uint32_t>& columns) {
  Histories others, odd;
  for (const RowHistory* history : histories) {
    const stream::Row& row = history->last().row;
    const bool is_odd = std::any_of(columns.begin(), columns.end(), [&](uint32_t column) {
      auto* member = std::get_if<stream::EnumNumber>(&row[column]);
      return member != nullptr && member->number == 0;
    });
    (is_odd ? odd : others).push_back(history);
  }
  LOCUS_RETURN_IF_ERROR(Send(table, text, others, columns));
  if (odd.empty()) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(session_.SetStrict(false));
  LOCUS_RETURN_IF_ERROR(Send(table, text, odd, columns));
  LOCUS_RETURN_IF_ERROR(session_.SetStrict(true));
  for (const RowHistory* history : odd) {
    LOCUS_ASSIGN_OR_RETURN(const bool same, IsSame(table, history->last().row));
    if (same) continue;
    return absl::DataLossError(absl::StrCat(
        "a row of ", Quoted(table.moved().guard.name),
        " has an ENUM whose value is none of its members, and another value that the shard would"
        " change when it writes the row; give the ENUM one of its members"));
  }
  return absl::OkStatus();
}

absl::Status RowWriter::Insert(Table& table) {
  std::vector<uint32_t> columns = table.map_.key;
  columns.insert(columns.end(), table.map_.others.begin(), table.map_.others.end());
  Histories rows = table.inserts_;
  rows.insert(rows.end(), table.replaced_.begin(), table.replaced_.end());
  const absl::Status status = Write(table, table.sql_.insert, rows, columns);
  if (!order_matters_) return status;
  // The copy and the stream may bring one row at the same moment. The version rule then has to
  // decide again, with the row that is there now.
  order_matters_ = false;
  LOCUS_ASSIGN_OR_RETURN(const bool lost, CameMeanwhile(table));
  order_matters_ = !lost;
  if (!lost) return status;
  session_.NoteConflict(true);
  return absl::AbortedError(absl::StrCat("a row of ", Quoted(table.moved().guard.name),
                                         " was inserted by another session at the same time"));
}

// The server has one error number for every unique key, and names the key only in its message. So
// the rows are looked up by their primary key. Only after a ROLLBACK: before it, rows that this
// transaction has inserted itself are found as well. A row that an earlier Flush of the transaction
// deleted is there again; no other session can have inserted it, as this one had its lock.
absl::StatusOr<bool> RowWriter::CameMeanwhile(Table& table) {
  LOCUS_RETURN_IF_ERROR(session_.Run("ROLLBACK"));
  LOCUS_ASSIGN_OR_RETURN(const auto versions, Versions(table, table.inserts_));
  return std::any_of(table.inserts_.begin(), table.inserts_.end(), [&](const RowHistory* history) {
    return versions.contains(history->key) && !table.deleted_.contains(history->key);
  });
}

absl::Status RowWriter::Update(Table& table) {
  std::vector<uint32_t> columns = table.map_.others;
  columns.insert(columns.end(), table.map_.key.begin(), table.map_.key.end());
  return Write(table, table.sql_.update, table.updates_, columns);
}

// The posts first, in one order for all sessions, because an INSERT of a client reads only its
// post. Then the tombstone. Then the row, even where none was seen: a copy in another session
// either sees the tombstone after its INSERT, or its row is deleted here.
absl::Status RowWriter::Remove(Table& table) {
  if (table.removes_.empty()) return absl::OkStatus();
  std::map<uint32_t, uint64_t> posts;
  for (const RowHistory* history : table.removes_) {
    uint64_t& version = posts[TombstoneBucket(history->key)];
    version = std::max(version, history->last().state.version);
  }
  LOCUS_ASSIGN_OR_RETURN(BulkStatement * raise, Change(table, table.sql_.raise_post));
  for (const auto& [bucket, version] : posts) {
    raise->Add(StatementValue(version));
    raise->Add(StatementValue(uint64_t{bucket}));
  }
  LOCUS_RETURN_IF_ERROR(Execute(table, *raise));
  LOCUS_ASSIGN_OR_RETURN(BulkStatement * put, Change(table, table.sql_.put_tombstone));
  for (const RowHistory* history : table.removes_) {
    LOCUS_ASSIGN_OR_RETURN(internal::OrderPlace place,
                           internal::PlaceOf(history->last().row, table.map_, table.moved().guard));
    put->Add(StatementValue(uint64_t{TombstoneBucket(history->key)}));
    put->Add(StatementValue(history->key));
    put->Add(StatementValue(history->last().state.version));
    put->Add(StatementValue(uint64_t{place.gene}));
    put->Add(StatementValue(uint64_t{place.cohort}));
  }
  LOCUS_RETURN_IF_ERROR(Execute(table, *put));
  LOCUS_ASSIGN_OR_RETURN(BulkStatement * remove, Change(table, table.sql_.remove));
  for (const RowHistory* history : table.removes_) {
    for (uint32_t key : table.map_.key) remove->Add(history->last().row[key]);
  }
  return Execute(table, *remove);
}

// No other transaction sees the rows gone: this one inserts them again.
absl::Status RowWriter::MakeRoom(Table& table) {
  if (table.updates_.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(BulkStatement * remove, Change(table, table.sql_.remove));
  for (const RowHistory* history : table.updates_) {
    for (uint32_t key : table.map_.key) remove->Add(history->last().row[key]);
  }
  table.replaced_ = std::move(table.updates_);
  table.updates_.clear();
  return Execute(table, *remove);
}

absl::Status RowWriter::CheckTombstones(Table& table) {
  if (table.inserts_.empty()) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(auto tombstones, Tombstones(table, table.inserts_));
  for (const RowHistory* history : table.inserts_) {
    auto gone = tombstones.find(history->key);
    if (gone == tombstones.end() || gone->second < history->last().state.version) continue;
    session_.NoteConflict(true);
    return absl::AbortedError(absl::StrCat("a row of ", Quoted(table.moved().guard.name),
                                           " was deleted while it was copied"));
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
