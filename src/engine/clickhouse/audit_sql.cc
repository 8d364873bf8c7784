// SPDX-License-Identifier: Apache-2.0
#include "src/engine/clickhouse/audit_sql.h"

#include <algorithm>
#include <boost/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::clickhouse {

using internal::ParseDecimal;
using internal::Printable;
using internal::ToAbsl;

namespace {

constexpr std::string_view kColumns =
    "id, time_us, kind, space, place, process, trace_id, worker, token, floor_ms, ceiling_ms,"
    " section, first, end, nonce, holder, detail";

// ClickHouse's numbers of errors.
constexpr uint64_t kCannotParse[] = {6, 26, 27, 38, 41, 53, 69, 72, 117};
constexpr uint64_t kUnknownPlace[] = {60, 81};
constexpr uint64_t kNoAccess[] = {192, 193, 194, 195, 497, 516};

template <size_t kCount>
bool IsOneOf(uint64_t code, const uint64_t (&codes)[kCount]) {
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

std::string PlaceOf(const ClickHouseOptions& options) {
  return absl::StrCat(options.database, ".", options.table);
}

int64_t Micros(absl::Time time) { return std::max<int64_t>(absl::ToUnixMicros(time), 0); }

// A number that ClickHouse writes as it is, or in quotes if it has 64 bits.
bool TakeNumber(const boost::json::object& row, const char* name, uint64_t& number) {
  const boost::json::value* value = row.if_contains(name);
  if (value == nullptr) return false;
  if (value->is_uint64() || value->is_int64()) {
    boost::json::error_code error;
    number = value->to_number<uint64_t>(error);
    return !error;
  }
  if (!value->is_string()) return false;
  const std::string_view text(value->get_string().data(), value->get_string().size());
  const std::optional<uint64_t> parsed = ParseDecimal(text, UINT64_MAX);
  number = parsed.value_or(0);
  return parsed.has_value();
}

bool TakeText(const boost::json::object& row, const char* name, std::string& text) {
  const boost::json::value* value = row.if_contains(name);
  if (value == nullptr || !value->is_string()) return false;
  text.assign(value->get_string().data(), value->get_string().size());
  return true;
}

absl::Time FromMillis(uint64_t ms) {
  return ms == 0 ? absl::InfinitePast() : absl::FromUnixMillis(static_cast<int64_t>(ms));
}

bool TakeRecord(const boost::json::object& row, AuditRecord& record) {
  std::string kind;
  uint64_t time_us = 0, floor_ms = 0, ceiling_ms = 0, section = 0;
  if (!TakeNumber(row, "time_us", time_us) || !TakeText(row, "kind", kind) ||
      !TakeText(row, "space", record.space) || !TakeText(row, "place", record.place) ||
      !TakeText(row, "trace_id", record.trace_id) || !TakeText(row, "nonce", record.nonce) ||
      !TakeText(row, "holder", record.holder) || !TakeText(row, "detail", record.detail) ||
      !TakeNumber(row, "worker", record.worker) || !TakeNumber(row, "token", record.token) ||
      !TakeNumber(row, "floor_ms", floor_ms) || !TakeNumber(row, "ceiling_ms", ceiling_ms) ||
      !TakeNumber(row, "section", section) || !TakeNumber(row, "first", record.first) ||
      !TakeNumber(row, "end", record.end)) {
    return false;
  }
  const std::optional<AuditRecord::Kind> known = ParseAuditKind(kind);
  if (!known || section > UINT32_MAX || time_us > INT64_MAX || floor_ms > INT64_MAX ||
      ceiling_ms > INT64_MAX) {
    return false;
  }
  record.kind = *known;
  record.time = absl::FromUnixMicros(static_cast<int64_t>(time_us));
  record.floor = FromMillis(floor_ms);
  record.ceiling = FromMillis(ceiling_ms);
  record.section = static_cast<uint32_t>(section);
  return true;
}

}  // namespace

bool IsName(std::string_view name) {
  if (name.empty() || name.size() > 64 || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

std::string CreateTableStatement(const ClickHouseOptions& options) {
  return absl::StrCat(
      "CREATE TABLE IF NOT EXISTS ", PlaceOf(options),
      " (id String, day Date, time_us UInt64, kind String, space String, place String,"
      " process String, trace_id String, worker UInt64, token UInt64, floor_ms UInt64,"
      " ceiling_ms UInt64, section UInt32, first UInt64, end UInt64, nonce String, holder String,"
      " detail String)"
      " ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMM(day)"
      " ORDER BY (space, kind, worker, section, time_us, id)");
}

std::string InsertStatement(const ClickHouseOptions& options) {
  return absl::StrCat("INSERT INTO ", PlaceOf(options), " FORMAT JSONEachRow");
}

std::string SelectStatement(const ClickHouseOptions& options, const AuditQuery& query) {
  std::vector<std::string> conditions = {"1"};
  // A space's name and a kind have no character that a literal would need to escape.
  if (query.space) conditions.push_back(absl::StrCat("space = '", query.space->str(), "'"));
  if (!query.kinds.empty()) {
    std::vector<std::string> kinds;
    for (AuditRecord::Kind kind : query.kinds)
      kinds.push_back(absl::StrCat("'", ToAbsl(ToString(kind)), "'"));
    conditions.push_back(absl::StrCat("kind IN (", absl::StrJoin(kinds, ","), ")"));
  }
  if (query.worker) conditions.push_back(absl::StrCat("worker = ", *query.worker));
  if (query.token) conditions.push_back(absl::StrCat("token = ", *query.token));
  if (query.section) conditions.push_back(absl::StrCat("section = ", *query.section));
  if (query.sequence) {
    conditions.push_back(
        absl::StrCat("first <= ", *query.sequence, " AND end > ", *query.sequence));
  }
  if (query.since != absl::InfinitePast()) {
    conditions.push_back(absl::StrCat("time_us >= ", Micros(query.since)));
  }
  if (query.until != absl::InfiniteFuture()) {
    conditions.push_back(absl::StrCat("time_us <= ", Micros(query.until)));
  }
  return absl::StrCat("SELECT ", ToAbsl(kColumns), " FROM ", PlaceOf(options), " FINAL WHERE ",
                      absl::StrJoin(conditions, " AND "), " ORDER BY time_us ",
                      query.newest_first ? "DESC, id DESC" : ", id", " LIMIT ", query.limit,
                      " FORMAT JSONEachRow");
}

absl::StatusOr<AuditRow> ParseRow(std::string_view line) {
  boost::json::error_code error;
  const boost::json::value value = boost::json::parse({line.data(), line.size()}, error);
  AuditRow row;
  if (!error && value.is_object() && TakeText(value.get_object(), "id", row.id) &&
      TakeText(value.get_object(), "process", row.process) &&
      TakeRecord(value.get_object(), row.record)) {
    return row;
  }
  return absl::DataLossError(
      absl::StrCat("clickhouse answered what is no audit record: ", Printable(line)));
}

absl::Status ErrorOf(unsigned http_status, std::string_view body, std::string_view place) {
  constexpr std::string_view kCode = "Code: ";
  uint64_t code = 0;
  if (size_t at = body.find(kCode); at != body.npos) {
    std::string_view digits = body.substr(at + kCode.size());
    digits = digits.substr(0, digits.find_first_not_of("0123456789"));
    code = ParseDecimal(digits, 100'000).value_or(0);
  }
  const std::string message = absl::StrCat("clickhouse ", ToAbsl(place), ": HTTP ", http_status,
                                           ": ", Printable(body.substr(0, body.find('\n'))));
  if (IsOneOf(code, kUnknownPlace)) {
    return absl::NotFoundError(absl::StrCat(message, "; `locus audit create` makes the table"));
  }
  if (IsOneOf(code, kNoAccess) || http_status == 401 || http_status == 403) {
    return absl::FailedPreconditionError(message);
  }
  if (IsOneOf(code, kCannotParse)) return absl::InvalidArgumentError(message);
  return absl::UnavailableError(message);
}

}  // namespace locus::clickhouse
