// SPDX-License-Identifier: Apache-2.0
#include "locus/uuid.h"

#include <unistd.h>

#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

absl::Status WriteUuids(uint64_t count, absl::StatusOr<Uuid> (*make)()) {
  ByteSink sink(STDOUT_FILENO, "stdout");
  constexpr size_t kLine = Uuid::kTextLength + 1;
  for (uint64_t i = 0; i < count && sink.status().ok(); ++i) {
    LOCUS_ASSIGN_OR_RETURN(Uuid uuid, make());
    char* line = sink.Reserve(kLine);
    uuid.FormatTo(std::span<char, Uuid::kTextLength>(line, Uuid::kTextLength));
    line[Uuid::kTextLength] = '\n';
    sink.Written(kLine);
  }
  return sink.Flush();
}

}  // namespace

int RunUuid(std::span<const std::string> words) {
  std::string version = "7";
  uint64_t count = 1;
  VerbLine line("uuid", "Prints new UUIDs (RFC 9562), one a line.", "locus uuid --count 3");
  line.Choice("--version", {"4", "7"}, &version,
              "7: time first, each above the one before; 4: random");
  line.Number("--count N", &count, {.least = 1}, "How many");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::Status status = WriteUuids(count, version == "4" ? Uuid::NewV4 : Uuid::NewV7);
  return status.ok() ? kDone : Fail("uuid", status);
}

}  // namespace locus::cli
