// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_
#define LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_

#include <algorithm>
#include <chrono>

namespace locus::internal {

// Signs that a writer has finished a file, or has not.
struct FileSigns {
  bool open = false;                  // it was written to, and not closed since
  bool whole = false;                 // its contents are one JSON text
  bool replaced = false;              // it is another file than the one read before
  bool unreported = false;            // the kernel has not reported its last change yet
  std::chrono::nanoseconds quiet{0};  // since it changed last
  std::chrono::nanoseconds busy{0};   // since it began to change
};

// How long a file is waited for that is still open, or is not a JSON text, and no longer changes.
inline constexpr std::chrono::seconds kWriterPause{1};
// How long to wait for a file that keeps changing.
inline constexpr std::chrono::seconds kWriterBound{10};
// A write shows in the file before the kernel reports it, later still on a busy machine, and the
// time of the file may not show it. So a change is given this long to be followed by another one.
inline constexpr std::chrono::milliseconds kWriteShowsFirst{100};

// How much longer to wait for the writer; 0: take the file as it is.
inline std::chrono::nanoseconds WaitForWriter(const FileSigns& signs) {
  std::chrono::nanoseconds pause = kWriterPause;
  bool finished = !signs.open && !signs.unreported && signs.whole;
  if (finished) pause = signs.replaced ? pause.zero() : kWriteShowsFirst;
  std::chrono::nanoseconds wait = std::min(pause - signs.quiet, kWriterBound - signs.busy);
  return std::max(wait, wait.zero());
}

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_
