// SPDX-License-Identifier: Apache-2.0
// In place of the verbs of moves where the engine MariaDB is left out of the build.
#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"

namespace locus::cli {

namespace {

// Takes no words but those that ask for help.
int Absent(std::string_view verb, std::span<const std::string> words) {
  std::vector<std::string> any;
  VerbLine line(verb, "Not in this locus: it was built without the engine MariaDB.",
                absl::StrCat("locus ", std::string(verb), " --help"));
  line.Tail("WORD", &any, VerbLine::WithoutAny::kNothing, "Is not read");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  return Fail(
      verb, absl::FailedPreconditionError("this locus was built without the engine; build it with "
                                          "-DLOCUS_MYSQL=ON"));
}

}  // namespace

int RunMoveNew(std::span<const std::string> words) { return Absent("move new", words); }
int RunMoveRebind(std::span<const std::string> words) { return Absent("move rebind", words); }
int RunMoveRepair(std::span<const std::string> words) { return Absent("move repair", words); }
int RunMoveCandidate(std::span<const std::string> words) { return Absent("move candidate", words); }
int RunMoveGuards(std::span<const std::string> words) { return Absent("move guards", words); }
int RunMoveExplain(std::span<const std::string> words) { return Absent("move explain", words); }
int RunMovePreflight(std::span<const std::string> words) { return Absent("move preflight", words); }
int RunMoveStart(std::span<const std::string> words) { return Absent("move start", words); }
int RunMoveRun(std::span<const std::string> words) { return Absent("move run", words); }
int RunMoveStatus(std::span<const std::string> words) { return Absent("move status", words); }
int RunMoveStep(std::span<const std::string> words) { return Absent("move step", words); }
int RunMoveAuto(std::span<const std::string> words) { return Absent("move auto", words); }
int RunMoveHold(std::span<const std::string> words) { return Absent("move hold", words); }
int RunMoveResume(std::span<const std::string> words) { return Absent("move resume", words); }
int RunMoveRollback(std::span<const std::string> words) { return Absent("move rollback", words); }
int RunMoveFinalize(std::span<const std::string> words) { return Absent("move finalize", words); }
int RunMoveCleanup(std::span<const std::string> words) { return Absent("move cleanup", words); }
int RunMoveAbort(std::span<const std::string> words) { return Absent("move abort", words); }
int RunMoveReport(std::span<const std::string> words) { return Absent("move report", words); }
int RunVerify(std::span<const std::string> words) { return Absent("verify", words); }

}  // namespace locus::cli
