// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_IO_PROGRESS_H_
#define LOCUS_APPS_LOCUS_IO_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace locus::cli {

// One line on stderr that shows how far a long verb is, at what rate, and how long it will take;
// rewritten five times a second. Silent where stderr is not a terminal, and with --quiet.
class Progress {
 public:
  // `total_bytes` of the input; nullopt: unknown, so the time left is not shown.
  Progress(std::string_view verb, std::optional<uint64_t> total_bytes);
  // Wipes the line.
  ~Progress();

  // `note`: what the verb waits for, or nothing.
  void Show(uint64_t rows, uint64_t bytes, std::string_view note = "");
  void Wipe();
  double seconds() const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  std::string_view verb_;
  std::optional<uint64_t> total_bytes_;
  bool on_terminal_;
  bool shown_ = false;
  SteadyClock::time_point start_ = SteadyClock::now();
  SteadyClock::time_point next_ = start_;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_IO_PROGRESS_H_
