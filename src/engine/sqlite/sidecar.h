// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
#define LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_

#include <cstdint>
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

// The sidecar's path for the database at `real_path`.
std::string SidecarPath(const std::string& real_path);
// An empty Identity where there is no sidecar or it is not a whole one.
absl::StatusOr<Identity> ReadSidecar(const std::string& path);
// Durable on return.
absl::Status WriteSidecar(const std::string& path, const Identity& identity);

}  // namespace locus::sqlite

#endif  // LOCUS_SRC_ENGINE_SQLITE_SIDECAR_H_
