// SPDX-License-Identifier: Apache-2.0
#include "tests/stream/row_writer.h"

#include <mysql.h>

#include <deque>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace locus {

using namespace stream;  // NOLINT: all of it is about these

namespace {

// The parameters of one statement; values that the client library reads live as long.
class Parameters {
 public:
  void Add(const Value& value) {
    std::visit([this](const auto& known) { Bind(known); }, value);
  }
  MYSQL_BIND* data() { return binds_.data(); }

 private:
  MYSQL_BIND& Next(enum_field_types type) {
    MYSQL_BIND& bind = binds_.emplace_back();
    bind.buffer_type = type;
    return bind;
  }
  template <typename T>
  T& Keep(std::deque<T>& kept, const T& value, MYSQL_BIND& bind) {
    kept.push_back(value);
    bind.buffer = &kept.back();
    return kept.back();
  }
  void Text(enum_field_types type, const std::string& text) {
    MYSQL_BIND& bind = Next(type);
    bind.buffer = const_cast<char*>(text.data());
    bind.buffer_length = text.size();
    bind.length_value = text.size();
    bind.length = nullptr;
  }
  void Bind(Null) { Next(MYSQL_TYPE_NULL); }
  void Bind(int64_t number) { Keep(signed_, number, Next(MYSQL_TYPE_LONGLONG)); }
  void Bind(uint64_t number) {
    MYSQL_BIND& bind = Next(MYSQL_TYPE_LONGLONG);
    bind.is_unsigned = 1;
    Keep(unsigned_, number, bind);
  }
  void Bind(float number) { Keep(floats_, number, Next(MYSQL_TYPE_FLOAT)); }
  void Bind(double number) { Keep(doubles_, number, Next(MYSQL_TYPE_DOUBLE)); }
  void Bind(const Decimal& decimal) { Text(MYSQL_TYPE_NEWDECIMAL, decimal.text); }
  void Bind(const Bytes& bytes) { Text(MYSQL_TYPE_BLOB, bytes.bytes); }
  void Bind(Bits bits) { Bind(bits.bits); }
  void Bind(EnumNumber number) { Bind(static_cast<uint64_t>(number.number)); }
  void Bind(SetBits bits) { Bind(bits.bits); }

  void Moment(enum_field_types type, enum_mysql_timestamp_type kind, const Date& date,
              const Time& time) {
    MYSQL_TIME moment{};
    moment.year = date.year;
    moment.month = date.month;
    // The protocol has one byte for hours: those of a TIME beyond a day are days.
    moment.day = kind == MYSQL_TIMESTAMP_TIME ? time.hours / 24 : date.day;
    moment.hour = time.hours % 24;
    moment.minute = time.minutes;
    moment.second = time.seconds;
    moment.second_part = time.microseconds;
    moment.neg = time.negative ? 1 : 0;
    moment.time_type = kind;
    Keep(times_, moment, Next(type));
  }
  void Bind(const Date& date) { Moment(MYSQL_TYPE_DATE, MYSQL_TIMESTAMP_DATE, date, {}); }
  void Bind(const Time& time) { Moment(MYSQL_TYPE_TIME, MYSQL_TIMESTAMP_TIME, {}, time); }
  void Bind(const DateTime& time) {
    Moment(MYSQL_TYPE_DATETIME, MYSQL_TIMESTAMP_DATETIME, time.date,
           {false, time.hours, time.minutes, time.seconds, time.microseconds});
  }
  void Bind(Timestamp time) {
    if (time.microseconds == 0) return Bind(DateTime());
    const auto civil =
        absl::ToCivilSecond(absl::FromUnixMicros(time.microseconds), absl::UTCTimeZone());
    Bind(DateTime{{static_cast<uint16_t>(civil.year()), static_cast<uint8_t>(civil.month()),
                   static_cast<uint8_t>(civil.day())},
                  static_cast<uint8_t>(civil.hour()),
                  static_cast<uint8_t>(civil.minute()),
                  static_cast<uint8_t>(civil.second()),
                  static_cast<uint32_t>(time.microseconds % 1000000)});
  }

  std::vector<MYSQL_BIND> binds_;
  std::deque<int64_t> signed_;
  std::deque<uint64_t> unsigned_;
  std::deque<float> floats_;
  std::deque<double> doubles_;
  std::deque<MYSQL_TIME> times_;
};

}  // namespace

RowWriter::RowWriter(const MariadbOptions& options, const std::string& sql_mode)
    : handle_(mysql_init(nullptr)) {
  unsigned tcp = MYSQL_PROTOCOL_TCP;
  mysql_optionsv(handle_, MYSQL_OPT_PROTOCOL, &tcp);
  EXPECT_NE(mysql_real_connect(handle_, options.hosts[0].name.c_str(), options.user.c_str(),
                               options.password.c_str(), options.database.c_str(),
                               options.hosts[0].port, nullptr, 0),
            nullptr)
      << mysql_error(handle_);
  const std::string set =
      absl::StrCat("SET NAMES binary, time_zone='+00:00', sql_mode='", sql_mode, "'");
  EXPECT_EQ(mysql_query(handle_, set.c_str()), 0) << mysql_error(handle_);
}

RowWriter::~RowWriter() { mysql_close(handle_); }

std::string RowWriter::Insert(const std::string& table, const TableLayout& layout, const Row& row,
                              const std::set<std::string>& left_out) {
  std::vector<std::string> names, marks;
  Parameters parameters;
  for (size_t i = 0; i < row.size(); ++i) {
    const std::string& name = layout.columns[i].name;
    if (left_out.count(name) != 0) continue;
    names.push_back(absl::StrCat("`", name, "`"));
    marks.push_back("?");
    parameters.Add(row[i]);
  }
  const std::string text = absl::StrCat("INSERT INTO ", table, " (", absl::StrJoin(names, ","),
                                        ") VALUES (", absl::StrJoin(marks, ","), ")");
  MYSQL_STMT* statement = mysql_stmt_init(handle_);
  std::string error;
  if (mysql_stmt_prepare(statement, text.data(), text.size()) != 0 ||
      mysql_stmt_bind_param(statement, parameters.data()) != 0 ||
      mysql_stmt_execute(statement) != 0) {
    error = mysql_stmt_error(statement);
  }
  mysql_stmt_close(statement);
  return error;
}

}  // namespace locus
