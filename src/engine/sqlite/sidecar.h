// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
#define LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
// An empty one where there is none or it is not whole.
absl::StatusOr<Sidecar> ReadSidecar(const std::string& path);
// Durable on return.
absl::Status WriteSidecar(const std::string& path, const Sidecar& sidecar);

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
