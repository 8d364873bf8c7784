// SPDX-License-Identifier: Apache-2.0
#include "src/raft/log/wal_check.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/check.h"

namespace locus::raft {
namespace {

// https://www.sqlite.org/fileformat2.html#walformat
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr uint32_t kMagic = 0x377F0682;  // the lowest bit: checksums of big-endian words
constexpr uint32_t kVersion = 3007000;
// A disk writes this much whole or not at all.
constexpr uint64_t kSectorBytes = 512;

uint32_t Word(const char* bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes);
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}
uint32_t LittleWord(const char* bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes);
  return uint32_t{at[3]} << 24 | uint32_t{at[2]} << 16 | uint32_t{at[1]} << 8 | at[0];
}

struct Sum {
  uint32_t first = 0, second = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};
Sum SumAt(const char* bytes) { return {Word(bytes), Word(bytes + 4)}; }

// The sum of the bytes, a multiple of 8, behind what has the sum `sum`.
Sum Continue(Sum sum, std::string_view bytes, bool big_endian) {
  for (size_t at = 0; at < bytes.size(); at += 8) {
    const char* words = bytes.data() + at;
    sum.first += (big_endian ? Word(words) : LittleWord(words)) + sum.second;
    sum.second += (big_endian ? Word(words + 4) : LittleWord(words + 4)) + sum.first;
  }
  return sum;
}

// Less than `bytes` only at the end of the file.
absl::StatusOr<size_t> ReadAt(int fd, uint64_t offset, std::string& bytes,
                              const std::string& path) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return internal::FailedFileCall(errno, "read", path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

absl::Status CheckWal(const std::string& path) {
  const std::string wal = path + "-wal";
  internal::FileDescriptor fd(open(wal.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0 && errno == ENOENT) return absl::OkStatus();
  if (fd.get() < 0) return internal::FailedFileCall(errno, "open", wal);
  std::string header(kHeaderBytes, '\0');
  LOCUS_ASSIGN_OR_RETURN(size_t got, ReadAt(fd.get(), 0, header, wal));
  if (got < kHeaderBytes || (Word(header.data()) & ~1u) != kMagic ||
      Word(header.data() + 4) != kVersion) {
    return absl::OkStatus();
  }
  const bool big_endian = (Word(header.data()) & 1) != 0;
  const uint32_t page_bytes = Word(header.data() + 8);
  Sum before = SumAt(header.data() + 24);
  if (Continue({}, std::string_view(header).substr(0, 24), big_endian) != before ||
      page_bytes < 512 || page_bytes > 65536 || (page_bytes & (page_bytes - 1)) != 0) {
    return absl::OkStatus();
  }
  Sum instead;
  std::string frame(kFrameHeaderBytes + page_bytes, '\0');
  uint64_t bad = 0;  // the first bad frame; they count from 1
  uint64_t bad_at = 0;
  bool ended = false;  // the transaction of the bad frame
  uint64_t offset = kHeaderBytes;
  for (uint64_t number = 1;; ++number, offset += frame.size()) {
    LOCUS_ASSIGN_OR_RETURN(got, ReadAt(fd.get(), offset, frame, wal));
    if (got < frame.size()) return absl::OkStatus();
    // When a log begins anew, old frames remain behind its end.
    const bool salts = std::memcmp(frame.data() + 8, header.data() + 16, 8) == 0;
    const bool commit = Word(frame.data() + 4) != 0;
    const Sum stored = SumAt(frame.data() + 16);
    const std::string_view bytes(frame);
    const auto sum_behind = [&](Sum sum) {
      return Continue(Continue(sum, bytes.substr(0, 8), big_endian),
                      bytes.substr(kFrameHeaderBytes), big_endian);
    };
    const Sum computed = sum_behind(before);
    const bool sum =
        computed == stored || (bad != 0 && bad == number - 1 && sum_behind(instead) == stored);
    // Each frame is checked against the checksum stored in the previous frame, good or bad. Behind
    // a bad frame it is also checked against the checksum that the bad frame should have had.
    before = stored;
    instead = computed;
    if (bad == 0 && !(salts && sum)) {
      bad = number;
      bad_at = offset;
      // The mark of the end is believed if the frame has the right sum, or the right salts; but not
      // where a power cut may have left the mark of an older log in the sector before the salts.
      ended = commit && (sum || (salts && (offset + 8) % kSectorBytes != 0));
    } else if (bad != 0 && salts && sum) {
      if (ended) {
        return absl::DataLossError(
            absl::StrCat("raft log ", wal, ": frame ", bad, " (at byte ", bad_at,
                         ") is not what was written, and transactions stand behind it, as frame ",
                         number, " shows; start this node anew, as another member"));
      }
      ended = commit;
    }
  }
}

}  // namespace locus::raft
