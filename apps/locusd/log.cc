// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/log.h"

#include <memory>

#include "absl/base/config.h"
#include "spdlog/async.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#include "src/base/text/text.h"

#ifdef ABSL_HAVE_THREAD_SANITIZER
// ThreadSanitizer sees what libspdlog.so reads and frees, but not the counters by which its threads
// agree on that: Debian's library is not instrumented.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:spdlog::\nrace:libspdlog.so\n";
}
#endif

namespace locus::locusd {
namespace {

constexpr size_t kMostWaiting = 8192;  // lines
constexpr char kName[] = "locusd";

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// As the key log.level has it.
std::string_view NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

bool IsWord(std::string_view value) {
  for (char c : value) {
    if (c <= ' ' || c > '~' || c == '"' || c == '=' || c == '\\') return false;
  }
  return !value.empty();
}

// Between double quotes unless it is one word; quotes and backslashes within get a backslash.
void AppendValue(std::string_view value, std::string& line) {
  if (IsWord(value)) {
    line.append(value);
    return;
  }
  line += '"';
  for (char c : internal::Printable(value)) {
    if (c == '"' || c == '\\') line += '\\';
    line += c;
  }
  line += '"';
}

}  // namespace

Log::Log(LogLevel level) {
  spdlog::init_thread_pool(kMostWaiting, 1);
  auto logger = spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>(kName);
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc);
  logger->flush_on(spdlog::level::trace);
  SetLevel(level);
}

Log::~Log() { spdlog::shutdown(); }

void Log::SetLevel(LogLevel level) {
  level_ = static_cast<int>(level);
  spdlog::get(kName)->set_level(ToSpdlog(level));
}

bool Log::Shows(LogLevel level) const {
  return static_cast<int>(level) >= level_.load(std::memory_order_relaxed);
}

void Log::Write(LogLevel level, std::string_view event, Fields fields) {
  const std::shared_ptr<spdlog::logger> logger = spdlog::get(kName);
  if (logger == nullptr || !logger->should_log(ToSpdlog(level))) return;
  std::string line(NameOf(level));
  line += ' ';
  line.append(event);
  for (const Field& field : fields) {
    line += ' ';
    line.append(field.key);
    line += '=';
    AppendValue(field.value, line);
  }
  logger->log(ToSpdlog(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace locus::locusd
