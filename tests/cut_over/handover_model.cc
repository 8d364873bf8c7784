// SPDX-License-Identifier: Apache-2.0
#include "tests/cut_over/handover_model.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/cut_over/handover.h"
#include "migration/cut_over/version_rule.h"
#include "routing/fence/fence_row.h"
#include "tests/cut_over/handover_state.h"

namespace locus {
namespace {

using internal::ApplyVerdict;
using internal::BandFence;
using internal::FenceRow;
using internal::FenceVerdict;
using internal::Side;
using internal::Situation;
using State = ModelState;
using SituationKind = Situation::Kind;

constexpr uint32_t kCohorts = kModelCohorts;

uint8_t Small(uint64_t n) { return static_cast<uint8_t>(n); }

class Explorer {
 public:
  Explorer(Mutant mutant, const ModelLimits& limits) : mutant_(mutant), limits_(limits) {}

  ModelResult Run() {
    State first;
    std::memset(static_cast<void*>(&first), 0, sizeof first);
    for (size_t x : {0, 1}) {
      ModelStore& store = first.shards[x].store;
      const Side side = x == 0 ? Side::kSource : Side::kTarget;
      const BandFence peer = Owned(internal::Other(side), 0, kCohorts);
      store.fence = ModelFence::Of(Owned(side, 0, kCohorts));
      store.peer_lo = Small(peer.own_lo);
      store.peer_hi = Small(peer.own_hi);
      first.seen[x] = store.fence;
    }
    for (uint8_t k = 0; k < kCohorts; ++k) {
      ModelRow& row = first.shards[0].store.rows[k];
      row.version = 1;
      row.value = first.acked[k].value = Small(100 + k);
      if (!limits_.copied) continue;
      first.shards[1].store.rows[k] = row;
      first.copied[k].phase = 2;
    }
    first.stream_placed = mutant_ != Mutant::kCopyBeforePosition;
    Reach(first, [] { return "start"; });
    while (next_ < visited_.size() && rule_.empty()) {
      expanded_ = &visited_[next_++];
      Expand(State::Unpacked(expanded_->bytes));
    }
    ModelResult result;
    result.states = visited_.size();
    result.promoted = promoted_;
    if (!rule_.empty()) result.violation = Traced();
    return result;
  }

 private:
  static std::string Name(size_t shard) { return shard == 0 ? "source" : "target"; }

  static bool Accepts(const ModelShard& shard, uint8_t order) {
    const ModelFence& fence = shard.store.fence;
    const FenceRow row{0, 0, fence.own_lo, fence.own_hi, fence.step, 1, ""};
    const uint32_t server_id = shard.unbound ? 2 : 1;
    return internal::JudgeFence(row, server_id, ShardGene::FromUint16(uint16_t{0}), order).kind ==
           FenceVerdict::Kind::kAccepted;
  }

  // A state that follows the one that is expanded. `text` says by what.
  template <typename Text>
  void Reach(const State& state, Text text) {
    if (!rule_.empty() && wanted_.empty()) return;
    const std::string bytes = state.Packed();
    if (!wanted_.empty()) {
      if (wanted_ == bytes) action_ = text();
      return;
    }
    const VisitedState* visited = visited_.Add(bytes, expanded_);
    if (visited == nullptr) return;
    if (state.promotions > 0) ++promoted_;
    Check(state, *visited);
  }

  void Violate(const VisitedState* at, const std::string& rule) {
    if (!rule_.empty()) return;
    rule_ = rule;
    violating_ = at;
  }
  // The actions that led to the violation: each state's predecessor is expanded once more.
  std::string Traced() {
    std::vector<std::string> actions;
    for (const VisitedState* at = violating_; at->before != nullptr; at = at->before) {
      wanted_ = at->bytes;
      Expand(State::Unpacked(at->before->bytes));
      actions.push_back(action_);
    }
    std::string text = rule_;
    for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
      absl::StrAppend(&text, "\n  ", *action);
    }
    return text;
  }

  void Check(const State& state, const VisitedState& known) {
    const ModelShard* shards = state.shards;
    const Situation now =
        SituationOf(shards[0].store.fence.row(), shards[1].store.fence.row(), kCohorts);
    const bool astray = state.promotions > 0 && !limits_.candidate;
    // No runner could continue from there by the fences alone, bound or not.
    if (now.kind == SituationKind::kImpossible && !astray) {
      Violate(&known, "the fence rows contradict");
    }
    for (uint8_t k = 0; k < kCohorts; ++k) {
      int owners = 0;
      for (size_t x : {0, 1}) {
        if (!Accepts(shards[x], k)) continue;
        ++owners;
        if (!astray && !shards[x].store.rows[k].Same(state.acked[k])) {
          Violate(&known, absl::StrCat(Name(x), " accepts order ", k,
                                       " and does not have what was acknowledged last"));
        }
      }
      if (owners > 1) Violate(&known, absl::StrCat("two shards accept order ", k));
      const bool nobody_may = astray || now.kind == SituationKind::kOnItsWay ||
                              now.kind == SituationKind::kRefused || shards[0].unbound ||
                              shards[1].unbound;
      if (owners == 0 && !nobody_may) Violate(&known, absl::StrCat("no shard accepts order ", k));
    }
  }

  void Expand(const State& state) {
    for (size_t w = 0; w < kModelWriters; ++w) Write(state, w);
    for (size_t x : {0, 1}) Apply(state, x);
    for (uint8_t k = 0; k < kCohorts; ++k) Copy(state, k);
    Coordinate(state);
    if (limits_.promotions > 0) FailOver(state);
  }

  // Adds an event; false: the log is full, which the limits are to prevent.
  bool Log(State& state, size_t shard, const ModelEvent& event) {
    if (state.Log(shard, event)) return true;
    Violate(expanded_, "a log is longer than the model has room for");
    return false;
  }
  static ModelEvent RowEvent(uint8_t order, const ModelRow& row, bool of_peer) {
    ModelEvent event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.order = order;
    event.of_peer = of_peer;
    event.row = row;
    return event;
  }

  void Write(const State& state, size_t w) {
    const ModelWriter writer = state.writers[w];
    if (!writer.open) {
      if (state.writes < limits_.writes) Begin(state, w);
      return;
    }
    const ModelRow row = state.shards[writer.shard].store.rows[writer.order];
    if (row.version == 0 || row.deleted) {
      Commit(state, w, {}, VersionOfInsert(row), "inserts");
      return;
    }
    Commit(state, w, {}, Small(internal::VersionOfUpdate(row.state(), 0)), "updates");
    const ModelRow deleted{Small(internal::VersionOfDelete(row.state())), true, 0};
    Commit(state, w, deleted, 0, "deletes");
    Commit(state, w, deleted, VersionOfInsert(row), "replaces");
  }
  void Begin(const State& state, size_t w) {
    for (uint8_t x : {uint8_t{0}, uint8_t{1}}) {
      for (uint8_t k = 0; k < kCohorts; ++k) {
        if (!Accepts(state.shards[x], k)) continue;
        // Writers of one order wait for one another's row lock.
        bool locked = false;
        for (const ModelWriter& other : state.writers) {
          locked = locked || (other.open && other.shard == x && other.order == k);
        }
        if (locked) continue;
        State next = state;
        next.writers[w] = {true, x, k};
        ++next.writes;
        Reach(next,
              [&] { return absl::StrCat("writer ", w, " begins order ", k, " on ", Name(x)); });
      }
    }
  }
  uint8_t VersionOfInsert(const ModelRow& row) const {
    if (mutant_ == Mutant::kReplaceByOne && row.version > 0 && !row.deleted) {
      return Small(row.version + 1);
    }
    if (mutant_ == Mutant::kPostsLow && row.deleted) return 1;
    return Small(internal::VersionOfInsert(row.state(), 0));
  }
  // A transaction that deletes the row, if `deleted` says so, and then stores it with `version`, if
  // that is not 0.
  void Commit(const State& state, size_t w, std::optional<ModelRow> deleted, uint8_t version,
              const char* does) {
    const ModelWriter writer = state.writers[w];
    State next = state;
    next.writers[w] = ModelWriter();
    ModelRow& row = next.shards[writer.shard].store.rows[writer.order];
    if (deleted) {
      row = *deleted;
      if (!Log(next, writer.shard, RowEvent(writer.order, row, false))) return;
    }
    if (version != 0) {
      row = {version, false, Small(state.writes * 10 + w)};
      if (!Log(next, writer.shard, RowEvent(writer.order, row, false))) return;
    }
    next.acked[writer.order] = {0, row.deleted, row.value};
    const bool kept = state.replica.of != 0 && state.replica.of != writer.shard + 1;
    if (kept) next.replica.acked[writer.order] = next.acked[writer.order];
    Reach(next, [&] {
      return absl::StrCat("writer ", w, " ", does, " order ", writer.order, " on ",
                          Name(writer.shard));
    });
  }

  // The rule for what the copy or the stream brings to shard `x`.
  bool Bring(State& next, size_t x, uint8_t order, const ModelRow& row) {
    ModelRow& local = next.shards[x].store.rows[order];
    ApplyVerdict verdict = internal::JudgeIncoming(row.state(), local.state(), row.Same(local));
    ModelRow incoming = row;
    if (mutant_ == Mutant::kNewestWins) verdict = ApplyVerdict::kWrite;
    if (mutant_ == Mutant::kAppliedTwiceBlindly && verdict == ApplyVerdict::kSkip) {
      verdict = ApplyVerdict::kWrite;
      incoming.version = Small(local.version + 1);
    }
    if (verdict == ApplyVerdict::kConflict && !limits_.candidate) return false;  // it stops
    if (verdict == ApplyVerdict::kConflict) {
      Violate(expanded_,
              absl::StrCat("two different rows of order ", order, " have version ", row.version));
      return false;
    }
    if (verdict == ApplyVerdict::kSkip) return true;
    local = incoming;
    return Log(next, x, RowEvent(order, incoming, true));
  }

  // The next event of the peer's log, with its checkpoint.
  void Apply(const State& state, size_t x) {
    const size_t peer = 1 - x;
    const uint8_t at = state.shards[peer].applied;
    if (at >= state.shards[peer].logged || (x == 1 && !state.stream_placed)) return;
    // Candidates of the peer must have the event.
    const bool late = state.replica.of == peer + 1 && at >= state.replica.logged;
    if (late && limits_.candidate && mutant_ != Mutant::kCandidateIgnored) return;
    const ModelEvent event = state.logs[peer][at];
    State next = state;
    // A late replica of this shard will read it again.
    if (state.replica.of == x + 1) {
      ++next.shards[peer].applied;
    } else {
      next.ForgetFirst(peer, 1);
      if (state.replica.of == peer + 1 && !late) --next.replica.logged;
    }
    if (peer == 0 && next.position > 0) --next.position;
    if (mutant_ == Mutant::kCheckpointApart) {
      Reach(next, [&] { return Name(x) + " stores a checkpoint, and dies"; });
    }
    ModelStore& store = next.shards[x].store;
    if (event.of_fence) {
      store.peer_lo = event.fence.own_lo;
      store.peer_hi = event.fence.own_hi;
      BandFence row = store.fence.row();
      if (mutant_ == Mutant::kTokenWithoutStep) row.step = 0;
      const Side side = x == 0 ? Side::kSource : Side::kTarget;
      auto taken = internal::TakeOver(side, row, event.fence.row(), kCohorts);
      if (mutant_ == Mutant::kPositionReadEarly) taken.reset();
      if (taken) {
        // It needs the exclusive lock of the row.
        if (Locked(state, x) || !SetFence(next, x, *taken)) return;
      }
    } else if (!event.of_peer || mutant_ == Mutant::kNoLoopFilter) {
      if (event.order < store.peer_lo || event.order >= store.peer_hi) {
        if (limits_.candidate) {
          Violate(expanded_, absl::StrCat(Name(peer), " logged a write of order ", event.order,
                                          ", which it did not accept"));
        }
        return;  // it stops
      }
      if (!Bring(next, x, event.order, event.row)) return;
    }
    Reach(next, [&] { return Name(x) + " applies an event of the other"; });
  }

  void Copy(const State& state, uint8_t k) {
    State next = state;
    ModelCopy& copied = next.copied[k];
    if (copied.phase == 0) {
      copied.phase = 1;
      copied.row = state.shards[0].store.rows[k];
      Reach(next, [&] { return absl::StrCat("the copier reads order ", k); });
    } else if (copied.phase == 1) {
      const ModelRow row = copied.row;
      // What candidates of the source do not have is not written.
      const bool late = state.replica.of == 1 && row.version > state.replica.store.rows[k].version;
      if (late && limits_.candidate && mutant_ != Mutant::kCopyIgnoresCandidate) return;
      copied.phase = 2;
      copied.row = ModelRow();
      if (row.deleted || row.version == 0 || Bring(next, 1, k, row)) {
        Reach(next, [&] { return absl::StrCat("the copier writes order ", k); });
      }
    }
    if (!state.stream_placed && state.copied[k].phase > 0) {
      State placed = state;
      placed.stream_placed = true;
      placed.ForgetFirst(0, state.shards[0].logged);
      Reach(placed, [] { return "the stream begins"; });
    }
  }

  static bool Locked(const State& state, size_t x) {
    for (const ModelWriter& writer : state.writers) {
      if (writer.open && writer.shard == x) return true;
    }
    return false;
  }
  bool SetFence(State& state, size_t x, const BandFence& row) {
    ModelFence& fence = state.shards[x].store.fence;
    if (row.step < fence.step) Violate(expanded_, "a step falls");
    fence = ModelFence::Of(row);
    ModelEvent event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.of_fence = true;
    event.fence = fence;
    return Log(state, x, event);
  }

  void Coordinate(const State& state) {
    for (size_t x : {0, 1}) {
      State next = state;
      next.seen[x] = state.shards[x].store.fence;
      if (x == 0 && mutant_ == Mutant::kPositionReadEarly) next.position = state.shards[0].logged;
      Reach(next, [&] { return absl::StrCat("a coordinator reads the fence of ", Name(x)); });
    }
    const BandFence source = state.seen[0].row(), target = state.seen[1].row();
    // The stream back has passed once since: candidates of the target have the copied rows, too.
    bool copied = true;
    for (uint8_t k = 0; k < kCohorts; ++k) {
      const bool late = state.replica.of == 2 && limits_.candidate;
      copied = copied && (late ? state.replica.copied : state.copied)[k].phase == 2;
    }
    const Situation seen = internal::SituationOf(source, target, kCohorts);
    const bool sure[2] = {CandidatesHave(state, 0), CandidatesHave(state, 1)};
    for (uint32_t share = 0; share <= kCohorts && copied && state.stream_placed; ++share) {
      if (state.handovers >= limits_.handovers || !sure[0] || !sure[1]) break;
      auto row = internal::LetGo(source, target, share, state.handovers + 1u, kCohorts);
      if (row) Change(state, share > seen.share ? 0 : 1, *row, true, "lets go", true);
    }
    // It is seen's donor whose token is refused by the other one.
    const size_t donor = seen.donor == Side::kSource ? 0 : 1;
    const bool unconfirmed = mutant_ == Mutant::kTakenBackUnconfirmed;
    if (auto row = internal::Refuse(source, target, kCohorts)) {
      Change(state, 1 - donor, *row, mutant_ != Mutant::kRefusedWithoutCondition, "refuses", false);
    }
    auto restored = internal::Restore(source, target, kCohorts);
    if (restored && (sure[1 - donor] || unconfirmed)) {
      Change(state, donor, *restored, true, "restores its band", false);
    }
    auto levelled = internal::Level(source, target, kCohorts);
    if (levelled && (sure[donor] || unconfirmed)) {
      Change(state, 1 - donor, *levelled, true, "follows", false);
    }
    // By rows that were read once all streams had ended: nothing changes them meanwhile.
    const bool fresh = SeenNow(state, 0) && SeenNow(state, 1);
    for (size_t x : {0, 1}) {
      const bool looked = fresh || (mutant_ == Mutant::kBoundByOldLook && SeenNow(state, x));
      if (!state.shards[x].unbound || !looked || seen.kind == SituationKind::kImpossible) continue;
      State next = state;
      next.shards[x].unbound = false;
      Reach(next, [&] { return Name(x) + " is bound"; });
    }
    Mutate(state);
  }
  static bool SeenNow(const State& state, size_t x) {
    return std::memcmp(&state.shards[x].store.fence, &state.seen[x], sizeof(ModelFence)) == 0;
  }
  // Whether the shard's candidate has the row that was seen: the replica, which may have fallen
  // behind, or what it was promoted to.
  bool CandidatesHave(const State& state, size_t x) const {
    if (limits_.promotions == 0 || !limits_.candidate) return true;
    const bool late = state.replica.of == x + 1;
    const ModelFence& fence = late ? state.replica.store.fence : state.shards[x].store.fence;
    return std::memcmp(&fence, &state.seen[x], sizeof(ModelFence)) == 0;
  }
  // UPDATE locus_fence ... WHERE step = <as it was seen>, behind the writers' locks.
  void Change(const State& state, size_t x, const BandFence& row, bool conditional,
              const char* does, bool handover) {
    const ModelFence& fence = state.shards[x].store.fence;
    if ((conditional && fence.step != state.seen[x].step) || state.shards[x].draining) return;
    if (row.step < fence.step) return;
    State next = state;
    next.handovers = Small(next.handovers + handover);
    if (handover && mutant_ == Mutant::kTokenBeforeDrain) {
      next.shards[x].draining = true;
      next.shards[x].drained = ModelFence::Of(row);
      ModelEvent event = RowEvent(0, {}, false);
      event.of_fence = true;
      event.fence = next.shards[x].drained;
      if (Log(next, x, event)) Reach(next, [&] { return Name(x) + " writes the token"; });
      return;
    }
    if (mutant_ != Mutant::kFenceReadWithoutLock && Locked(state, x)) return;
    if (SetFence(next, x, row)) Reach(next, [&] { return absl::StrCat(Name(x), " ", does); });
  }
  // What only mutants do.
  void Mutate(const State& state) {
    for (size_t x : {0, 1}) {
      if (!state.shards[x].draining || Locked(state, x)) continue;
      State next = state;
      next.shards[x].store.fence = state.shards[x].drained;
      next.shards[x].draining = false;
      next.shards[x].drained = ModelFence();
      Reach(next, [&] { return Name(x) + " has drained"; });
    }
    if (mutant_ != Mutant::kPositionReadEarly || state.position > 0 || Locked(state, 1)) return;
    const ModelStore& target = state.shards[1].store;
    auto taken = internal::TakeOver(Side::kTarget, target.fence.row(),
                                    state.shards[0].store.fence.row(), kCohorts);
    State next = state;
    if (taken && SetFence(next, 1, *taken)) {
      Reach(next, [] { return "the target has the position, and opens"; });
    }
  }

  // A replica falls behind, or is promoted in place of its shard.
  void FailOver(const State& state) {
    if (state.replica.of == 0) {
      if (state.promotions >= limits_.promotions) return;
      for (uint8_t x : {uint8_t{0}, uint8_t{1}}) {
        State next = state;
        ModelReplica& replica = next.replica;
        replica.of = Small(x + 1);
        replica.store = state.shards[x].store;
        replica.logged = state.shards[x].logged;
        std::copy(state.copied, state.copied + kCohorts, replica.copied);
        std::copy(state.acked, state.acked + kCohorts, replica.acked);
        Reach(next, [&] { return "the replica of " + Name(x) + " receives no more"; });
      }
      return;
    }
    const size_t x = state.replica.of - 1u;
    const ModelReplica& replica = state.replica;
    State next = state;
    next.shards[x].store = replica.store;
    next.shards[x].unbound = true;
    next.shards[x].logged = replica.logged;
    const size_t lost = state.shards[x].logged - replica.logged;
    std::memset(static_cast<void*>(next.logs[x] + replica.logged), 0, lost * sizeof(ModelEvent));
    next.shards[1 - x].applied = 0;
    for (ModelWriter& writer : next.writers) {
      if (writer.open && writer.shard == x) writer = ModelWriter();
    }
    for (uint8_t k = 0; k < kCohorts; ++k) {
      // The copy goes on with what it has read of a former source nowhere.
      if (x == 1) next.copied[k] = replica.copied[k];
      if (x == 0 && next.copied[k].phase == 1) next.copied[k] = ModelCopy();
      next.acked[k] = replica.acked[k];
    }
    std::memset(static_cast<void*>(&next.replica), 0, sizeof next.replica);
    ++next.promotions;
    Reach(next, [&] { return "the replica of " + Name(x) + " is promoted"; });
  }

  const Mutant mutant_;
  const ModelLimits limits_;
  VisitedStates visited_;
  size_t next_ = 0;
  const VisitedState* expanded_ = nullptr;
  uint64_t promoted_ = 0;
  std::string rule_;  // that was broken
  const VisitedState* violating_ = nullptr;
  std::string_view wanted_;  // while a violation is traced: the state whose action is looked for
  std::string action_;
};

}  // namespace

ModelResult Explore(Mutant mutant, const ModelLimits& limits) {
  return Explorer(mutant, limits).Run();
}

}  // namespace locus
