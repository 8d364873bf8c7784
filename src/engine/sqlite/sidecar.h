// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
#define LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/base/os/atomic_file.h"
#include "src/base/os/file_lock.h"

namespace locus::sqlite {

// Identifies the database file and counts its writes. Kept in the file and in the sidecar beside
// it: a difference means that one of them was lost or put back.
struct Identity {
  std::string id;  // 16 random bytes
  uint64_t generation = 0;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// The text of the file beside the database:
//
//   locus-sidecar 2 <id, 32 hex digits> <generation>
//   space <name> <base> <section_size> <floor_epoch, ns since 1970> <floor_rate> <max_lead>
//   sum <XXH64 of the lines before, 16 hex digits>
//
// `base` is the highest that the space ever had. With it, a file that is put back twice, or of
// which processes see different logs, is still raised above all that was allocated meanwhile. With
// the options, so is a space that is created again with a slower floor.
//
// Version 1 had `base <name> <base>` instead of the `space` lines. It is read, and written again as
// version 2.
struct Sidecar {
  struct SpaceCopy {
    uint64_t base = 0;
    std::optional<SpaceOptions> options;  // nullopt: read from version 1
  };
  Identity identity;
  std::map<std::string, SpaceCopy> spaces;
};

// So many spaces a sidecar may name. Each write rewrites all of them: some 500 KB at the limit.
constexpr size_t kMostSpaces = 4096;

// A database has one sidecar for each thing that can be lost by itself: "" for the segments,
// "-workers" for the worker leases. The path of the one of `what`, for the database at `real_path`.
std::string SidecarPath(const std::string& real_path, std::string_view what = "");
// The file that is locked while that sidecar is read or written.
std::string SidecarLockPath(const std::string& real_path, std::string_view what = "");

// The sidecar's file, locked as long as the object lives: processes that see different files under
// the database's path, and so share no lock of SQLite, still meet here.
//
// The lock is on a separate file beside the sidecar, which only users that may write the database
// can open. flock(2) needs no right to write, so any user that may read the locked file could hold
// its lock.
class SidecarFile {
 public:
  // Of the database at `real_path`. Creates missing files, with the database's owner. UNAVAILABLE:
  // another process holds the lock longer than `timeout`.
  static absl::StatusOr<SidecarFile> Lock(const std::string& real_path, absl::Duration timeout,
                                          std::string_view what = "");

  // An empty sidecar where nothing was written yet, or where it is not whole: a crash while it was
  // written leaves it so. FAILED_PRECONDITION: it cannot be read, is larger than any sidecar, or
  // was written by a newer locus.
  absl::StatusOr<Sidecar> Read();
  // Durable on return. In place: what a crash leaves half-written has a wrong sum, and is lost.
  absl::Status Write(const Sidecar& sidecar);
  // After a Write whose transaction did not commit: puts back what the last Read found, so that the
  // next write finds no difference. If that fails, the next write takes the difference for a loss,
  // as after a crash.
  void TakeBack();

 private:
  SidecarFile(std::string path, internal::FileLock lock, internal::FileDescriptor fd)
      : path_(std::move(path)), lock_(std::move(lock)), fd_(std::move(fd)) {}
  absl::Status Replace(const std::string& text) const;

  std::string path_;
  internal::FileLock lock_;
  internal::FileDescriptor fd_;
  std::string before_;  // as Read found it
  bool written_ = false;
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
