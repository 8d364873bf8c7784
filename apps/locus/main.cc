// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "locus/version.h"
#include "src/base/text.h"

namespace locus {
namespace {

constexpr std::array kVerbs = {
    Verb{"gene", "Compute the shard genes of buyer keys", RunGene},
    Verb{"keys new", "Make a key ring file", RunKeysNew},
    Verb{"keys add", "Add a key that is not active yet", RunKeysAdd},
    Verb{"keys activate", "Make new numbers with another key", RunKeysActivate},
    Verb{"keys retire", "Destroy a key for good", RunKeysRetire},
    Verb{"keys rotate", "Add a key and activate it", RunKeysRotate},
    Verb{"keys list", "List the versions of a key ring", RunKeysList},
    Verb{"seq next", "Take the next number of a key", RunSeqNext},
    Verb{"seq batch", "Take a run of numbers of a key", RunSeqBatch},
    Verb{"seq set", "Put a key at a number", RunSeqSet},
    Verb{"seq set-if-not-exists", "Put a key at a number if it has none", RunSeqSetIfNotExists},
    Verb{"seq get", "Print the last number of a key", RunSeqGet},
    Verb{"store init", "Create a space in a segment store", RunStoreInit},
    Verb{"store show", "Show what a segment store holds of a space", RunStoreShow},
    Verb{"store restored", "Declare that an older state was put back", RunStoreRestored},
    Verb{"store raise", "Keep sequences below a number out of use", RunStoreRaise},
    Verb{"table new", "Print a routing table of equal ranges", RunTableNew},
    Verb{"table check", "Check a routing table", RunTableCheck},
    Verb{"table init", "Prepare a place for routing tables", RunTableInit},
    Verb{"table publish", "Make a routing table the newest at a place", RunTablePublish},
    Verb{"table get", "Print a routing table of a place", RunTableGet},
    Verb{"table history", "List the routing tables that a place keeps", RunTableHistory},
    Verb{"table diff", "Tell what differs between two routing tables", RunTableDiff},
    Verb{"table restore", "Publish an earlier routing table anew", RunTableRestore},
    Verb{"table watch", "Follow a place as a router does", RunTableWatch},
    Verb{"plan", "Plan which vnodes should move between shards", RunPlan},
    Verb{"plan apply", "Begin the moves of a plan in a routing table", RunPlanApply},
    Verb{"load", "Sample the load of each vnode from the shards", RunLoad},
    Verb{"ring", "Show how shards share the ring", RunRing},
    Verb{"assign", "Give the orders of a CSV file their IDs, numbers and shards", RunAssign},
    Verb{"encode", "Make order numbers of order IDs", RunEncode},
    Verb{"decode", "Read order IDs from order numbers", RunDecode},
    Verb{"inspect", "Tell what an order ID or number says", RunInspect},
    Verb{"snowflake next", "Make snowflake IDs of a worker", RunSnowflakeNext},
    Verb{"snowflake decode", "Tell what snowflake IDs say", RunSnowflakeDecode},
    Verb{"uuid", "Make UUIDs", RunUuid},
    Verb{"number format", "Make a number of a given form", RunNumberFormat},
    Verb{"number parse", "Tell the fields of numbers of a given form", RunNumberParse},
};

bool AsksForHelp(std::string_view word) { return word == "--help" || word == "-h"; }

int PrintHelp(std::string_view group) {
  std::string help = group.empty() ? "Usage: locus VERB [OPTION...] [VALUE...]\n\nVerbs:\n"
                                   : absl::StrCat("Usage: locus ", ToAbsl(group),
                                                  " VERB [OPTION...] [VALUE...]\n\nVerbs:\n");
  for (const Verb& verb : kVerbs) {
    if (!group.empty() && !verb.name.starts_with(std::string(group) + " ")) continue;
    std::string name(verb.name);
    name.resize(23, ' ');
    absl::StrAppend(&help, "  ", name, ToAbsl(verb.purpose), "\n");
  }
  help += "\nlocus VERB --help tells what a verb takes; locus --version prints the version.\n";
  return PrintAll(group.empty() ? "--help" : absl::StrCat(ToAbsl(group), " --help"), help);
}

int ComplainAboutVerb(const std::string& message) {
  std::fprintf(stderr, "locus: %s; see locus --help\n", message.c_str());
  return kWrongUsage;
}

const Verb* FindVerb(const std::string& name) {
  auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : &*found;
}

int Run(const std::vector<std::string>& words) {
  if (words.empty()) return ComplainAboutVerb("a verb is needed");
  if (AsksForHelp(words[0])) return PrintHelp("");
  if (words[0] == "--version") {
    return PrintAll("--version", absl::StrCat("locus ", Version(), "\n"));
  }
  // The longer name first: "plan apply" is a verb, and so is "plan".
  if (words.size() > 1) {
    if (const Verb* verb = FindVerb(words[0] + " " + words[1])) {
      return verb->run(std::span(words).subspan(2));
    }
  }
  if (const Verb* verb = FindVerb(words[0])) return verb->run(std::span(words).subspan(1));
  bool is_group = std::ranges::any_of(
      kVerbs, [&](const Verb& verb) { return verb.name.starts_with(words[0] + " "); });
  if (!is_group) return ComplainAboutVerb("unknown verb " + Quoted(words[0]));
  if (words.size() == 1) return ComplainAboutVerb("a verb is needed after " + Quoted(words[0]));
  if (AsksForHelp(words[1])) return PrintHelp(words[0]);
  return ComplainAboutVerb("unknown verb " + Quoted(words[0] + " " + words[1]));
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) {
  locus::InstallSignalHandlers();
  return locus::Run(std::vector<std::string>(argv + (argc > 0), argv + argc));
}
