// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/move/open_moves.h"
#include "apps/locus/table/table_file.h"
#include "migration/preflight/judge.h"
#include "migration/preflight/preflight.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::MoveFile;
using apps::NotBegun;
using apps::OwnMovesOf;
using apps::ParseMoveFile;
using internal::Printable;
using preflight::Finding;

namespace {

constexpr char kPreflightVerb[] = "move preflight";

struct Judged {
  std::string move;
  std::vector<Finding> findings;
};

absl::StatusOr<std::vector<Judged>> JudgeMoves(const std::string& path) {
  LOCUS_ASSIGN_OR_RETURN(std::string text, ReadWhole(path));
  LOCUS_ASSIGN_OR_RETURN(MoveFile file, ParseMoveFile(text, path == "-" ? "stdin" : path));
  LOCUS_ASSIGN_OR_RETURN(RoutingTable table, LoadTable(file.table));
  std::string unheard;
  LOCUS_ASSIGN_OR_RETURN(std::vector<Move> moves,
                         OwnMovesOf(file, table, NotBegun::kAlso, unheard));
  std::vector<Judged> judged;
  for (const Move& move : moves) {
    judged.push_back(
        {move.name, preflight::Judge(mysql::CollectFacts(PreflightOptionsOf(file, move)))});
  }
  return judged;
}

// A move file may be wrong in several places: a line for each.
int FailByLine(const absl::Status& status) {
  const std::vector<std::string> lines = absl::StrSplit(std::string(status.message()), '\n');
  for (size_t i = 0; i + 1 < lines.size(); ++i) Complain(kPreflightVerb, lines[i]);
  return Fail(kPreflightVerb, absl::Status(status.code(), lines.back()));
}

void AppendFinding(const Finding& finding, std::string& text) {
  constexpr size_t kMost = 2000;
  const char* const verdict = !finding.ok ? "  FAIL  " : finding.warns ? "  warn  " : "  ok    ";
  absl::StrAppend(&text, verdict, finding.check, "  ", Printable(finding.place),
                  finding.place.empty() ? "" : ": ", Printable(finding.found, kMost), "\n");
  if (finding.ok) return;
  absl::StrAppend(&text, "          needed: ", Printable(finding.needed, kMost), "\n",
                  "          remedy: ", Printable(finding.remedy, kMost), "\n");
}

// Failures last, where a terminal shows them. `quiet`: without what is in order.
std::string AsText(const std::vector<Judged>& judged, bool quiet) {
  std::string text;
  for (const Judged& move : judged) {
    const auto failed = std::count_if(move.findings.begin(), move.findings.end(),
                                      [](const Finding& finding) { return !finding.ok; });
    absl::StrAppend(&text, move.move, ": ", failed, " of ", move.findings.size(),
                    " checks failed\n");
    std::string warned, failures;
    for (const Finding& finding : move.findings) {
      const bool in_order = finding.ok && !finding.warns;
      if (in_order && quiet) continue;
      AppendFinding(finding, in_order ? text : finding.ok ? warned : failures);
    }
    absl::StrAppend(&text, warned, failures);
  }
  return text;
}

std::string AsJson(const std::vector<Judged>& judged, bool ok) {
  using Json = nlohmann::ordered_json;
  Json moves = Json::array();
  for (const Judged& move : judged) {
    Json findings = Json::array();
    for (const Finding& finding : move.findings) {
      findings.push_back({{"check", finding.check},
                          {"ok", finding.ok},
                          {"warns", finding.warns},
                          {"place", finding.place},
                          {"found", finding.found},
                          {"needed", finding.needed},
                          {"remedy", finding.remedy}});
    }
    moves.push_back({{"move", move.move},
                     {"ok", preflight::AllOk(move.findings)},
                     {"findings", std::move(findings)}});
  }
  const Json json = {{"ok", ok}, {"moves", std::move(moves)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

int RunMovePreflight(std::span<const std::string> words) {
  std::string path;
  bool json = false;
  VerbLine line(kPreflightVerb,
                "Checks all that the moves of a move file need of their shards, and says what is "
                "to be done. Changes nothing. The exit code is 0 only if nothing failed.",
                "locus move preflight peak.toml");
  line.File("FILE", &path, FileUse::kRead, "The move file; - is stdin");
  line.Flag("--json", &json, "Print a JSON object instead of the text");
  if (std::optional<int> exit = line.Parse(words)) return *exit;

  const absl::StatusOr<std::vector<Judged>> judged = JudgeMoves(path);
  if (!judged.ok()) return FailByLine(judged.status());
  const bool ok = std::all_of(judged->begin(), judged->end(),
                              [](const Judged& move) { return preflight::AllOk(move.findings); });
  const int printed =
      PrintAll(kPreflightVerb, json ? AsJson(*judged, ok) : AsText(*judged, IsQuiet()));
  return printed == kDone && !ok ? kFailed : printed;
}

}  // namespace locus::cli
