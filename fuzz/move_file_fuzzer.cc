// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "apps/shared/moves/move_file.h"
#include "src/base/os/check.h"

// Any bytes are refused, naming file, line and column, or make a move file whose every part passes
// its own check.

namespace locus::cli {

using apps::MoveFile;
using apps::ReadMoveFileName;

namespace {

void CheckAccepted(const MoveFile& file) {
  LOCUS_CHECK(ReadMoveFileName(file.name).ok());
  LOCUS_CHECK(file.pace.Check().ok() && file.gates.Check().ok());
  FenceOptions fence;
  fence.movers = file.movers;
  for (const MovedTable& table : file.tables) {
    LOCUS_CHECK(table.Check().ok());
    fence.tables.push_back(table.guard);
  }
  LOCUS_CHECK(fence.Check().ok());
  LOCUS_CHECK(!file.table.empty() && !file.password_file.empty() && !file.mover.user.empty());
}

}  // namespace
}  // namespace locus::cli

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  absl::StatusOr<locus::cli::MoveFile> file = locus::apps::ParseMoveFile(text, "f.toml");
  if (file.ok()) {
    locus::cli::CheckAccepted(*file);
    return 0;
  }
  LOCUS_CHECK(file.status().code() == absl::StatusCode::kInvalidArgument);
  const absl::string_view message = file.status().message();
  LOCUS_CHECK(message.substr(0, 7) == "f.toml:" && message.find(": ") != absl::string_view::npos);
  return 0;
}
