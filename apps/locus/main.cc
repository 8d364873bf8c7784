// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/complete.h"
#include "apps/locus/line/help.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/suggest.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/place/password.h"
#include "apps/shared/commit/commit.h"
#include "locus/version.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;
using internal::ToAbsl;

namespace {

constexpr std::string_view kOrders = "Orders and their IDs";
constexpr std::string_view kKeys = "Key rings";
constexpr std::string_view kStores = "Stores of order IDs";
constexpr std::string_view kStrict = "Strict sequences";
constexpr std::string_view kTables = "Routing tables";
constexpr std::string_view kMoves = "Moving vnodes between shards";
constexpr std::string_view kLeases = "Worker IDs";
constexpr std::string_view kCluster = "Clusters of locusd";
constexpr std::string_view kAudit = "Audit";
constexpr std::string_view kNumbers = "Other numbers";

constexpr std::array kVerbs = {
    Verb{"assign", kOrders, "Give the orders of a CSV file their IDs, order_nos and shards",
         RunAssign},
    Verb{"encode", kOrders, "Encode order IDs as order_nos", RunEncode},
    Verb{"decode", kOrders, "Decode order_nos to order IDs", RunDecode},
    Verb{"inspect", kOrders, "Show the fields of an order ID or order_no", RunInspect},
    Verb{"gene", kOrders, "Compute the shard genes of buyer keys", RunGene},
    Verb{"keys new", kKeys, "Make a key ring file", RunKeysNew},
    Verb{"keys add", kKeys, "Add a key that is not active yet", RunKeysAdd},
    Verb{"keys activate", kKeys, "Make new order_nos with another key", RunKeysActivate},
    Verb{"keys retire", kKeys, "Destroy a key for good", RunKeysRetire},
    Verb{"keys rotate", kKeys, "Add a key and activate it", RunKeysRotate},
    Verb{"keys list", kKeys, "List the versions of a key ring", RunKeysList},
    Verb{"store init", kStores, "Create a space in a segment store", RunStoreInit},
    Verb{"store show", kStores, "Show the state of a space in a segment store", RunStoreShow},
    Verb{"store restored", kStores, "Declare that an older state was restored", RunStoreRestored},
    Verb{"store raise", kStores, "Lease no sequences below a number", RunStoreRaise},
    Verb{"strict create", kStrict, "Create a set of strict sequences", RunStrictCreate},
    Verb{"strict status", kStrict, "Show who owns the sections of a set", RunStrictStatus},
    Verb{"strict restored", kStrict, "Declare that a store of strict sequences was put back",
         RunStrictRestored},
    Verb{"table new", kTables, "Print a routing table of equal ranges", RunTableNew},
    Verb{"table check", kTables, "Check a routing table", RunTableCheck},
    Verb{"table init", kTables, "Prepare a place for routing tables", RunTableInit},
    Verb{"table publish", kTables, "Make a routing table the newest at a place", RunTablePublish},
    Verb{"table get", kTables, "Print a routing table of a place", RunTableGet},
    Verb{"table history", kTables, "List the routing tables that a place keeps", RunTableHistory},
    Verb{"table diff", kTables, "Show what differs between two routing tables", RunTableDiff},
    Verb{"table sql", kTables, "Print a routing table as SQL for views", RunTableSql},
    Verb{"table restore", kTables, "Publish an earlier routing table again", RunTableRestore},
    Verb{"table watch", kTables, "Follow a place as a router does", RunTableWatch},
    Verb{"ring", kTables, "Show how shards share the ring", RunRing},
    Verb{"plan", kMoves, "Plan which vnodes should move between shards", RunPlan},
    Verb{"plan apply", kMoves, "Begin the moves of a plan in a routing table", RunPlanApply},
    Verb{"load", kMoves, "Sample the load of each vnode from the shards", RunLoad},
    Verb{"move new", kMoves, "Write a move file for the moves of a routing table", RunMoveNew},
    Verb{"move preflight", kMoves, "Check all that the moves of a move file need",
         RunMovePreflight},
    Verb{"move start", kMoves, "Begin the moves of a move file", RunMoveStart},
    Verb{"move run", kMoves, "Run the moves of a move file until they are done", RunMoveRun},
    Verb{"move status", kMoves, "Show where the moves of a file stand", RunMoveStatus},
    Verb{"move step", kMoves, "Move one band of orders to the target", RunMoveStep},
    Verb{"move auto", kMoves, "Step to the whole, band after band", RunMoveAuto},
    Verb{"move hold", kMoves, "Make no more steps", RunMoveHold},
    Verb{"move resume", kMoves, "Go on after a hold", RunMoveResume},
    Verb{"move rollback", kMoves, "Take bands back to the source", RunMoveRollback},
    Verb{"move finalize", kMoves, "End a move at share 10000, for good", RunMoveFinalize},
    Verb{"move cleanup", kMoves, "Delete the moved rows from the source", RunMoveCleanup},
    Verb{"move abort", kMoves, "Give a move up at share 0", RunMoveAbort},
    Verb{"move report", kMoves, "Show the history of a move", RunMoveReport},
    Verb{"move repair", kMoves, "Mend what running moves have lost", RunMoveRepair},
    Verb{"move rebind", kMoves, "Bind fences after a promotion or a restore", RunMoveRebind},
    Verb{"move candidate", kMoves, "Drop a failover candidate", RunMoveCandidate},
    Verb{"move guards", kMoves, "Drop the guards of a shard at rest", RunMoveGuards},
    Verb{"move explain", kMoves, "Explain the states of moves", RunMoveExplain},
    Verb{"verify", kMoves, "Compare the rows of vnodes on two shards", RunVerify},
    Verb{"lease create", kLeases, "Create a space of worker IDs", RunLeaseCreate},
    Verb{"lease list", kLeases, "List the worker IDs of a space and their holders", RunLeaseList},
    Verb{"lease acquire", kLeases, "Take a worker ID", RunLeaseAcquire},
    Verb{"lease release", kLeases, "Give a worker ID back", RunLeaseRelease},
    Verb{"lease delete", kLeases, "Delete a space of worker IDs of locusd", RunLeaseDelete},
    Verb{"cluster status", kCluster, "Show the nodes of a cluster of locusd", RunClusterStatus},
    Verb{"cluster add", kCluster, "Add a node to a cluster of locusd", RunClusterAdd},
    Verb{"cluster remove", kCluster, "Remove a node from a cluster of locusd", RunClusterRemove},
    Verb{"cluster transfer", kCluster, "Hand the leadership of a cluster over", RunClusterTransfer},
    Verb{"cluster time", kCluster, "Show or advance the time of a cluster", RunClusterTime},
    Verb{"audit create", kAudit, "Make the table of audit records", RunAuditCreate},
    Verb{"audit query", kAudit, "Tell who held a worker ID, or leased a sequence", RunAuditQuery},
    Verb{"audit tail", kAudit, "Follow audit records", RunAuditTail},
    Verb{"seq create", kNumbers, "Mark a store whose counters may begin", RunSeqCreate},
    Verb{"seq next", kNumbers, "Take the next number of a counter", RunSeqNext},
    Verb{"seq batch", kNumbers, "Take a run of numbers of a counter", RunSeqBatch},
    Verb{"seq set", kNumbers, "Set a counter to a number", RunSeqSet},
    Verb{"seq set-if-not-exists", kNumbers, "Set a counter that has no number yet",
         RunSeqSetIfNotExists},
    Verb{"seq get", kNumbers, "Print the last number of a counter", RunSeqGet},
    Verb{"seq type create", kNumbers, "Store a sequence type", RunSeqTypeCreate},
    Verb{"seq type show", kNumbers, "Show a sequence type", RunSeqTypeShow},
    Verb{"seq type list", kNumbers, "List the sequence types of a store", RunSeqTypeList},
    Verb{"seq type alter", kNumbers, "Change a sequence type", RunSeqTypeAlter},
    Verb{"seq type drop", kNumbers, "Remove a sequence type", RunSeqTypeDrop},
    Verb{"snowflake next", kNumbers, "Make snowflake IDs of a worker", RunSnowflakeNext},
    Verb{"snowflake decode", kNumbers, "Show the fields of snowflake IDs", RunSnowflakeDecode},
    Verb{"uuid", kNumbers, "Make UUIDs", RunUuid},
    Verb{"number next", kNumbers, "Take the next numbers of a sequence type", RunNumberNext},
    Verb{"number format", kNumbers, "Make a business number", RunNumberFormat},
    Verb{"number parse", kNumbers, "Show the fields of business numbers", RunNumberParse},
};

bool AsksForHelp(std::string_view word) {
  return word == "--help" || word == "-h" || word == "help";
}

bool IsIn(const Verb& verb, std::string_view first_word) {
  return verb.name.starts_with(std::string(first_word) + " ");
}

// The help of all verbs, or of those that begin with a word.
int PrintHelp(std::string_view first_word) {
  std::string who = first_word.empty() ? "locus" : absl::StrCat("locus ", ToAbsl(first_word));
  std::string help = absl::StrCat("Usage: ", who, " VERB [OPTION...] [VALUE...]\n");
  std::vector<std::pair<std::string, std::string>> terms;
  size_t widest = 0;
  for (const Verb& verb : kVerbs) widest = std::max(widest, verb.name.size());
  std::string_view group;
  auto end_group = [&] {
    if (!terms.empty()) {
      absl::StrAppend(&help, "\n", ToAbsl(group), ":\n", TermsTable(terms, HelpWidth(), widest));
    }
    terms.clear();
  };
  for (const Verb& verb : kVerbs) {
    if (!first_word.empty() && verb.name != first_word && !IsIn(verb, first_word)) continue;
    if (verb.group != group) end_group();
    group = verb.group;
    terms.emplace_back(verb.name, verb.purpose);
  }
  end_group();
  help += "\nlocus help environment lists the variables that stand for options.";
  help += "\nlocus help VERB explains a verb; locus version prints the version.\n";
  return PrintAll(first_word.empty() ? "--help" : absl::StrCat(ToAbsl(first_word), " --help"),
                  help);
}

// Passwords aside, each stands for the option or operand of the same meaning.
int PrintEnvironment() {
  std::vector<std::pair<std::string, std::string>> terms = {
      {"LOCUS_STORE", "The store, a URI: for --store, and URI of the store verbs"},
      {"LOCUS_TABLE", "The routing table, a file or the URI of a place: for --table, FILE and URI"},
      {"LOCUS_KEYS", "The key ring file: for --keys, and FILE of keys list and keys rotate"},
      {"LOCUS_AUDIT", "The ClickHouse server of an audit: for --server and --audit"}};
  for (const PasswordVariable& password : kPasswordVariables) {
    terms.emplace_back(password.name, password.help);
  }
  terms.emplace_back("LOCUS_..._FILE",
                     "Of each password: a file of mode 0600 with it as first line");
  terms.insert(terms.end(),
               {{"COLUMNS", "The width of help and tables"},
                {"LC_ALL, LC_CTYPE, LANG", "The first that is set says whether UTF-8 is printed"}});
  return PrintAll(
      "help environment",
      absl::StrCat("Environment variables stand for options that are not given:\n\n",
                   TermsTable(terms, HelpWidth(), 0),
                   "\nAn option or operand beats its variable. An empty variable counts as unset. "
                   "There is no\nconfiguration file. Errors name the variable that a value came "
                   "from.\n"));
}

int ComplainAboutVerb(const std::string& message) {
  std::fprintf(stderr, "locus: %s\n", message.c_str());
  return kWrongUsage;
}

const Verb* FindVerb(const std::string& name) {
  auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : &*found;
}

// The verb that the first `count` of `words` are; nullptr: none, or there are not so many.
const Verb* FindVerb(const std::vector<std::string>& words, size_t count) {
  if (words.size() < count) return nullptr;
  return FindVerb(absl::StrJoin(words.begin(), words.begin() + static_cast<ptrdiff_t>(count), " "));
}

bool IsGroup(std::string_view words) {
  return std::ranges::any_of(kVerbs, [&](const Verb& verb) { return IsIn(verb, words); });
}

int UnknownVerb(const std::string& name) {
  std::vector<std::string> known = {"help", "version"};
  for (const Verb& verb : kVerbs) {
    known.emplace_back(verb.name);
    known.emplace_back(verb.name.substr(0, verb.name.find(' ')));
  }
  std::string nearest = DidYouMean(name, known);
  return ComplainAboutVerb(
      absl::StrCat("unknown verb ", Quoted(name), nearest.empty() ? "; see locus help" : nearest));
}

// What a shell may put for the last of `words`, which is being typed (line/complete.h).
int PrintOffers(const std::vector<std::string>& words) {
  auto run = [&](const Verb& verb, size_t count) {
    std::vector<std::string> rest = {std::string(kCompletionMarker)};
    rest.insert(rest.end(), words.begin() + static_cast<ptrdiff_t>(count), words.end());
    return verb.run(rest);
  };
  for (size_t count : {3, 2}) {
    if (words.size() <= count) continue;
    if (const Verb* verb = FindVerb(words, count)) return run(*verb, count);
  }
  std::string out;
  const Verb* of_one_word = words.size() > 1 ? FindVerb(words[0]) : nullptr;
  const std::string typed = words.empty() ? "" : words.back();
  const std::string before =
      words.empty() ? "" : absl::StrJoin(words.begin(), words.end() - 1, " ");
  std::set<std::string> offered;
  for (const Verb& verb : kVerbs) {
    if (!before.empty() && !IsIn(verb, before)) continue;
    std::string_view rest = verb.name.substr(before.empty() ? 0 : before.size() + 1);
    std::string next(rest.substr(0, rest.find(' ')));
    if (!offered.insert(next).second) continue;
    OfferWord(typed, next, next.size() == rest.size() ? verb.purpose : verb.group, out);
  }
  if (words.size() <= 1) {
    for (const char* word : {"help", "version", "--help", "--version"}) {
      OfferWord(typed, word, "", out);
    }
  }
  if (out.empty() && of_one_word != nullptr) return run(*of_one_word, 1);
  bool in_group = words.size() == 2 || (words.size() > 2 && IsGroup(before));
  if (of_one_word == nullptr && in_group) OfferWord(typed, "--help", "", out);
  return PrintAll("complete", out);
}

int RunVerbOf(const std::vector<std::string>& words) {
  // The longer name first: "plan apply" is a verb, and so is "plan".
  for (size_t count : {3, 2}) {
    if (const Verb* verb = FindVerb(words, count)) {
      return verb->run(std::span(words).subspan(count));
    }
  }
  const Verb* of_one_word = FindVerb(words[0]);
  if (of_one_word != nullptr && words.size() > 1 && !words[1].starts_with("-")) {
    // "plan aply": the second word is no operand of "plan", which takes none.
    std::vector<std::string> known;
    for (const Verb& verb : kVerbs) {
      if (IsIn(verb, words[0])) known.emplace_back(verb.name.substr(words[0].size() + 1));
    }
    std::string nearest = DidYouMean(words[1], known);
    if (!nearest.empty()) return UnknownVerb(words[0] + " " + words[1]);
  }
  if (of_one_word != nullptr) return of_one_word->run(std::span(words).subspan(1));
  if (!IsGroup(words[0])) return UnknownVerb(words[0]);
  std::string group = words[0];
  size_t count = 1;
  if (words.size() > 1 && IsGroup(words[0] + " " + words[1])) {
    absl::StrAppend(&group, " ", words[1]);
    count = 2;
  }
  if (words.size() == count) {
    return ComplainAboutVerb(
        absl::StrCat("a verb is needed after ", Quoted(group), "; see locus help ", group));
  }
  if (AsksForHelp(words[count])) return PrintHelp(group);
  return UnknownVerb(absl::StrCat(group, " ", words[count]));
}

int Run(std::vector<std::string> words) {
  if (words.empty()) return ComplainAboutVerb("a verb is needed; see locus help");
  if (words[0] == "--version" || words[0] == "version") {
    return PrintAll("--version", absl::StrCat("locus ", apps::VersionAndCommit(), "\n"));
  }
  if (words[0] == "complete") {
    words.erase(words.begin());
    return PrintOffers(words);
  }
  if (AsksForHelp(words[0])) {
    words.erase(words.begin());
    if (words.empty()) return PrintHelp("");
    if (words[0] == "environment") return PrintEnvironment();
    words.push_back("--help");
  }
  return RunVerbOf(words);
}

}  // namespace
}  // namespace locus::cli

int main(int argc, char** argv) {
  locus::cli::InstallSignalHandlers();
  return locus::cli::Run(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
