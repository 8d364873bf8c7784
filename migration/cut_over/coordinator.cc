// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/coordinator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

namespace locus::internal {
namespace {

using Kind = Decision::Kind;

// After this many steps in a row that were taken back, the move waits for an operator.
constexpr uint32_t kMostTakenBack = 3;
// Before rows are compared, the stream may be behind by this much.
constexpr absl::Duration kCaughtUp = absl::Seconds(1);

constexpr std::array<std::pair<Phase, std::string_view>, 13> kPhases = {{
    {Phase::kPlanned, "PLANNED"},
    {Phase::kPrepared, "PREPARED"},
    {Phase::kStreaming, "STREAMING"},
    {Phase::kCopying, "COPYING"},
    {Phase::kCatchingUp, "CATCHING_UP"},
    {Phase::kVerifying, "VERIFYING"},
    {Phase::kReady, "READY"},
    {Phase::kFinalizing, "FINALIZING"},
    {Phase::kFinalized, "FINALIZED"},
    {Phase::kCleanup, "CLEANUP"},
    {Phase::kDone, "DONE"},
    {Phase::kAborting, "ABORTING"},
    {Phase::kAborted, "ABORTED"},
}};
constexpr std::array<std::pair<Ending, std::string_view>, 4> kEndings = {{
    {Ending::kNone, ""},
    {Ending::kFinalize, "finalize"},
    {Ending::kCleanup, "cleanup"},
    {Ending::kAbort, "abort"},
}};

Decision Wait(std::string why) { return {Kind::kWait, {}, 0, std::move(why)}; }
Decision Enter(Phase phase) { return {Kind::kEnter, phase, 0, {}}; }
Decision Publish(uint32_t share) { return {Kind::kPublish, {}, share, {}}; }

// Holds the move, or keeps it held.
Decision Hold(const MoveSight& sight, std::string why) {
  if (!sight.wish.hold.empty()) return Wait(sight.wish.hold);
  return {Kind::kHold, {}, 0, std::move(why)};
}

bool IsMoving(Phase phase) { return phase == Phase::kReady || phase == Phase::kFinalizing; }
bool HasStreams(Phase phase) { return phase >= Phase::kStreaming && phase <= Phase::kFinalizing; }

// A handover under way comes first, in every phase and with every wish: its writers wait.
std::optional<Decision> DecideHandover(const MoveSight& sight) {
  switch (sight.fences.kind) {
    case Situation::Kind::kAgreed:
      return std::nullopt;
    case Situation::Kind::kOnItsWay:
      if (sight.in_step > sight.accept_within) {
        return Decision{Kind::kRefuse, {}, sight.fences.share, "the step was not accepted in time"};
      }
      return Wait(absl::StrCat("the step to ", sight.fences.next, " is on its way"));
    case Situation::Kind::kRefused:
      return Decision{Kind::kRestore, {}, sight.fences.share, {}};
    case Situation::Kind::kRestored:
      return Decision{Kind::kLevel, {}, sight.fences.share, {}};
    case Situation::Kind::kImpossible:
      break;
  }
  return Hold(sight,
              "the fences of the two shards contradict each other; compare the rows of locus_fence "
              "with the routing table");
}

// Until the streams are proven and the shards equal.
Decision DecideBuildUp(const MoveSight& sight) {
  const Wish& wish = sight.wish;
  switch (sight.phase) {
    case Phase::kPlanned:
      if (!wish.started) return Wait("`locus move start`");
      return wish.hold.empty() ? Enter(Phase::kPrepared) : Wait(wish.hold);
    case Phase::kPrepared:
      return Enter(Phase::kStreaming);
    case Phase::kStreaming:
      if (sight.seeding.forth && !sight.forth.passed) return Wait("a marker to pass the stream");
      if (sight.seeding.back && !sight.back.passed) {
        return Wait("a marker to pass the stream back");
      }
      return Enter(Phase::kCopying);
    case Phase::kCopying:
      if (sight.copied) return Enter(Phase::kCatchingUp);
      return Wait(wish.hold.empty() ? "rows to be copied" : wish.hold);
    case Phase::kCatchingUp:
      if (sight.forth.lag > kCaughtUp) return Wait("the stream to catch up");
      if (sight.seeding.again && sight.back.lag > kCaughtUp) {
        return Wait("the stream back to catch up");
      }
      return Enter(Phase::kVerifying);
    default:
      break;
  }
  if (!sight.differs.empty()) return Hold(sight, "the shards differ: " + sight.differs);
  if (!sight.compared) return Wait("the comparison of both shards");
  if (!sight.forth.passed || !sight.back.passed) return Wait("a marker to pass the stream back");
  return Enter(Phase::kReady);
}

const Gate* FirstClosed(const MoveSight& sight, bool back) {
  for (const Gate& gate : sight.gates) {
    if (!gate.ok && (!back || gate.also_back)) return &gate;
  }
  return nullptr;
}

Decision DecideStep(const MoveSight& sight) {
  const uint32_t share = sight.fences.share, goal = sight.wish.goal;
  const bool back = goal < share;
  if (sight.taken_back >= kMostTakenBack) {
    const std::string& waiting = (back ? sight.back : sight.forth).waiting;
    return Hold(sight, absl::StrCat("the last ", sight.taken_back,
                                    " steps were not accepted in time and were taken back",
                                    waiting.empty() ? "" : ": ", waiting));
  }
  if (!back && share > 0 && sight.at_share < sight.wish.dwell) {
    return Wait(absl::StrCat(
        "dwell, ",
        absl::FormatDuration(absl::Floor(sight.wish.dwell - sight.at_share, absl::Seconds(1))),
        " left"));
  }
  if (const Gate* gate = FirstClosed(sight, back)) {
    const std::string why =
        absl::StrCat("gate ", gate->name, ": ", gate->value, ", allowed ", gate->threshold);
    if (sight.gates_fail <= sight.gate_patience) return Wait(why);
    if (gate->rolls_back && !back && share > 0) return {Kind::kRollBack, {}, 0, why};
    return Hold(sight, why);
  }
  // The gates were judged earlier; the stream to the recipient must be moving at this moment.
  const StreamSight& recipient = back ? sight.back : sight.forth;
  if (recipient.lag == absl::InfiniteDuration()) {
    return Wait(
        absl::StrCat("the stream from the ", back ? "target" : "source", ", which stands still"));
  }
  return {Kind::kLetGo, {}, back ? goal : std::min(goal, share + sight.wish.by), {}};
}

// Clients also find the right shard by the fences, but more slowly. So the table follows the fences
// even while something else is wrong.
std::optional<Decision> DecideToPublish(const MoveSight& sight) {
  const uint32_t share = sight.fences.share;
  if (!HasStreams(sight.phase) || !sight.published || !sight.published->under_way ||
      sight.published->step > sight.step) {
    return std::nullopt;
  }
  // Before READY the runner makes no step. A band can only be left over from before the streams
  // began again.
  const bool same_step = sight.published->step == sight.step || !IsMoving(sight.phase);
  if (sight.published->share == share && same_step) return std::nullopt;
  return Publish(share);
}

Decision DecideMoving(const MoveSight& sight) {
  const Wish& wish = sight.wish;
  const uint32_t share = sight.fences.share;
  if (!sight.published) return Wait("the place of the routing table does not answer");
  if (!sight.published->under_way) {
    return Hold(sight,
                "the routing table does not have this move any more; publish it again with "
                "`locus table restore`, or take the move back to share 0 and abort it");
  }
  if (sight.published->step > sight.step) {
    return Hold(sight,
                absl::StrCat("the routing table has step ", sight.published->step,
                             " of this move, and the fences are at step ", sight.step,
                             ": another publisher changed it; publish an earlier epoch again "
                             "with `locus table restore`"));
  }
  if (sight.phase == Phase::kFinalizing) {
    if (!sight.differs.empty()) return Hold(sight, "the shards differ: " + sight.differs);
    if (wish.ending != Ending::kFinalize || share != kWhole) return Enter(Phase::kReady);
    return sight.compared ? Enter(Phase::kFinalized) : Wait("the last comparison of both shards");
  }
  if (!wish.hold.empty()) return Wait(wish.hold);
  if (wish.ending == Ending::kFinalize && share == kWhole && wish.goal == kWhole) {
    return Enter(Phase::kFinalizing);
  }
  if (wish.goal != share) return DecideStep(sight);
  const std::string stands = StreamThatStands(sight);
  if (!stands.empty()) return Wait(stands);
  return Wait(share == kWhole ? "`locus move finalize`" : "the next command");
}

Decision DecideEnd(const MoveSight& sight) {
  switch (sight.phase) {
    case Phase::kFinalized:
      if (!sight.published) return Wait("the place of the routing table does not answer");
      if (sight.published->under_way && sight.published->share != kWhole) return Publish(kWhole);
      if (!sight.published->ended) return {Kind::kPublishEnd, {}, kWhole, {}};
      return sight.wish.ending == Ending::kCleanup ? Enter(Phase::kCleanup)
                                                   : Wait("`locus move cleanup`");
    case Phase::kCleanup:
      return sight.cleaned ? Enter(Phase::kDone) : Wait("the rows of the source to be deleted");
    case Phase::kAborting:
      if (!sight.published) return Wait("the place of the routing table does not answer");
      if (sight.published->under_way && sight.published->share != 0) return Publish(0);
      if (sight.published->begun) return {Kind::kPublishDrop, {}, 0, {}};
      return sight.cleaned ? Enter(Phase::kAborted) : Wait("the copied rows to be deleted");
    default:
      return Wait("");
  }
}

}  // namespace

std::string_view ToString(Phase phase) {
  for (const auto& [known, name] : kPhases) {
    if (known == phase) return name;
  }
  return "?";
}

std::optional<Phase> PhaseNamed(std::string_view name) {
  for (const auto& [phase, known] : kPhases) {
    if (known == name) return phase;
  }
  return std::nullopt;
}

std::string_view ToString(Ending ending) {
  for (const auto& [known, name] : kEndings) {
    if (known == ending) return name;
  }
  return "?";
}

std::optional<Ending> EndingNamed(std::string_view name) {
  for (const auto& [ending, known] : kEndings) {
    if (known == name) return ending;
  }
  return std::nullopt;
}

std::string_view ToString(StreamSight::Mend mend) {
  switch (mend) {
    case StreamSight::Mend::kFindings:
      return "";
    case StreamSight::Mend::kCompare:
      return "compare";
    case StreamSight::Mend::kReseed:
      return "reseed";
  }
  return "";
}

StreamSight::Mend MendNamed(std::string_view name) {
  using Mend = StreamSight::Mend;
  for (Mend mend : {Mend::kCompare, Mend::kReseed}) {
    if (ToString(mend) == name) return mend;
  }
  return Mend::kFindings;
}

Decision Decide(const MoveSight& sight) {
  // The orders of a band between the shards wait, so this comes before any other trouble.
  const bool between = sight.fences.kind != Situation::Kind::kAgreed &&
                       sight.fences.kind != Situation::Kind::kImpossible;
  if (!sight.alarm.empty() && !(between && sight.phase < Phase::kFinalized)) {
    return Hold(sight, sight.alarm);
  }
  if (sight.phase >= Phase::kFinalized) {
    if (!sight.failed.empty()) return Hold(sight, sight.failed);
    return DecideEnd(sight);
  }
  if (sight.phase > Phase::kPlanned) {
    if (auto decision = DecideHandover(sight)) return *decision;
  }
  if (auto decision = DecideToPublish(sight)) return *decision;
  const bool at_rest = sight.phase == Phase::kPlanned || sight.fences.share == 0;
  if (sight.wish.ending == Ending::kAbort && at_rest) return Enter(Phase::kAborting);
  if (HasStreams(sight.phase)) {
    if (sight.wish.repair.any()) {
      return {Kind::kRepair, RepairedPhase(sight.phase, sight.wish.repair), 0, {}};
    }
    if (!sight.unguarded.empty()) return Hold(sight, sight.unguarded);
    // The way back needs the stream back alone.
    const bool goes_back = IsMoving(sight.phase) && sight.wish.goal < sight.fences.share;
    if (!sight.back.broken.empty()) return Hold(sight, sight.back.broken);
    if (!sight.forth.broken.empty() && !goes_back) return Hold(sight, sight.forth.broken);
    if (!sight.failed.empty() && !goes_back) return Hold(sight, sight.failed);
  }
  return IsMoving(sight.phase) ? DecideMoving(sight) : DecideBuildUp(sight);
}

Phase RepairedPhase(Phase phase, const Repair& repair) {
  if (repair.forth || repair.back) return Phase::kStreaming;
  return std::min(phase, Phase::kVerifying);
}

Seeding RepairedSeeding(Phase phase, const Seeding& now, const Repair& repair) {
  if (!repair.forth && !repair.back) return now;
  // A copy that was under way is not complete.
  const bool copies = phase < Phase::kVerifying;
  return {repair.forth || (copies && now.forth), repair.back || (copies && now.back), true};
}

std::string StateName(const MoveSight& sight) {
  const std::string name(ToString(sight.phase));
  if (!IsMoving(sight.phase) || sight.phase == Phase::kFinalizing) {
    return sight.wish.hold.empty() ? name : absl::StrCat(name, ", held");
  }
  const uint32_t share = sight.fences.share;
  if (!sight.wish.hold.empty()) return absl::StrCat("HOLD(", share, ")");
  if (sight.wish.goal < share) return absl::StrCat("ROLLING_BACK(", share, ")");
  if (share == kWhole) return "SWITCHED";
  if (share == 0 && sight.wish.goal == 0) return "READY";
  return absl::StrCat("STEP(", share, ")");
}

namespace {

// The verb, with the option that it needs where its own look would find no damage.
std::string RepairCommand(const MoveSight& sight) {
  using Mend = StreamSight::Mend;
  auto mends = [](const StreamSight& stream, Mend mend) {
    return !stream.broken.empty() && stream.mend == mend;
  };
  const bool forth = mends(sight.forth, Mend::kReseed), back = mends(sight.back, Mend::kReseed);
  if (forth || back) {
    return absl::StrCat("repair --reseed ", forth && back ? "both" : forth ? "source" : "target");
  }
  const bool compare = mends(sight.forth, Mend::kCompare) || mends(sight.back, Mend::kCompare);
  return compare ? "repair --compare" : "repair";
}

}  // namespace

std::string StreamThatStands(const MoveSight& sight) {
  if (sight.phase != Phase::kReady) return "";
  for (const auto& [stream, from] :
       {std::pair(&sight.back, "target"), std::pair(&sight.forth, "source")}) {
    if (stream->waiting.empty() && stream->lag != absl::InfiniteDuration()) continue;
    return absl::StrCat("the stream from the ", from, ", which stands still",
                        stream->waiting.empty() ? "" : ": ", stream->waiting);
  }
  return "";
}

std::string NextCommand(const MoveSight& sight) {
  const uint32_t share = sight.fences.share;
  const bool broken =
      !sight.unguarded.empty() || !sight.forth.broken.empty() || !sight.back.broken.empty();
  if (broken && HasStreams(sight.phase) && !sight.wish.repair.any()) return RepairCommand(sight);
  switch (sight.phase) {
    case Phase::kPlanned:
      return sight.wish.started ? "" : "start";
    case Phase::kFinalized:
      return sight.wish.ending == Ending::kCleanup ? "" : "cleanup";
    case Phase::kReady:
      if (!sight.wish.hold.empty()) return "resume";
      if (sight.wish.goal != share || !StreamThatStands(sight).empty()) return "";
      return share == kWhole ? "finalize" : "step";
    default:
      return sight.wish.hold.empty() ? "" : "resume";
  }
}

}  // namespace locus::internal
