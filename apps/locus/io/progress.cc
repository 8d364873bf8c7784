// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/io/progress.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_format.h"
#include "apps/locus/line/verb.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ToAbsl;

namespace {

constexpr std::chrono::milliseconds kPeriod(200);
constexpr std::string_view kWipe = "\r\x1b[K";

void WriteToStderr(std::string_view text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string_view verb, std::optional<uint64_t> total_bytes)
    : verb_(verb),
      total_bytes_(total_bytes),
      on_terminal_(isatty(STDERR_FILENO) == 1 && !IsQuiet()) {}

Progress::~Progress() { Wipe(); }

double Progress::seconds() const {
  return std::chrono::duration<double>(SteadyClock::now() - start_).count();
}

void Progress::Show(uint64_t rows, uint64_t bytes, std::string_view note) {
  if (!on_terminal_ || SteadyClock::now() < next_) return;
  next_ = SteadyClock::now() + kPeriod;
  double elapsed = seconds();
  std::string line =
      absl::StrFormat("%slocus %s: %d rows, %.0f rows/s", ToAbsl(kWipe), ToAbsl(verb_), rows,
                      elapsed > 0 ? static_cast<double>(rows) / elapsed : 0);
  if (total_bytes_ && bytes > 0 && bytes <= *total_bytes_) {
    double done = static_cast<double>(bytes) / static_cast<double>(*total_bytes_);
    absl::StrAppendFormat(&line, ", %.0f %%, %.0f s left", 100 * done, elapsed * (1 - done) / done);
  }
  if (!note.empty()) absl::StrAppendFormat(&line, ", %s", ToAbsl(note));
  WriteToStderr(line);
  shown_ = true;
}

void Progress::Wipe() {
  if (shown_) WriteToStderr(kWipe);
  shown_ = false;
}

}  // namespace locus::cli
