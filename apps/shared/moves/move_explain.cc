// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "apps/shared/moves/move_text.h"
#include "src/base/text/text.h"

namespace locus::apps {

using internal::Phase;

namespace {

struct Explanation {
  std::string_view means;   // for the orders
  std::string_view runner;  // what it does
  std::string_view may;     // what an operator may ask for
};

Explanation ExplanationOf(Phase phase) {
  switch (phase) {
    case Phase::kPlanned:
      return {"Nothing has changed on a shard.",
              "After `start` it installs fences, guards and version triggers.", "start, abort"};
    case Phase::kPrepared:
      return {"All orders are at the source, whose guards check every write.",
              "It begins to follow the source's log.", "hold, abort"};
    case Phase::kStreaming:
      return {
          "All orders are at the source; above share 0, where a stream begins anew, each shard "
          "has its band.",
          "It waits until a marker has come through the stream, so that nothing is missed "
          "before rows are copied.",
          "hold, repair; abort at share 0"};
    case Phase::kCopying:
      return {"As in STREAMING. The other shard has a part of the copy.",
              "It copies rows in chunks, and waits while the stream lags.",
              "hold, repair; abort at share 0"};
    case Phase::kCatchingUp:
      return {"As in STREAMING. The other shard has a copy that is a little late.",
              "It waits until the stream lags by less than a second.",
              "hold, repair; abort at share 0"};
    case Phase::kVerifying:
      return {"The target has a copy. After a repair or a promotion bands stay where they are.",
              "It runs the stream back, too, and compares every row of both shards.",
              "hold, resume, repair; abort at share 0"};
    case Phase::kReady:
      return {
          "The target accepts the orders below the share, the source the others; each shard "
          "has a copy of all of them, a little late.",
          "It steps towards the goal while the gates are open, and publishes each step.",
          "step, auto, hold, resume, rollback, repair; finalize at share 10000; abort at share 0"};
    case Phase::kFinalizing:
      return {"The target accepts all orders; the source has a copy.",
              "It compares both shards for the last time.",
              "rollback, as long as this state lasts"};
    case Phase::kFinalized:
      return {"The target has the orders for good. The rows of the source are old.",
              "It gives the vnodes to the target in the routing table.",
              "cleanup; back only by another move, in the other direction"};
    case Phase::kCleanup:
      return {"The target has the orders.", "It deletes the rows of the source, in batches.",
              "nothing"};
    case Phase::kDone:
      return {
          "The move is over. Guards and fences stay: a client with an old routing table learns "
          "where the orders are.",
          "Nothing.", "nothing"};
    case Phase::kAborting:
      return {"All orders are at the source.",
              "It drops the move from the routing table, and deletes the copied rows.", "nothing"};
    case Phase::kAborted:
      return {"All orders are at the source, as before.", "Nothing.",
              "nothing; another move needs another name"};
  }
  return {};
}

}  // namespace

std::string ExplainText(const Move& move, const mysql::MoveView& view) {
  const internal::Standing now = view.standing();
  const Explanation text = ExplanationOf(now.phase);
  std::string out =
      absl::StrCat("move ", move.name, ": ", internal::ToAbsl(ToString(now.phase)), " at share ",
                   now.share, "\n  orders      ", internal::ToAbsl(text.means), "\n  runner      ",
                   internal::ToAbsl(text.runner), "\n  may be asked  ",
                   view.record ? internal::ToAbsl(text.may) : "start", "\n");
  if (!now.wish.hold.empty()) {
    absl::StrAppend(&out, "  held        ", internal::Printable(now.wish.hold),
                    "\n              docs/move/held.md, \"When it is held\", says what to do\n");
  }
  return out;
}

}  // namespace locus::apps
