// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_VERB_H_
#define LOCUS_APPS_LOCUS_LINE_VERB_H_

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

// What the verbs of the command have in common: how they are called and how they end.
namespace locus::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kSomeRefused = 3,
  kInterrupted = 130,
};

// `words` are those after the verb. Returns an exit code.
using RunVerb = int (*)(std::span<const std::string> words);

struct Verb {
  std::string_view name;   // one word, or more: "keys add", "seq type list"
  std::string_view group;  // the heading under which `locus --help` lists it
  std::string_view purpose;
  RunVerb run;
};

int RunGene(std::span<const std::string> words);
int RunKeysNew(std::span<const std::string> words);
int RunKeysAdd(std::span<const std::string> words);
int RunKeysActivate(std::span<const std::string> words);
int RunKeysRetire(std::span<const std::string> words);
int RunKeysRotate(std::span<const std::string> words);
int RunKeysList(std::span<const std::string> words);
int RunSeqNext(std::span<const std::string> words);
int RunSeqBatch(std::span<const std::string> words);
int RunSeqSet(std::span<const std::string> words);
int RunSeqSetIfNotExists(std::span<const std::string> words);
int RunSeqCreate(std::span<const std::string> words);
int RunSeqGet(std::span<const std::string> words);
int RunSeqTypeCreate(std::span<const std::string> words);
int RunSeqTypeShow(std::span<const std::string> words);
int RunSeqTypeList(std::span<const std::string> words);
int RunSeqTypeAlter(std::span<const std::string> words);
int RunSeqTypeDrop(std::span<const std::string> words);
int RunStoreInit(std::span<const std::string> words);
int RunStoreShow(std::span<const std::string> words);
int RunStoreRestored(std::span<const std::string> words);
int RunStoreRaise(std::span<const std::string> words);
int RunStrictCreate(std::span<const std::string> words);
int RunStrictStatus(std::span<const std::string> words);
int RunStrictRestored(std::span<const std::string> words);
int RunLeaseCreate(std::span<const std::string> words);
int RunLeaseDelete(std::span<const std::string> words);
int RunLeaseList(std::span<const std::string> words);
int RunLeaseAcquire(std::span<const std::string> words);
int RunLeaseRelease(std::span<const std::string> words);
int RunClusterStatus(std::span<const std::string> words);
int RunClusterAdd(std::span<const std::string> words);
int RunClusterRemove(std::span<const std::string> words);
int RunClusterTime(std::span<const std::string> words);
int RunClusterTransfer(std::span<const std::string> words);
int RunAuditCreate(std::span<const std::string> words);
int RunAuditQuery(std::span<const std::string> words);
int RunAuditTail(std::span<const std::string> words);
int RunTableNew(std::span<const std::string> words);
int RunTableCheck(std::span<const std::string> words);
int RunPlan(std::span<const std::string> words);
int RunPlanApply(std::span<const std::string> words);
int RunLoad(std::span<const std::string> words);
int RunMoveNew(std::span<const std::string> words);
int RunMoveRebind(std::span<const std::string> words);
int RunMoveRepair(std::span<const std::string> words);
int RunMoveCandidate(std::span<const std::string> words);
int RunMoveGuards(std::span<const std::string> words);
int RunMoveExplain(std::span<const std::string> words);
int RunMovePreflight(std::span<const std::string> words);
int RunMoveStart(std::span<const std::string> words);
int RunMoveRun(std::span<const std::string> words);
int RunMoveStatus(std::span<const std::string> words);
int RunMoveStep(std::span<const std::string> words);
int RunMoveAuto(std::span<const std::string> words);
int RunMoveHold(std::span<const std::string> words);
int RunMoveResume(std::span<const std::string> words);
int RunMoveRollback(std::span<const std::string> words);
int RunMoveFinalize(std::span<const std::string> words);
int RunMoveCleanup(std::span<const std::string> words);
int RunMoveAbort(std::span<const std::string> words);
int RunMoveReport(std::span<const std::string> words);
int RunVerify(std::span<const std::string> words);
int RunTableInit(std::span<const std::string> words);
int RunTablePublish(std::span<const std::string> words);
int RunTableRestore(std::span<const std::string> words);
int RunTableGet(std::span<const std::string> words);
int RunTableHistory(std::span<const std::string> words);
int RunTableDiff(std::span<const std::string> words);
int RunTableSql(std::span<const std::string> words);
int RunTableWatch(std::span<const std::string> words);
int RunRing(std::span<const std::string> words);
int RunAssign(std::span<const std::string> words);
int RunEncode(std::span<const std::string> words);
int RunDecode(std::span<const std::string> words);
int RunInspect(std::span<const std::string> words);
int RunSnowflakeNext(std::span<const std::string> words);
int RunSnowflakeDecode(std::span<const std::string> words);
int RunUuid(std::span<const std::string> words);
int RunNumberFormat(std::span<const std::string> words);
int RunNumberParse(std::span<const std::string> words);
int RunNumberNext(std::span<const std::string> words);

// One line on stderr: "locus VERB: MESSAGE". Control characters in it are escaped: a message may
// quote what a server or a file said.
void Complain(std::string_view verb, std::string_view message);

// The same for messages that are not errors: summaries and hints. Not printed after BeQuiet().
void Note(std::string_view verb, std::string_view message);

// --quiet, which every verb takes.
void BeQuiet();
bool IsQuiet();

// `value` came from this environment variable. Errors that quote it name the variable.
void RememberVariable(const std::string& variable, const std::string& value);

// Complains, and is the exit code of wrong usage.
int WrongUsage(std::string_view verb, std::string_view message);
int WrongUsage(std::string_view verb, const absl::Status& status);

// Complains, and is the exit code of a failure. A pipe that its reader closed (CANCELLED, from
// ByteSink) is not a failure: nothing is printed, and the exit code is kDone.
int Fail(std::string_view verb, const absl::Status& status);

// The exit code of a verb that ended so. INVALID_ARGUMENT, of an engine too, came from the command
// line, a URI, or the environment.
int EndVerb(std::string_view verb, const absl::Status& status);

// Writes `text` to stdout and answers the exit code.
int PrintAll(std::string_view verb, std::string_view text);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_VERB_H_
