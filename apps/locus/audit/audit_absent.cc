// SPDX-License-Identifier: Apache-2.0
// In place of the verbs of audit where ClickHouse is left out of the build.
#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"

namespace locus::cli {

namespace {

// Takes no words but those that ask for help.
int Absent(std::string_view verb, std::span<const std::string> words) {
  std::vector<std::string> any;
  VerbLine line(verb, "Not in this locus: it was built without ClickHouse.",
                absl::StrCat("locus ", std::string(verb), " --help"));
  line.Tail("WORD", &any, VerbLine::WithoutAny::kNothing, "Is not read");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return Fail(verb, absl::FailedPreconditionError(
                        "this locus was built without it; build it with -DLOCUS_CLICKHOUSE=ON"));
}

}  // namespace

int RunAuditCreate(std::span<const std::string> words) { return Absent("audit create", words); }
int RunAuditQuery(std::span<const std::string> words) { return Absent("audit query", words); }
int RunAuditTail(std::span<const std::string> words) { return Absent("audit tail", words); }

}  // namespace locus::cli
