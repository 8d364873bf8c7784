// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/strict/verdict.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "apps/proof/strict/call_log.h"
#include "src/base/os/check.h"

namespace locus::strict_proof {

using strict::Drawn;

Verdict Judge(std::vector<Drawn>& history) {
  Verdict verdict;
  verdict.flaws = strict::CheckHistory(history);  // and sorts by uid and call
  int64_t ended = 0;  // the first answer of the uid, of the calls since the last that is counted
  for (size_t i = 0; i < history.size(); ++i) {
    const Drawn& drawn = history[i];
    verdict.numbers += drawn.count;
    if (i == 0 || history[i - 1].uid != drawn.uid) {
      ++verdict.uids;
      ended = drawn.answered;
    } else if (ended < drawn.called) {
      ++verdict.ordered;
      ended = drawn.answered;
    } else {
      ended = std::min(ended, drawn.answered);
    }
  }
  return verdict;
}

absl::StatusOr<Verdict> JudgeFiles(std::span<const std::string> files) {
  std::vector<Drawn> history;
  for (const std::string& file : files) LOCUS_RETURN_IF_ERROR(ReadCalls(file, history));
  Verdict verdict = Judge(history);
  verdict.callers = files.size();
  return verdict;
}

std::string Told(const Verdict& verdict) {
  std::string told = absl::StrCat(verdict.numbers, " numbers of ", verdict.uids, " users by ",
                                  verdict.callers, " callers; ", verdict.ordered,
                                  " times a call began after another one of its user had ended\n");
  if (!verdict.flaws.repeated.empty()) {
    absl::StrAppend(&told, "WRONG: given out twice: ", verdict.flaws.repeated, "\n");
  }
  if (!verdict.flaws.order.empty()) {
    absl::StrAppend(&told, "WRONG: out of order: ", verdict.flaws.order, "\n");
  }
  absl::StrAppend(&told, verdict.ok()
                             ? "no number twice, and each greater than all that were answered "
                               "before its call began\nverdict: OK\n"
                             : "verdict: BROKEN\n");
  return told;
}

bool Spoil(std::vector<Drawn>& history, uint64_t choice) {
  for (size_t tried = 0; tried + 1 < history.size(); ++tried) {
    const size_t i = (choice + tried) % (history.size() - 1);
    const Drawn& before = history[i];
    Drawn& after = history[i + 1];
    if (before.uid != after.uid || before.answered >= after.called) continue;
    after.number = before.last();
    return true;
  }
  return false;
}

}  // namespace locus::strict_proof
