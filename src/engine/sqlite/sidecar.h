// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
#define LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace locus::sqlite {

// Which database file this is and how many writes it has seen. Kept in the file and in the sidecar
// beside it: a difference means that one of them was lost or put back.
struct Identity {
  std::string id;  // 16 random bytes
  uint64_t generation = 0;

  friend bool operator==(const Identity&, const Identity&) = default;
};

// What lies beside the database, as text:
//
//   locus-sidecar 1 <id, 32 hex digits> <generation>
//   base <space> <the highest base that the space ever had>
//   sum <XXH64 of the lines before, 16 hex digits>
//
// With the bases, a file that is put back twice, or of which processes see different logs, is
// raised above what was leased in the meantime, too.
struct Sidecar {
  Identity identity;
  std::map<std::string, uint64_t> bases;
};

// The sidecar's path for the database at `real_path`.
std::string SidecarPath(const std::string& real_path);

// The sidecar's file, locked as long as the object lives: processes that see different files under
// the database's path, and so share no lock of SQLite, still meet here.
class SidecarFile {
 public:
  // Creates it where it is missing. UNAVAILABLE: another process holds it longer than `timeout`.
  static absl::StatusOr<SidecarFile> Lock(const std::string& path, absl::Duration timeout);
  SidecarFile(SidecarFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  SidecarFile& operator=(SidecarFile&&) = delete;
  ~SidecarFile();

  // An empty one where nothing was written yet, or it is not whole.
  absl::StatusOr<Sidecar> Read() const;
  // Durable on return. In place: what a crash leaves half-written has a wrong sum, and is lost.
  absl::Status Write(const Sidecar& sidecar) const;

 private:
  SidecarFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
