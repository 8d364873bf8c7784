// SPDX-License-Identifier: Apache-2.0
#include "migration/stream/change_transaction.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/stream/row_decoder.h"
#include "src/base/os/check.h"

namespace locus::stream {

namespace {

uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

// Events have their own checksums. The bytes that are added to them may lie in a file, so they have
// one as well.
absl::Status ChangeTransaction::AppendTable(uint64_t id, uint32_t layout) {
  std::string record(1, kTable);
  record.append(reinterpret_cast<const char*>(&id), sizeof id);
  record.append(reinterpret_cast<const char*>(&layout), sizeof layout);
  return AppendOwn(std::move(record));
}

absl::Status ChangeTransaction::AppendStatement(const Statement& statement) {
  has_statement_ = true;
  return AppendOwn(absl::StrCat(std::string(1, kStatement), Packed(statement)));
}

absl::Status ChangeTransaction::AppendOwn(std::string record) {
  const uint32_t checksum = Checksum(record);
  return spool_.Append(record, {reinterpret_cast<const char*>(&checksum), sizeof checksum});
}

bool ChangeTransaction::HasChecksum(std::string_view record, std::string_view& rest) {
  if (record.size() < 1 + sizeof(uint32_t)) return false;
  const std::string_view bytes = record.substr(0, record.size() - sizeof(uint32_t));
  rest = bytes.substr(1);
  return ByteReader(record.substr(bytes.size())).Little(sizeof(uint32_t)) == Checksum(bytes);
}

absl::Status ChangeTransaction::AppendEvent(std::string_view bytes) {
  constexpr char kKind = kEvent;
  return spool_.Append({&kKind, 1}, bytes);
}

absl::Status ChangeTransaction::AppendStatementEnd() {
  constexpr char kKind = kStatementEnd;
  return spool_.Append({&kKind, 1}, {});
}

bool ChangeTransaction::Names(std::string_view table) const {
  return std::any_of(layouts_.begin(), layouts_.end(),
                     [&](const auto& layout) { return layout->table == table; });
}

absl::Status ChangeTransaction::Rewind() {
  tables_.clear();
  rows_ = ByteReader({});
  failed_ = spool_.Rewind();
  return failed_;
}

absl::StatusOr<bool> ChangeTransaction::Next(Change& change) {
  LOCUS_RETURN_IF_ERROR(failed_);
  absl::StatusOr<bool> more = TakeNext(change);
  failed_ = more.status();
  return more;
}

absl::StatusOr<bool> ChangeTransaction::TakeNext(Change& change) {
  while (rows_.empty()) {
    bool found = false;
    LOCUS_ASSIGN_OR_RETURN(const bool more, NextRecord(change, found));
    if (!more || found) return more;
  }
  return NextRow(change);
}

absl::StatusOr<bool> ChangeTransaction::NextRecord(Change& change, bool& found) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<std::string_view> record, spool_.Next());
  if (!record) return false;
  ByteReader reader(*record);
  const char kind = static_cast<char>(reader.Byte());
  if (kind == kEvent) {
    LOCUS_RETURN_IF_ERROR(OpenEvent(reader.rest()));
    return true;
  }
  if (kind == kStatementEnd && reader.empty()) {
    tables_.clear();
    return true;
  }
  std::string_view own;
  if (!HasChecksum(*record, own)) return Damaged();
  if (kind == kStatement) {
    std::optional<Statement> statement = Unpacked(own);
    if (!statement) return Damaged();
    change.kind = ChangeKind::kStatement;
    change.table = nullptr;
    change.before.clear();
    change.after.clear();
    change.statement = *std::move(statement);
    found = true;
    return true;
  }
  ByteReader table(own);
  const uint64_t id = table.Little(8);
  const uint64_t layout = table.Little(4);
  if (kind != kTable || !table.ok() || !table.empty() || layout >= layouts_.size()) {
    return Damaged();
  }
  tables_[id] = static_cast<uint32_t>(layout);
  return true;
}

absl::Status ChangeTransaction::Damaged() const {
  return absl::DataLossError(
      absl::StrCat("what was stored of transaction ", gtid().ToString(), " is damaged"));
}

// The checksum was right when the event came, but the event may have been in a file since.
absl::Status ChangeTransaction::OpenEvent(std::string_view bytes) {
  LOCUS_ASSIGN_OR_RETURN(Event event, ParseEvent(bytes));
  LOCUS_ASSIGN_OR_RETURN(RowsHeader header, ParseRowsHeader(event));
  auto table = tables_.find(header.table_id);
  if (table == tables_.end()) return Damaged();  // the assembler stored no rows without
  rows_kind_ = header.kind;
  rows_table_ = layouts_[table->second];
  rows_ = ByteReader(header.rows);
  return absl::OkStatus();
}

absl::StatusOr<bool> ChangeTransaction::NextRow(Change& change) {
  change.kind = rows_kind_;
  if (change.table != rows_table_) change.table = rows_table_;
  change.statement = {};
  if (rows_kind_ == ChangeKind::kInsert) {
    change.before.clear();
  } else {
    LOCUS_RETURN_IF_ERROR(DecodeRow(*rows_table_, rows_, change.before));
  }
  if (rows_kind_ == ChangeKind::kDelete) {
    change.after.clear();
  } else {
    LOCUS_RETURN_IF_ERROR(DecodeRow(*rows_table_, rows_, change.after));
  }
  return true;
}

}  // namespace locus::stream
