// SPDX-License-Identifier: Apache-2.0
#include "apps/proof/strict/history.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"

namespace locus::strict {
namespace {

std::string Told(const Drawn& drawn) {
  const std::string up_to = drawn.count == 1 ? "" : absl::StrCat(" to ", drawn.last());
  return absl::StrCat(drawn.number, up_to, " (called ", drawn.called, ", answered ", drawn.answered,
                      ")");
}

// `calls`: of one uid, in the order in which they were called.
void CheckUid(std::span<const Drawn> calls, Flaws& flaws) {
  std::vector<const Drawn*> by_answer;
  for (const Drawn& call : calls) by_answer.push_back(&call);
  std::sort(by_answer.begin(), by_answer.end(),
            [](const Drawn* a, const Drawn* b) { return a->answered < b->answered; });
  const Drawn* highest = nullptr;  // of the calls that were answered before `call` began
  size_t answered = 0;
  for (const Drawn& call : calls) {
    for (; answered < by_answer.size() && by_answer[answered]->answered < call.called; ++answered) {
      if (highest == nullptr || by_answer[answered]->last() > highest->last()) {
        highest = by_answer[answered];
      }
    }
    if (highest != nullptr && highest->last() >= call.number && flaws.order.empty()) {
      flaws.order = absl::StrCat("uid ", call.uid, ": ", Told(call), " after ", Told(*highest));
    }
  }
  std::sort(by_answer.begin(), by_answer.end(),
            [](const Drawn* a, const Drawn* b) { return a->number < b->number; });
  const Drawn* furthest = nullptr;  // of the ranges that begin before
  for (const Drawn* call : by_answer) {
    if (furthest != nullptr && furthest->last() >= call->number && flaws.repeated.empty()) {
      flaws.repeated = absl::StrCat("uid ", call->uid, ": ", Told(*furthest), " and ", Told(*call));
    }
    if (furthest == nullptr || call->last() > furthest->last()) furthest = call;
  }
}

}  // namespace

Flaws CheckHistory(std::vector<Drawn>& history) {
  std::sort(history.begin(), history.end(), [](const Drawn& a, const Drawn& b) {
    return a.uid != b.uid ? a.uid < b.uid : a.called < b.called;
  });
  Flaws flaws;
  for (size_t first = 0; first < history.size();) {
    size_t last = first;
    while (last < history.size() && history[last].uid == history[first].uid) ++last;
    CheckUid({history.data() + first, last - first}, flaws);
    first = last;
  }
  return flaws;
}

}  // namespace locus::strict
