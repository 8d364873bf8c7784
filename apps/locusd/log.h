// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_LOG_H_
#define LOCUS_APPS_LOCUSD_LOG_H_

#include <atomic>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config.h"

namespace locus::locusd {

// The log on stderr: one line an event, "<time> <level> <what happened> key=value ...". Values that
// are no plain words are quoted, and whatever a stranger sent is printed as ASCII.
//
// It never makes its caller wait: lines are written by a thread of its own, and while stderr takes
// none, the oldest of them are dropped. One in a process.
// Thread safety: all methods may be called from any thread.
class Log {
 public:
  struct Field {
    Field(std::string_view name, std::string_view text) : key(name), value(text) {}
    template <typename Number>
    requires std::is_arithmetic_v<Number> Field(std::string_view name, Number number)
        : key(name), value(absl::StrCat(number)) {}

    std::string_view key;
    std::string value;
  };
  using Fields = std::initializer_list<Field>;

  explicit Log(LogLevel level);
  // Writes what waits.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void SetLevel(LogLevel level);
  // Whether lines of this level are written now.
  bool Shows(LogLevel level) const;

  void Debug(std::string_view event, Fields fields = {}) { Write(LogLevel::kDebug, event, fields); }
  void Info(std::string_view event, Fields fields = {}) { Write(LogLevel::kInfo, event, fields); }
  void Warn(std::string_view event, Fields fields = {}) { Write(LogLevel::kWarn, event, fields); }
  void Error(std::string_view event, Fields fields = {}) { Write(LogLevel::kError, event, fields); }

 private:
  void Write(LogLevel level, std::string_view event, Fields fields);

  std::atomic<int> level_ = 0;  // publishes nothing else
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_LOG_H_
