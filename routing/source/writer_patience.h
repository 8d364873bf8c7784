// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_
#define LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_

#include <algorithm>
#include <chrono>

namespace locus {

// What speaks for and against a file being finished.
struct FileSigns {
  bool open = false;                  // somebody wrote to it and did not close it since
  bool whole = false;                 // what is in it is one JSON text
  bool replaced = false;              // it is another file than the one read before
  bool untold = false;                // its last change is one that the kernel has yet to tell of
  std::chrono::nanoseconds quiet{0};  // since it changed last
  std::chrono::nanoseconds busy{0};   // since it began to change
};

// How long a file may stay as somebody left it without closing it, or without it being a JSON text.
inline constexpr std::chrono::seconds kWriterPause{1};
// How long it may go on changing.
inline constexpr std::chrono::seconds kWriterBound{10};
// A write shows in the file before the kernel tells of it: when the writer runs again, on a busy
// machine. The time of the file may show it too, or be that of the write before.
inline constexpr std::chrono::milliseconds kWriteShowsFirst{100};

// How long the file is still to be waited for; 0: it is taken as it is.
inline std::chrono::nanoseconds WaitForWriter(const FileSigns& signs) {
  std::chrono::nanoseconds pause = kWriterPause;
  if (!signs.open && !signs.untold && signs.whole)
    pause = signs.replaced ? pause.zero() : kWriteShowsFirst;
  std::chrono::nanoseconds wait = std::min(pause - signs.quiet, kWriterBound - signs.busy);
  return std::max(wait, wait.zero());
}

}  // namespace locus

#endif  // LOCUS_ROUTING_SOURCE_WRITER_PATIENCE_H_
