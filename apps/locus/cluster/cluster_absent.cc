// SPDX-License-Identifier: Apache-2.0
// In place of the verbs of clusters where the client of locusd is left out of the build.
#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"

namespace locus::cli {

namespace {

// Takes no words but those that ask for help.
int Absent(std::string_view verb, std::span<const std::string> words) {
  std::vector<std::string> any;
  VerbLine line(verb, "Not in this locus: it was built without the client of locusd.",
                absl::StrCat("locus ", std::string(verb), " --help"));
  line.Tail("WORD", &any, VerbLine::WithoutAny::kNothing, "Is not read");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return Fail(verb, absl::FailedPreconditionError(
                        "this locus was built without it; build it with -DLOCUS_LOCUSD=ON"));
}

}  // namespace

int RunClusterStatus(std::span<const std::string> words) { return Absent("cluster status", words); }
int RunClusterAdd(std::span<const std::string> words) { return Absent("cluster add", words); }
int RunClusterRemove(std::span<const std::string> words) { return Absent("cluster remove", words); }
int RunClusterTime(std::span<const std::string> words) { return Absent("cluster time", words); }
int RunClusterTransfer(std::span<const std::string> words) {
  return Absent("cluster transfer", words);
}

}  // namespace locus::cli
