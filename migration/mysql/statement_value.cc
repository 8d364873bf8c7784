// SPDX-License-Identifier: Apache-2.0
#include "migration/mysql/statement_value.h"

#include <variant>

#include "migration/stream/instant.h"

namespace locus::mysql {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

MYSQL_TIME TimeOf(enum_field_types type, const stream::Date& date, const stream::Time& time) {
  MYSQL_TIME out{};
  out.year = date.year;
  out.month = date.month;
  // The protocol has one byte for hours: those of a TIME beyond a day are days.
  out.day = type == MYSQL_TYPE_TIME ? time.hours / 24u : date.day;
  out.hour = time.hours % 24u;
  out.minute = time.minutes;
  out.second = time.seconds;
  out.second_part = time.microseconds;
  out.neg = time.negative;
  out.time_type = type == MYSQL_TYPE_DATE   ? MYSQL_TIMESTAMP_DATE
                  : type == MYSQL_TYPE_TIME ? MYSQL_TIMESTAMP_TIME
                                            : MYSQL_TIMESTAMP_DATETIME;
  return out;
}

}  // namespace

StatementValue::StatementValue(uint64_t number)
    : type(MYSQL_TYPE_LONGLONG), is_unsigned(true), natural(number) {}

// As bytes: the column's character set is not that of the session.
StatementValue::StatementValue(const std::string& text) : type(MYSQL_TYPE_BLOB), bytes(&text) {}

StatementValue::StatementValue(const stream::Value& value) {
  auto set_natural = [&](uint64_t number) { *this = StatementValue(number); };
  auto set_date_time = [&](const stream::DateTime& at) {
    type = MYSQL_TYPE_DATETIME;
    time = TimeOf(type, at.date, {false, at.hours, at.minutes, at.seconds, at.microseconds});
  };
  std::visit(Overloaded{
                 [&](stream::Null) {},
                 [&](int64_t number) {
                   type = MYSQL_TYPE_LONGLONG;
                   natural = static_cast<uint64_t>(number);
                 },
                 set_natural,
                 [&](float number) {
                   type = MYSQL_TYPE_FLOAT;
                   real = number;
                 },
                 [&](double number) {
                   type = MYSQL_TYPE_DOUBLE;
                   wide = number;
                 },
                 [&](const stream::Decimal& number) {
                   type = MYSQL_TYPE_NEWDECIMAL;
                   bytes = &number.text;
                 },
                 [&](const stream::Bytes& text) { *this = StatementValue(text.bytes); },
                 [&](stream::Bits bits) { set_natural(bits.bits); },
                 [&](stream::EnumNumber number) { set_natural(number.number); },
                 [&](stream::SetBits bits) { set_natural(bits.bits); },
                 [&](const stream::Date& date) {
                   type = MYSQL_TYPE_DATE;
                   time = TimeOf(type, date, {});
                 },
                 [&](const stream::Time& at) {
                   type = MYSQL_TYPE_TIME;
                   time = TimeOf(type, {}, at);
                 },
                 set_date_time,
                 // The session's zone is +00:00.
                 [&](stream::Timestamp stamp) { set_date_time(stream::InUtc(stamp)); },
             },
             value);
}

}  // namespace locus::mysql
