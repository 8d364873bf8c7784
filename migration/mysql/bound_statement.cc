// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/bound_statement.h"

#include "absl/strings/str_cat.h"
#include "migration/stream/instant.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/errors.h"
#include "src/engine/mysql/sigpipe.h"

namespace locus::mysql {
absl::StatusOr<std::unique_ptr<BoundStatement>> BoundStatement::Prepare(st_mysql* handle,
                                                                        const std::string& place,
                                                                        const std::string& text) {
  HoldSigpipeOfTls hold(handle);
  MYSQL_STMT* statement = mysql_stmt_init(handle);
  if (statement == nullptr) return absl::UnavailableError("out of memory");
  std::unique_ptr<BoundStatement> made(new BoundStatement(handle, place, statement));
  if (mysql_stmt_prepare(statement, text.data(), text.size()) != 0) return made->Fail();
  const unsigned long parameters = mysql_stmt_param_count(statement);
  made->binds_.resize(parameters);
  made->values_.resize(parameters);
  made->lengths_.resize(parameters);
  return made;
}

BoundStatement::BoundStatement(st_mysql* handle, const std::string& place, MYSQL_STMT* statement)
    : handle_(handle), place_(place), statement_(statement) {}

BoundStatement::~BoundStatement() {
  HoldSigpipeOfTls hold(handle_);
  mysql_stmt_close(statement_);
}

void BoundStatement::Bind(const StatementValue& value) {
  LOCUS_CHECK(bound_ < binds_.size());
  StatementValue& kept = values_[bound_];
  kept = value;
  MYSQL_BIND& bind = binds_[bound_];
  bind = MYSQL_BIND{};
  bind.buffer_type = kept.type;
  bind.is_unsigned = kept.is_unsigned;
  bind.buffer = &kept.natural;
  if (kept.bytes != nullptr) {
    lengths_[bound_] = kept.bytes->size();
    bind.buffer = const_cast<char*>(kept.bytes->data());
    bind.buffer_length = kept.bytes->size();
    bind.length = &lengths_[bound_];
  } else if (kept.type == MYSQL_TYPE_DATE || kept.type == MYSQL_TYPE_TIME ||
             kept.type == MYSQL_TYPE_DATETIME) {
    bind.buffer = &kept.time;
    bind.buffer_length = sizeof kept.time;
  }
  ++bound_;
}

absl::Status BoundStatement::Run() {
  HoldSigpipeOfTls hold(handle_);
  LOCUS_CHECK(bound_ == binds_.size());
  bound_ = 0;
  error_ = 0;
  conflict_ = false;
  if (!binds_.empty() && mysql_stmt_bind_param(statement_, binds_.data()) != 0) return Fail();
  return mysql_stmt_execute(statement_) != 0 ? Fail() : absl::OkStatus();
}

absl::StatusOr<uint64_t> BoundStatement::Execute() {
  LOCUS_RETURN_IF_ERROR(Run());
  return mysql_stmt_affected_rows(statement_);
}

absl::StatusOr<std::optional<uint64_t>> BoundStatement::ExecuteForNumber() {
  LOCUS_RETURN_IF_ERROR(Run());
  HoldSigpipeOfTls hold(handle_);
  uint64_t number = 0;
  my_bool is_null = 0;
  MYSQL_BIND out{};
  out.buffer_type = MYSQL_TYPE_LONGLONG;
  out.is_unsigned = 1;
  out.buffer = &number;
  out.is_null = &is_null;
  if (mysql_stmt_field_count(statement_) != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, " returned a result of another shape"));
  }
  if (mysql_stmt_bind_result(statement_, &out) != 0) return Fail();
  const int fetched = mysql_stmt_fetch(statement_);
  if (fetched != 0 && fetched != MYSQL_NO_DATA) return Fail();
  mysql_stmt_free_result(statement_);
  if (fetched == MYSQL_NO_DATA || is_null != 0) return std::optional<uint64_t>();
  return std::optional<uint64_t>(number);
}

namespace {

using stream::ColumnKind;

enum_field_types TypeToRead(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kInteger:
    case ColumnKind::kYear:
    case ColumnKind::kBit:
    case ColumnKind::kEnum:
    case ColumnKind::kSet:
      return MYSQL_TYPE_LONGLONG;
    case ColumnKind::kFloat:
      return MYSQL_TYPE_FLOAT;
    case ColumnKind::kDouble:
      return MYSQL_TYPE_DOUBLE;
    case ColumnKind::kDate:
    case ColumnKind::kDateTime:
    case ColumnKind::kTimestamp:
      return MYSQL_TYPE_DATETIME;
    case ColumnKind::kTime:
      return MYSQL_TYPE_TIME;
    case ColumnKind::kDecimal:
    case ColumnKind::kText:
    case ColumnKind::kBlob:
    case ColumnKind::kGeometry:
      break;
  }
  return MYSQL_TYPE_BLOB;
}

stream::Date DateOf(const MYSQL_TIME& time) {
  return {static_cast<uint16_t>(time.year), static_cast<uint8_t>(time.month),
          static_cast<uint8_t>(time.day)};
}

}  // namespace

absl::StatusOr<std::vector<stream::Row>> BoundStatement::ExecuteForRows(
    const stream::TableLayout& layout) {
  LOCUS_RETURN_IF_ERROR(Run());
  HoldSigpipeOfTls hold(handle_);
  const size_t columns = layout.columns.size();
  if (mysql_stmt_field_count(statement_) != columns) {
    return absl::FailedPreconditionError(
        absl::StrCat("mariadb ", place_, " returned a result of another shape"));
  }
  std::vector<MYSQL_BIND> outs(columns, MYSQL_BIND{});
  std::vector<Slot> slots(columns, Slot{});
  std::vector<my_bool> nulls(columns);
  for (size_t i = 0; i < columns; ++i) {
    const ColumnKind kind = layout.columns[i].kind;
    MYSQL_BIND& out = outs[i];
    out.buffer_type = TypeToRead(kind);
    out.is_unsigned = layout.columns[i].is_unsigned || kind == ColumnKind::kBit ||
                      kind == ColumnKind::kEnum || kind == ColumnKind::kSet;
    const bool is_time =
        out.buffer_type == MYSQL_TYPE_DATETIME || out.buffer_type == MYSQL_TYPE_TIME;
    out.buffer = is_time ? static_cast<void*>(&slots[i].time) : &slots[i].number;
    // First only the length of bytes is read, then exactly that many.
    out.buffer_length = is_time ? sizeof(MYSQL_TIME) : 0;
    out.length = &slots[i].length;
    out.is_null = &nulls[i];
  }
  if (mysql_stmt_bind_result(statement_, outs.data()) != 0) return Fail();
  std::vector<stream::Row> rows;
  while (true) {
    const int fetched = mysql_stmt_fetch(statement_);
    if (fetched == MYSQL_NO_DATA) return rows;
    if (fetched != 0 && fetched != MYSQL_DATA_TRUNCATED) return Fail();
    stream::Row& row = rows.emplace_back(columns);
    for (size_t i = 0; i < columns; ++i) {
      if (nulls[i] != 0) continue;
      LOCUS_ASSIGN_OR_RETURN(row[i], Fetched(i, layout.columns[i], slots[i], outs[i]));
    }
  }
}

absl::StatusOr<stream::Value> BoundStatement::Fetched(size_t index, const stream::Column& column,
                                                      Slot& slot, MYSQL_BIND& out) {
  const MYSQL_TIME& time = slot.time;
  switch (column.kind) {
    case ColumnKind::kInteger:
    case ColumnKind::kYear:
      if (column.is_unsigned) return stream::Value(slot.natural);
      return stream::Value(slot.number);
    case ColumnKind::kBit:
      return stream::Value(stream::Bits{slot.natural});
    case ColumnKind::kEnum:
      return stream::Value(stream::EnumNumber{static_cast<uint16_t>(slot.natural)});
    case ColumnKind::kSet:
      return stream::Value(stream::SetBits{slot.natural});
    case ColumnKind::kFloat:
      return stream::Value(slot.real);
    case ColumnKind::kDouble:
      return stream::Value(slot.wide);
    case ColumnKind::kDate:
      return stream::Value(DateOf(time));
    case ColumnKind::kDateTime:
    case ColumnKind::kTimestamp: {
      const stream::DateTime at{
          DateOf(time), static_cast<uint8_t>(time.hour), static_cast<uint8_t>(time.minute),
          static_cast<uint8_t>(time.second), static_cast<uint32_t>(time.second_part)};
      // The session's zone is +00:00.
      if (column.kind == ColumnKind::kTimestamp) return stream::Value(stream::InstantOf(at));
      return stream::Value(at);
    }
    case ColumnKind::kTime:
      return stream::Value(
          stream::Time{time.neg != 0, static_cast<uint16_t>(time.hour + 24 * time.day),
                       static_cast<uint8_t>(time.minute), static_cast<uint8_t>(time.second),
                       static_cast<uint32_t>(time.second_part)});
    case ColumnKind::kDecimal:
    case ColumnKind::kText:
    case ColumnKind::kBlob:
    case ColumnKind::kGeometry:
      break;
  }
  std::string bytes(slot.length, '\0');
  MYSQL_BIND whole{};
  whole.buffer_type = out.buffer_type;
  whole.buffer = bytes.data();
  whole.buffer_length = bytes.size();
  unsigned long length = 0;
  whole.length = &length;
  if (!bytes.empty() &&
      mysql_stmt_fetch_column(statement_, &whole, static_cast<unsigned>(index), 0) != 0) {
    return Fail();
  }
  if (column.kind == ColumnKind::kDecimal) return stream::Value(stream::Decimal{std::move(bytes)});
  return stream::Value(stream::Bytes{std::move(bytes)});
}

absl::Status BoundStatement::Fail() {
  error_ = mysql_stmt_errno(statement_);
  const std::string text = mysql_stmt_error(statement_);
  const Verdict verdict = Judge(error_, mysql_stmt_sqlstate(statement_));
  conflict_ = verdict.conflict && error_ != kDuplicateKey;
  return StatusOf(verdict, place_, error_, TextWithoutValues(error_, text));
}

}  // namespace locus::mysql
